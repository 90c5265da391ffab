#include "model/families/array_finder.hpp"

#include <algorithm>
#include <utility>

#include "core/nearest.hpp"
#include "mha/core/error.hpp"

namespace mha {

/// `a|b` → a, b.
std::vector<std::string_view> spellings(std::string_view names) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    result.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// The full name of one part ("weight", "bias") of a place.
std::string part_name(std::string_view place, std::string_view part) {
  const std::size_t star = place.find('*');
  if (star == std::string_view::npos) return std::string(place) + "." + std::string(part);
  return std::string(place.substr(0, star)) + std::string(part) + std::string(place.substr(star + 1));
}

ArrayFinder::ArrayFinder(const WeightNames& names, const WeightSource& source)
    : names_(names), source_(source), owner_(std::make_shared<Owner>()) {
  owner_->source = source.owner();
  encoder_prefix_ = prefix_ = find_prefix();
}

std::string_view ArrayFinder::find_prefix() const {
  for (std::string_view prefix : names_.prefixes) {
    for (std::string_view word : spellings(names_[Place::word])) {
      if (source_.find(std::string(prefix) + part_name(word, "weight")) != nullptr) return prefix;
    }
  }
  return names_.prefixes.front();
}

std::string ArrayFinder::found_name(std::string_view place, std::initializer_list<std::string_view> parts) const {
  for (std::string_view spelling : spellings(place)) {
    for (std::string_view part : parts) {
      std::string name = std::string(prefix_) + part_name(spelling, part);
      if (source_.find(name) != nullptr) return name;
    }
  }
  return "";
}

/// The array that the source offers for one that does not fit; an error if it offers none.
Weight ArrayFinder::instead(const std::string& name, const Shape& shape, const std::string& problem) const {
  const TensorView* view = source_.instead(name, shape, problem);
  if (view == nullptr) throw_model(problem);
  return {name, *view, {}};
}

Weight ArrayFinder::missing(std::string_view place, std::string_view part, const Shape& shape) const {
  constexpr std::size_t kNamesCompared = 4096;
  const std::string name = std::string(prefix_) + part_name(spellings(place).front(), part);
  std::vector<std::string> names = source_.names();
  if (names.size() > kNamesCompared) names.resize(kNamesCompared);
  const auto near = nearest(name, names);
  return instead(name, shape,
                 source_.place(name) + ": tensor " + name + ": expected shape " + shape_text(shape) +
                     ", got no such tensor" +
                     (near ? "; the nearest name in the file is " + *near
                           : "; is this file of another model or only a part of one?"));
}

Weight ArrayFinder::take(std::string_view place, std::initializer_list<std::string_view> parts, const Shape& shape,
                         bool required, bool may_be_int8) {
  Weight weight;
  weight.name = found_name(place, parts);
  if (weight.name.empty()) return required ? missing(place, *parts.begin(), shape) : weight;
  weight.view = *source_.find(weight.name);
  taken_.insert(weight.name);
  if (weight.view.dtype == DType::i8 && may_be_int8) {
    const std::string scale = weight.name + ".scale";
    if (const TensorView* view = source_.find(scale)) {
      taken_.insert(scale);
      weight.scale = *view;
    }
  }
  const std::string fault = array_fault(weight, shape, may_be_int8);
  if (fault.empty()) return weight;
  return instead(weight.name, shape, source_.place(weight.name) + ": tensor " + weight.name + ": " + fault);
}

LinearWeights ArrayFinder::linear(std::string_view place, std::size_t out, std::size_t in, bool bias) {
  LinearWeights linear;
  linear.weight = weight(place, {out, in});
  if (bias) linear.bias = take(place, {"bias"}, {out}, !names_.biases_optional);
  return linear;
}

void ArrayFinder::leave_unused(std::vector<std::string>& unused) const {
  for (std::string& name : source_.names()) {
    if (!taken_.contains(name)) unused.push_back(std::move(name));
  }
  std::sort(unused.begin(), unused.end());
}

void ArrayFinder::take_off(std::vector<std::string>& unused) const {
  std::erase_if(unused, [this](const std::string& name) { return taken_.contains(name); });
}

std::byte* ArrayFinder::new_buffer(std::size_t bytes) {
  owner_->buffers.push_back(std::make_unique<std::byte[]>(bytes));
  return owner_->buffers.back().get();
}

}  // namespace mha
