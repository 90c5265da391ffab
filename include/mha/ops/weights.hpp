#pragma once

#include <cstddef>
#include <string>

#include "mha/core/tensor.hpp"

namespace mha {

/// One constant array of a model: a view into the mapped file, of any float type, or I8 with one scale per row.
struct Weight {
  std::string name;  ///< as in the file, for messages
  TensorView view;   ///< [out, in] or [n]; data == nullptr: absent
  TensorView scale;  ///< [out] F32 if `view` is I8; data == nullptr otherwise

  bool present() const { return view.data != nullptr; }
  std::size_t rows() const { return view.shape.empty() ? 0 : view.shape[0]; }
  std::size_t cols() const { return view.shape.size() < 2 ? 1 : view.shape[1]; }
};

/// y = x·Wᵀ + b; an absent bias is zero.
struct LinearWeights {
  Weight weight;
  Weight bias;
};

/// gamma and beta; an absent beta is zero.
struct NormWeights {
  Weight gamma;
  Weight beta;
};

}  // namespace mha
