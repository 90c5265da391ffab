#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ops/native/engine.hpp"

namespace mha::native {

/// One integer product: sums [rows, panel], int32 in memory of floats, (+)= codes · weights over `steps`.
struct CodeProduct {
  const std::byte* codes;  // the first row of the block
  std::size_t stride;      // bytes from row to row
  const std::int8_t* weights;
  std::size_t steps;
  SumBlock sums;
  bool accumulate;
};

/// Rows of codes times panels of codes, by one CPU level's function for a block of them.
class CodeEngine final : public Engine {
 public:
  using Multiply = void (*)(const CodeProduct&);

  CodeEngine(std::string_view name, const Layout& layout, Multiply function)
      : name_(name), layout_(layout), multiply_(function) {}
  std::string_view name() const override { return name_; }
  const Layout& layout() const override { return layout_; }
  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch) const override {
    multiply_({call.operand.data + sums.row * call.operand.stride, call.operand.stride,
               reinterpret_cast<const std::int8_t*>(stored_weights(call)), call.steps(), sums, accumulate});
  }

 private:
  std::string_view name_;
  const Layout& layout_;
  Multiply multiply_;
};

}  // namespace mha::native
