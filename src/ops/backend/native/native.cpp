#include "ops/backend/native/native.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "ops/attention.hpp"
#include "ops/backend/native/attention_amx.hpp"
#include "ops/backend/native/engine.hpp"
#include "ops/cpu.hpp"

namespace mha {
namespace {

using native::Ahead;
using native::BlockTail;
using native::Bytes;
using native::Engine;
using native::Operand;
using native::Packed;

/// Rows that go through all panels together: their operand stays in the second-level cache while panels stream by.
constexpr std::size_t kRowsTogether = 256;
/// Bytes of hidden values of a feed-forward that are alive at a time: half of a second-level cache.
constexpr std::size_t kHiddenBytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

/// Scratch of one thread.
struct Scratch {
  Bytes operand;
  Bytes hidden;
  Bytes expanded;
  FloatBuffer sums;
  std::vector<native::RowCode> codes;
};

Scratch& scratch() {
  thread_local Scratch mine;
  return mine;
}

const Engine& engine_of(Precision precision) {
  const Engine* engine = nullptr;
  switch (precision) {
    case Precision::f32: engine = native::engine_f32(); break;
    case Precision::bf16: engine = native::engine_bf16(); break;
    case Precision::bf16x3: engine = native::engine_bf16x3(); break;
    case Precision::bf16x6: engine = native::engine_bf16x6(); break;
    case Precision::int8: engine = native::engine_int8(); break;
  }
  if (engine == nullptr) throw_usage("backend: native: this CPU has no instructions for the precision asked for; use --dtype f32");
  return *engine;
}

/// Blocks of sums on their way to their tails: each is finished while the next is multiplied. `sums` holds two blocks.
class Finishing {
 public:
  Finishing(const Engine& engine, float* sums) : engine_(engine), sums_(sums) {}

  /// Where the next block's sums go; its rows are engine.panel() apart.
  float* sums() const { return sums_ + (turn_ ? engine_.panel() * engine_.row_block() : 0); }
  const native::Finish* before() const { return waiting_ ? &block_ : nullptr; }
  /// The block in `sums()` is multiplied, and the one before it finished.
  void push(native::Finish block) {
    block_ = block;
    block_.sums = sums();
    block_.stride = engine_.panel();
    waiting_ = true;
    turn_ = !turn_;
  }
  void flush() {
    if (waiting_) engine_.finish(block_);
    waiting_ = false;
  }

 private:
  const Engine& engine_;
  float* sums_;
  native::Finish block_;
  bool waiting_ = false;
  bool turn_ = false;
};

/// The tail of a block that ends in rows of y.
native::Finish finish_in(Matrix y, const LinearTail& tail, const Packed& weights, bool coarse, std::size_t row,
                         std::size_t rows, std::size_t column, std::size_t cols) {
  native::Finish block;
  block.rows = rows;
  block.cols = cols;
  block.tail = {weights.bias.data() + column, tail.activation, coarse, nullptr, 0};
  if (tail.residual.data != nullptr) {
    block.tail.residual = tail.residual.row(row) + column;
    block.tail.residual_stride = tail.residual.stride;
  }
  block.y = y.row(row) + column;
  block.y_stride = y.stride;
  return block;
}

class Session {
 public:
  explicit Session(const Engine& engine) : engine_(engine) { engine_.begin(); }
  ~Session() { engine_.end(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Engine& engine_;
};

Operand operand_in(Bytes& memory, std::vector<native::RowCode>& codes, const Engine& engine, std::size_t rows, std::size_t cols) {
  const std::size_t padded = round_up(rows, engine.row_block());
  memory.reserve(engine.operand_bytes(padded, cols));
  if (codes.size() < padded) codes.resize(padded);
  return {memory.data(), engine.operand_stride(cols), codes.data()};
}

/// The weights that come next, a share for each block of rows.
class Lookahead {
 public:
  Lookahead(const std::byte* next, std::size_t bytes, std::size_t blocks) : next_(next), left_(bytes) {
    share_ = round_up((bytes + blocks - 1) / blocks, 64);
  }
  Ahead step() {
    const Ahead share{next_, std::min(share_, left_)};
    next_ += share.bytes;
    left_ -= share.bytes;
    return share;
  }

 private:
  const std::byte* next_;
  std::size_t left_;
  std::size_t share_ = 0;
};

/// y = activation(x·Wᵀ + b) + residual for panels [panel_begin, panel_end), all rows of x; x.rows ≤ kRowsTogether.
void multiply_rows(const Engine& engine, const Packed& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
                   std::size_t panel_begin, std::size_t panel_end) {
  Scratch& mine = scratch();
  const std::size_t width = engine.panel();
  const std::size_t block = engine.row_block();
  const std::size_t blocks = (x.rows + block - 1) / block;
  const Operand operand = operand_in(mine.operand, mine.codes, engine, x.rows, x.cols);
  engine.convert(x, operand);
  mine.expanded.reserve(engine.expanded_bytes(weights.steps));
  mine.sums.reserve(2 * block * width);
  const Session session(engine);
  Finishing finishing(engine, mine.sums.data());
  for (std::size_t p = panel_begin; p < panel_end; ++p) {
    if (blocks > 1) engine.expand(weights, p, 0, weights.steps, mine.expanded.data());
    const std::size_t column = p * width;
    const std::size_t cols = std::min(width, weights.out - column);
    const bool last = p + 1 == panel_end;
    Lookahead lookahead(weights.panel(last ? p : p + 1), last ? 0 : weights.panel_bytes, blocks);
    for (std::size_t row = 0; row < x.rows; row += block) {
      const std::size_t rows = std::min(block, x.rows - row);
      if (blocks == 1) {
        finishing.flush();
        engine.expand_and_multiply(weights, p, 0, weights.steps, mine.expanded.data(), operand, rows, finishing.sums(), width,
                                   false);
      } else {
        engine.multiply_and_finish(weights, p, 0, weights.steps, mine.expanded.data(), operand, row, rows, finishing.sums(),
                                   width, lookahead.step(), finishing.before());
      }
      finishing.push(finish_in(y, tail, weights, engine.coarse(), row, rows, column, cols));
    }
  }
  finishing.flush();
}

/// One block of rows through both products of a feed-forward, a chunk of hidden columns at a time; the second product's
/// sums continue from chunk to chunk.
void feed_forward_rows(const Engine& engine, const Packed& in, const Packed& out, ConstMatrix x, Activation activation,
                       Matrix y, const LinearTail& tail) {
  Scratch& mine = scratch();
  const std::size_t width = engine.panel();
  const std::size_t block = engine.row_block();
  const std::size_t padded_rows = round_up(x.rows, block);
  const std::size_t panel_bytes = engine.operand_bytes(padded_rows, width);
  const std::size_t chunk_panels = std::clamp<std::size_t>(kHiddenBytes / panel_bytes, 1, in.panels);
  // All hidden columns at once: each sum is finished where it is made.
  const bool whole = chunk_panels == in.panels;
  const std::size_t blocks = padded_rows / block;
  const std::size_t sums_stride = out.panels * width;
  const Operand operand = operand_in(mine.operand, mine.codes, engine, x.rows, x.cols);
  const Operand hidden = operand_in(mine.hidden, mine.codes, engine, x.rows, chunk_panels * width);
  engine.convert(x, operand);
  mine.expanded.reserve(std::max(engine.expanded_bytes(in.steps), engine.expanded_bytes(out.steps)));
  mine.sums.reserve(2 * block * width + (whole ? 0 : padded_rows * sums_stride));
  float* second_sums = mine.sums.data() + 2 * block * width;
  const Session session(engine);
  Finishing finishing(engine, mine.sums.data());
  for (std::size_t chunk = 0; chunk < in.panels; chunk += chunk_panels) {
    const std::size_t chunk_end = std::min(chunk + chunk_panels, in.panels);
    const std::size_t begin = chunk * width / engine.step();
    const std::size_t end = std::min(chunk_end * width / engine.step(), out.steps);
    for (std::size_t p = chunk; p < chunk_end; ++p) {
      if (blocks > 1) engine.expand(in, p, 0, in.steps, mine.expanded.data());
      const bool last = p + 1 == chunk_end;
      Lookahead lookahead(last ? out.panel(0) + engine.step_bytes(begin) : in.panel(p + 1),
                          last ? engine.step_bytes(end - begin) : in.panel_bytes, blocks);
      for (std::size_t row = 0; row < x.rows; row += block) {
        const std::size_t rows = std::min(block, x.rows - row);
        if (blocks == 1) {
          finishing.flush();
          engine.expand_and_multiply(in, p, 0, in.steps, mine.expanded.data(), operand, rows, finishing.sums(), width, false);
        } else {
          engine.multiply_and_finish(in, p, 0, in.steps, mine.expanded.data(), operand, row, rows, finishing.sums(), width,
                                     lookahead.step(), finishing.before());
        }
        // Columns beyond d_ff: zero weights and bias, so their activation is 0 and so is their weight in `out`.
        native::Finish finish;
        finish.rows = rows;
        finish.cols = width;
        finish.tail = {in.bias.data() + p * width, activation, engine.coarse(), nullptr, 0};
        finish.operand = hidden;
        finish.row = row;
        finish.column = (p - chunk) * width;
        finishing.push(finish);
      }
    }
    finishing.flush();
    for (std::size_t p = 0; p < out.panels; ++p) {
      if (blocks > 1) engine.expand(out, p, begin, end, mine.expanded.data());
      const bool last = p + 1 == out.panels;
      const bool over = last && chunk_end == in.panels;
      Lookahead lookahead(last ? in.panel(over ? 0 : chunk_end) : out.panel(p + 1) + engine.step_bytes(begin),
                          over ? 0 : last ? in.panel_bytes : engine.step_bytes(end - begin), blocks);
      for (std::size_t row = 0; row < x.rows; row += block) {
        const std::size_t rows = std::min(block, x.rows - row);
        float* sums = whole ? finishing.sums() : second_sums + row * sums_stride + p * width;
        const std::size_t stride = whole ? width : sums_stride;
        if (blocks == 1) {
          finishing.flush();
          engine.expand_and_multiply(out, p, begin, end, mine.expanded.data(), hidden, rows, sums, stride, chunk > 0);
        } else if (whole) {
          engine.multiply_and_finish(out, p, begin, end, mine.expanded.data(), hidden, row, rows, sums, stride,
                                     lookahead.step(), finishing.before());
        } else {
          engine.multiply(out, p, begin, end, mine.expanded.data(), hidden, row, rows, sums, stride, chunk > 0,
                          lookahead.step());
        }
        if (!whole) continue;
        const std::size_t column = p * width;
        finishing.push(finish_in(y, tail, out, false, row, rows, column, std::min(width, out.out - column)));
      }
    }
    finishing.flush();
  }
  if (whole) return;
  native::Finish rest = finish_in(y, tail, out, false, 0, x.rows, 0, out.out);
  rest.sums = second_sums;
  rest.stride = sums_stride;
  engine.finish(rest);
}

/// How one call is cut: runs of rows when there are many, else groups of panels.
struct Cut {
  std::size_t rows = 0;
  std::size_t row_pieces = 1;
  std::size_t panel_pieces = 1;
};

Cut cut(std::size_t rows, std::size_t panels, std::size_t block, Executor* executor) {
  const std::size_t threads = executor == nullptr ? 1 : executor->threads();
  Cut result;
  if (threads == 1 || rows >= 4 * block * threads) {
    const std::size_t share = round_up((rows + threads - 1) / threads, block);
    result.rows = std::min(round_up(kRowsTogether, block), share);
    result.row_pieces = (rows + result.rows - 1) / result.rows;
    return result;
  }
  result.rows = std::min(rows, round_up(kRowsTogether, block));
  result.row_pieces = (rows + result.rows - 1) / result.rows;
  result.panel_pieces = std::min(panels, threads);
  return result;
}

class NativeBackend final : public Backend {
 public:
  std::string_view name() const override { return "native"; }

  std::string description() const override {
    std::string text = "native: f32 by " + std::string(native::engine_f32()->name());
    if (const Engine* engine = native::engine_bf16()) text += ", bf16 by " + std::string(engine->name());
    if (const Engine* engine = native::engine_int8()) text += ", int8 by " + std::string(engine->name());
    return text;
  }

  bool supports(Precision precision) const override {
    switch (precision) {
      case Precision::f32:
      case Precision::bf16: return true;
      case Precision::bf16x3: return native::engine_bf16x3() != nullptr;
      case Precision::bf16x6: return native::engine_bf16x6() != nullptr;
      case Precision::int8: return native::engine_int8() != nullptr;
    }
    return false;
  }

  Precision exact_precision() const override {
    return native::engine_bf16x6() != nullptr ? Precision::bf16x6 : Precision::f32;
  }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision) const override {
    return engine_of(precision).pack(JoinedWeights(joined));
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const Packed&>(weights);
    const Engine& engine = engine_of(packed.precision);
    const Cut cuts = cut(x.rows, packed.panels, engine.row_block(), executor);
    parallel_for(executor, cuts.row_pieces * cuts.panel_pieces, [&](std::size_t piece) {
      const std::size_t first = piece / cuts.panel_pieces * cuts.rows;
      const std::size_t rows = std::min(cuts.rows, x.rows - first);
      const std::size_t group = piece % cuts.panel_pieces;
      LinearTail inner = tail;
      if (tail.residual.data != nullptr) inner.residual = tail.residual.rows_of(first, rows);
      const Matrix out = y.rows_of(first, rows);
      multiply_rows(engine, packed, x.rows_of(first, rows), out, inner, packed.panels * group / cuts.panel_pieces,
                    packed.panels * (group + 1) / cuts.panel_pieces);
      if (tail.norm != nullptr && cuts.panel_pieces == 1) normalize_rows(*tail.norm, out, out);
    });
    if (tail.norm != nullptr && cuts.panel_pieces > 1) normalize_rows(*tail.norm, y, y);
  }

  void feed_forward(const PackedLinear& in, const PackedLinear& out, ConstMatrix x, Activation activation, Matrix y,
                    const LinearTail& tail, Executor* executor) const override {
    const auto& first_layer = static_cast<const Packed&>(in);
    const auto& second_layer = static_cast<const Packed&>(out);
    const Engine& engine = engine_of(first_layer.precision);
    const Cut cuts = cut(x.rows, first_layer.panels, engine.row_block(), executor);
    const bool chunks = engine.splits_depth() && in.out == out.in && cuts.panel_pieces == 1;
    if (!chunks) return Backend::feed_forward(in, out, x, activation, y, tail, executor);
    parallel_for(executor, cuts.row_pieces, [&](std::size_t piece) {
      const std::size_t first = piece * cuts.rows;
      const std::size_t rows = std::min(cuts.rows, x.rows - first);
      LinearTail inner = tail;
      if (tail.residual.data != nullptr) inner.residual = tail.residual.rows_of(first, rows);
      const Matrix block = y.rows_of(first, rows);
      feed_forward_rows(engine, first_layer, second_layer, x.rows_of(first, rows), activation, block, inner);
      if (tail.norm != nullptr) normalize_rows(*tail.norm, block, block);
    });
  }

  void attention(const AttentionCall& call, Precision precision, Executor* executor) const override {
    check_attention(call);
    if (native::has_attention_amx(precision)) return native::attention_amx(call, executor);
    attention_f32(call, executor);
  }
};

}  // namespace

const Backend& native_backend() {
  static const NativeBackend backend;
  return backend;
}

}  // namespace mha
