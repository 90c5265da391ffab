#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/tensor.hpp"

namespace mha {

/// Arrays of one model, by name: a safetensors file, its shards, or the weights of a JSON file.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// The array, or nullptr. The pointer is valid as long as the source.
  virtual const TensorView* find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// Keeps the views valid after the source is gone.
  virtual std::shared_ptr<const void> owner() const = 0;
  /// A substitute for an array that is missing or contradicts the configuration: an array of that shape, or nullptr, in
  /// which case the binder throws `problem`. So `model verify` gathers all faults, and `model init` makes arrays.
  virtual const TensorView* instead(std::string_view /*name*/, const std::vector<std::size_t>& /*shape*/,
                                    const std::string& /*problem*/) const {
    return nullptr;
  }
  /// How messages name the file that holds an array, or should hold it.
  virtual std::string place(std::string_view name) const = 0;
};

}  // namespace mha
