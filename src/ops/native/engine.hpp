#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/ops/activation.hpp"
#include "mha/ops/backend.hpp"
#include "ops/backends/unpacked.hpp"

namespace mha::native {

/// Memory aligned to 64 bytes, in large pages where the system gives them.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size);
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&& other) noexcept;

  /// Grows without keeping the contents.
  void reserve(std::size_t size);
  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
};

class Engine;

/// Weights as panels of `panel` output columns, each panel whole over the depth: [panels][steps][…], where one step is
/// `step` input columns. What lies inside is the engine's.
struct Packed final : PackedLinear {
  const Engine* engine = nullptr;  // that packed it
  std::size_t panel_bytes = 0;
  std::size_t panels = 0;
  std::size_t steps = 0;
  Bytes data;
  std::vector<float> bias;          // [panels · panel], zero beyond `out`
  std::vector<float> column_scale;  // what sums are multiplied by in the tail, [panels · panel]; empty: nothing
  std::vector<std::int32_t> sum;    // int8: Σ codes of a column
  std::vector<float> input_scale;   // int8: what input columns are multiplied by first, [in]; empty: nothing

  const std::byte* panel(std::size_t index) const { return data.data() + index * panel_bytes; }
};

/// How a row of int8 operands was quantised: value = step · (code − zero).
struct RowCode {
  float step;
  std::int32_t zero;
};

/// Input rows in the form an engine multiplies, in scratch that the caller owns.
struct Operand {
  std::byte* data = nullptr;
  std::size_t stride = 0;    // bytes, from Engine::operand_stride
  RowCode* codes = nullptr;  // int8: one a row
};

/// Memory that will be read next: asked for while a block is multiplied.
struct Ahead {
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// What becomes of the sums of one panel: activation(sums · scale + bias) + residual goes to y, or to an operand where
/// y is nullptr. Pointers are to row 0 and to the panel's first column.
struct Finish {
  const float* bias = nullptr;
  const float* scale = nullptr;             // of sums, before the bias; nullptr: none
  const RowCode* codes = nullptr;           // int8: sums are int32, of codes of these rows
  const std::int32_t* code_sums = nullptr;  // int8: Σ codes of a column
  Activation activation = Activation::none;
  bool coarse = false;  // the activation may be as coarse as operands are that are rounded next
  const float* residual = nullptr;
  std::size_t residual_stride = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
  Operand operand;
  std::size_t column = 0;  // of the operand
  std::size_t cols = 0;
};

/// A block of sums, its rows engine.panel() apart, that is finished while the next block is multiplied: products and
/// tails use different parts of the CPU.
struct Waiting {
  const float* sums = nullptr;
  std::size_t row = 0;
  std::size_t rows = 0;  // 0: none waits
  Finish finish;
};

/// Rows of an operand times steps [begin, end) of one panel. The operand's column 0 belongs to step `begin`.
struct PanelCall {
  const Packed& weights;
  std::size_t panel;
  std::size_t begin;
  std::size_t end;
  const std::byte* expanded;  // from Engine::expand
  Operand operand;
  std::size_t rows;
};

/// Arithmetic of one precision on one kind of CPU: products of a block of rows with a panel of weights. Stateless.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual std::size_t panel() const = 0;         ///< columns
  virtual std::size_t row_block() const = 0;     ///< rows of the largest block that `multiply` takes
  virtual std::size_t step() const = 0;          ///< input columns a step; depth is padded to whole steps
  virtual bool coarse() const { return false; }  ///< operands have eight bits or fewer
  /// Whether part of a row is an operand: then a feed-forward runs in chunks of its width. (int8 gives whole rows a
  /// step.)
  virtual bool splits_depth() const = 0;

  virtual std::unique_ptr<Packed> pack(const JoinedWeights& weights) const = 0;
  /// Bytes of an operand, and its stride: from row to row, or from block to block where blocks are tiled.
  virtual std::size_t operand_bytes(std::size_t rows, std::size_t cols) const = 0;
  virtual std::size_t operand_stride(std::size_t cols) const = 0;
  /// Input rows [0, x.rows) of `weights` into the operand; columns beyond x.cols up to whole steps become zero.
  virtual void convert(const Packed& weights, ConstMatrix x, const Operand& operand) const = 0;

  /// Brackets work on one thread (tile registers).
  virtual void begin() const {}
  virtual void end() const {}

  /// Bytes of scratch that `expand` needs for `steps` of a panel.
  virtual std::size_t expanded_bytes(std::size_t) const { return 0; }
  /// Unfolds steps [begin, end) of a panel for `multiply`; `scratch` is handed to it.
  virtual void expand(const Packed&, std::size_t, std::size_t, std::size_t, std::byte*) const {}
  /// Bytes of `steps` of a panel.
  virtual std::size_t step_bytes(std::size_t steps) const = 0;
  /// sums [rows, panel] (+)= rows [row, row + rows) of the operand · the call's steps; `row` is a multiple of
  /// row_block(), rows at most that. Rows up to row_block() of `sums` and of the operand may be touched.
  virtual void multiply(const PanelCall& call, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                        bool accumulate, Ahead ahead) const = 0;
  /// Blocks of sums that `multiply_panel` needs.
  virtual std::size_t sum_blocks() const { return 1; }
  /// All rows of the call, and their tails; the last block may be left waiting, its sums in `sums`. `next` is what is
  /// read after this panel.
  virtual void multiply_panel(const PanelCall& call, const Finish& finish, float* sums, Waiting& waiting,
                              Ahead next) const;
  void finish(Waiting& waiting) const;
  /// The tail of rows [row, row + rows); the rows of `sums` are `stride` apart, the first is that of `row`.
  void finish(const Finish& tail, const float* sums, std::size_t stride, std::size_t row, std::size_t rows) const;
  /// expand and multiply in one, for an operand of a single block, whose products would wait for the unfolded panel.
  virtual void expand_and_multiply(const PanelCall& call, std::byte* scratch, float* sums, std::size_t stride,
                                   bool accumulate) const {
    expand(call.weights, call.panel, call.begin, call.end, scratch);
    PanelCall expanded = call;
    expanded.expanded = scratch;
    multiply(expanded, 0, call.rows, sums, stride, accumulate, {});
  }

 protected:
  /// finish for a tail whose y is nullptr; tail.column is a multiple of panel(). Where `splits_depth`.
  virtual void finish_to_operand(const Finish& tail, const float* sums, std::size_t stride, std::size_t row,
                                 std::size_t rows) const;
};

/// finish for a tail that has a y; cols ≤ panel.
void finish_block(const Finish& tail, const float* sums, std::size_t stride, std::size_t row, std::size_t rows);

/// The weights that come next, a share for each block of rows.
class Lookahead {
 public:
  Lookahead(Ahead next, std::size_t blocks) : next_(next), share_((next.bytes + blocks - 1) / blocks) {
    share_ = (share_ + 63) / 64 * 64;
  }
  Ahead step() {
    const Ahead share{next_.from, std::min(share_, next_.bytes)};
    next_.from += share.bytes;
    next_.bytes -= share.bytes;
    return share;
  }

 private:
  Ahead next_;
  std::size_t share_;
};

/// Engines by instruction; nullptr where this CPU has it not.
const Engine* engine_bf16_amx();
const Engine* engine_codes_bf16();  // these three: weights that are int8 already, inputs of one, two, three parts
const Engine* engine_codes_bf16x3();
const Engine* engine_codes_bf16x6();
const Engine* engine_bf16_pairs();          // AVX512_BF16
const Engine* engine_bf16_by_conversion();  // any CPU, at the speed of float32
const Engine* engine_int8_amx();
const Engine* engine_int8_quadruples();  // AVX512_VNNI

/// The best engine of this CPU for each precision; nullptr where it has none.
const Engine* engine_f32();
const Engine* engine_bf16();
const Engine* engine_bf16x3();
const Engine* engine_bf16x6();
const Engine* engine_int8();

}  // namespace mha::native
