#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/ops/backend.hpp"
#include "ops/backends/unpacked.hpp"
#include "ops/native/bytes.hpp"

/// How weights and inputs are arranged in memory. README.md beside this file draws panel, step, block and operand.
namespace mha::native {

class Engine;

/// Weights as panels of Layout::panel() output columns: [panels][steps][…]. One step is Layout::step() input columns;
/// the layout alone knows what is inside it.
struct Packed final : PackedLinear {
  const Engine* engine = nullptr;  // multiplies them
  std::size_t panel_bytes = 0;
  std::size_t panels = 0;
  std::size_t steps = 0;
  Bytes data;
  std::vector<float> bias;          // [panels · panel], zero beyond `out`
  std::vector<float> column_scale;  // the epilogue multiplies sums by it, [panels · panel]; empty: by nothing
  std::vector<std::int32_t> sum;    // int8: Σ codes of a column
  std::vector<float> input_scale;   // int8: factor of each input column before it is quantised, [in]; empty: none

  const std::byte* panel(std::size_t index) const { return data.data() + index * panel_bytes; }
};

/// How a row of int8 operands was quantised: value = step · (code − zero).
struct RowCode {
  float step;
  std::int32_t zero;
};

/// Input rows in the form that an engine multiplies, in memory that the caller owns.
struct Operand {
  std::byte* data = nullptr;
  std::size_t stride = 0;    // bytes, from Layout::operand_stride
  RowCode* codes = nullptr;  // int8: one per row
};

/// A block of sums in memory: rows [row, row + rows) of the call, `stride` floats apart. `data` is that of row `row`.
struct SumBlock {
  float* data = nullptr;
  std::size_t stride = 0;
  std::size_t row = 0;
  std::size_t rows = 0;
};

struct Epilogue;

/// The arrangement of one precision's weights and operands on one kind of CPU. Stateless.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual std::size_t panel() const = 0;         ///< output columns
  virtual std::size_t row_block() const = 0;     ///< rows of the largest block that an engine multiplies at once
  virtual std::size_t step() const = 0;          ///< input columns; the depth is padded to whole steps
  virtual std::size_t operand_bits() const = 0;  ///< significant bits of an operand's elements
  /// True if some columns of a row are an operand by themselves: then a feed-forward runs in chunks of its hidden
  /// width. False for int8, which has one scale per row.
  virtual bool splits_depth() const = 0;

  virtual std::unique_ptr<Packed> pack(const JoinedWeights& weights) const = 0;
  /// Bytes of `steps` steps of a panel.
  virtual std::size_t step_bytes(std::size_t steps) const = 0;

  /// Bytes of an operand. `rows` is a multiple of row_block().
  virtual std::size_t operand_bytes(std::size_t rows, std::size_t cols) const = 0;
  /// Bytes from row to row of an operand, or from block to block if blocks are tiled.
  virtual std::size_t operand_stride(std::size_t cols) const = 0;
  /// Writes the input rows x of `weights` into the operand. Columns beyond x.cols, up to whole steps, become zero.
  virtual void convert(const Packed& weights, ConstMatrix x, const Operand& operand) const = 0;
  /// Writes the results of an epilogue that has no `y` into its operand; epilogue.column is a multiple of panel().
  /// Only if splits_depth().
  virtual void store_operand(const Epilogue& epilogue, const SumBlock& sums) const;
};

}  // namespace mha::native
