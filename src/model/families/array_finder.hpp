#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/family.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// `a|b` → a, b.
std::vector<std::string_view> spellings(std::string_view names);
/// The full name of one part ("weight", "bias") of a place.
std::string part_name(std::string_view place, std::string_view part);

/// Finds the arrays of a family's places in a file, checks them, and remembers which names it took.
/// Errors: model. A missing array: its name, the shape that the configuration implies, the nearest name in the file. A
/// wrong shape or type: name, expected, got.
class ArrayFinder {
 public:
  /// Keeps references to both.
  ArrayFinder(const WeightNames& names, const WeightSource& source);

  /// The prefix under which the word table was found.
  std::string_view encoder_prefix() const { return encoder_prefix_; }
  /// The prefix of the names that follow.
  void set_prefix(std::string_view prefix) { prefix_ = prefix; }

  bool has(std::string_view place) const { return !found_name(place, {"weight"}).empty(); }
  /// The first spelling that the file holds, or "".
  std::string found_name(std::string_view place, std::initializer_list<std::string_view> parts) const;

  /// One array by the first of its parts' names that is in the file. An optional one may be absent.
  Weight take(std::string_view place, std::initializer_list<std::string_view> parts, const Shape& shape, bool required,
              bool may_be_int8 = false);
  Weight weight(std::string_view place, const Shape& shape) { return take(place, {"weight"}, shape, true, true); }
  /// A bias is required unless the family's are optional.
  LinearWeights linear(std::string_view place, std::size_t out, std::size_t in, bool bias);

  /// Names of the file that were not taken are appended, sorted.
  void leave_unused(std::vector<std::string>& unused) const;
  /// Names that were taken are removed.
  void take_off(std::vector<std::string>& unused) const;

  /// Memory for an array that the file does not hold as such.
  std::byte* new_buffer(std::size_t bytes);
  /// Keeps the file and those buffers alive.
  std::shared_ptr<const void> owner() const { return owner_; }
  const WeightSource& source() const { return source_; }
  bool biases_optional() const { return names_.biases_optional; }

 private:
  struct Owner {
    std::shared_ptr<const void> source;
    std::vector<std::unique_ptr<std::byte[]>> buffers;
  };
  std::string_view find_prefix() const;
  Weight missing(std::string_view place, std::string_view part, const Shape& shape) const;
  Weight instead(const std::string& name, const Shape& shape, const std::string& problem) const;

  const WeightNames& names_;
  const WeightSource& source_;
  std::shared_ptr<Owner> owner_;
  std::string_view encoder_prefix_;
  std::string_view prefix_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace mha
