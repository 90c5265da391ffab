#include "ops/backends/unpacked.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "mha/core/error.hpp"
#include "ops/convert.hpp"

namespace mha {
namespace {

bool is_weight_type(DType type) { return is_float_type(type) || type == DType::i8; }

void check_part(const LinearWeights& part, std::size_t in) {
  const Weight& weight = part.weight;
  const std::string what = "weights: " + weight.name + ": ";
  if (!weight.present()) throw_internal(what + "a linear layer without weights");
  if (weight.view.shape.size() != 2)
    throw_model(what + "expected two dimensions, got " + shape_text(weight.view.shape));
  if (!is_weight_type(weight.view.dtype)) {
    throw_model(what + "expected F32, F16, BF16, F64 or I8, got " + std::string(name_of(weight.view.dtype)));
  }
  if (weight.cols() != in) {
    throw_model(what + "expected " + std::to_string(in) + " columns, got " + shape_text(weight.view.shape));
  }
  if (weight.view.dtype == DType::i8 && (weight.scale.data == nullptr || weight.scale.size() != weight.rows())) {
    throw_model(what + "I8: expected a scale for each of " + std::to_string(weight.rows()) + " rows, got " +
                shape_text(weight.scale.shape));
  }
  if (part.bias.present() && part.bias.view.size() != weight.rows()) {
    throw_model("weights: " + part.bias.name + ": expected [" + std::to_string(weight.rows()) + "], got " +
                shape_text(part.bias.view.shape));
  }
}

bool has_codes_of_its_own(const LinearWeights* part) { return part->weight.view.dtype == DType::i8; }

}  // namespace

JoinedWeights::JoinedWeights(std::span<const LinearWeights* const> parts, std::span<const float> input_range)
    : parts_(parts.begin(), parts.end()), input_range_(input_range) {
  if (parts_.empty()) throw_internal("weights: nothing to pack");
  in_ = parts_.front()->weight.cols();
  for (const LinearWeights* part : parts_) {
    check_part(*part, in_);
    first_row_.push_back(out_);
    out_ += part->weight.rows();
  }
  if (!input_range.empty() && input_range.size() != in_) throw_internal("weights: a range for each input column");
}

const Weight& JoinedWeights::part_of(std::size_t row, std::size_t& inner) const {
  const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  const auto index = static_cast<std::size_t>(after - first_row_.begin()) - 1;
  inner = row - first_row_[index];
  return parts_[index]->weight;
}

void JoinedWeights::row(std::size_t row, float* out) const {
  std::size_t inner = 0;
  const Weight& weight = part_of(row, inner);
  row_to_float32(weight.view, weight.scale, inner, out);
}

bool JoinedWeights::are_codes() const { return std::all_of(parts_.begin(), parts_.end(), has_codes_of_its_own); }

std::vector<float> JoinedWeights::input_shares() const {
  const bool has_codes = std::any_of(parts_.begin(), parts_.end(), has_codes_of_its_own);
  if (input_range_.empty() || has_codes) return {};
  std::vector<float> largest(in_, 0.0F);
  std::vector<float> values(in_);
  for (std::size_t r = 0; r < out_; ++r) {
    row(r, values.data());
    for (std::size_t c = 0; c < in_; ++c) largest[c] = std::max(largest[c], std::abs(values.data()[c]));
  }
  constexpr float kLeast = 1e-5F;
  std::vector<float> shares(in_);
  double sum = 0;
  for (std::size_t c = 0; c < in_; ++c) {
    shares[c] = std::sqrt(std::max(input_range_[c], kLeast) / std::max(largest[c], kLeast));
    sum += double{shares[c]};
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(in_));
  for (float& share : shares) share /= mean;
  return shares;
}

float JoinedWeights::codes(std::size_t row, std::span<const float> shares, std::int8_t* out) const {
  std::size_t inner = 0;
  const Weight& weight = part_of(row, inner);
  if (weight.view.dtype != DType::i8) {
    std::vector<float> values(in_);
    row_to_float32(weight.view, weight.scale, inner, values.data());
    for (std::size_t c = 0; c < shares.size(); ++c) values.data()[c] *= shares[c];
    return quantize_row(values.data(), out, in_);
  }
  std::memcpy(out, weight.view.data + inner * in_, in_);
  float step;
  to_float32(weight.scale, inner, 1, &step);
  return step;
}

const float* JoinedWeights::in_place() const {
  const TensorView& view = parts_.front()->weight.view;
  const bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % alignof(float) == 0;
  if (parts_.size() != 1 || view.dtype != DType::f32 || !aligned) return nullptr;
  return reinterpret_cast<const float*>(view.data);
}

std::vector<float> JoinedWeights::bias() const {
  std::vector<float> joined(out_, 0.0F);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Weight& bias = parts_[i]->bias;
    if (bias.present()) to_float32(bias.view, 0, bias.view.size(), joined.data() + first_row_[i]);
  }
  return joined;
}

}  // namespace mha
