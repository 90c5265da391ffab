#include "ops/native/native.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "ops/attention.hpp"
#include "ops/native/amx/attention_amx.hpp"
#include "ops/native/engines.hpp"
#include "ops/native/schedule.hpp"

namespace mha {
namespace {

using native::Engine;
using native::kRowsTogether;
using native::Packed;

/// Rows that are projected and attended to head by head: their operand is read once for each head.
constexpr std::size_t kMostRowsProjected = 1024;

native::Scratch& scratch() {
  thread_local native::Scratch mine;
  return mine;
}

const Engine& require_engine(Precision precision) {
  if (const Engine* engine = native::engine_of(precision)) return *engine;
  throw_usage("backend: native: this CPU has no instructions for " + std::string(name_of(precision)) +
              "; f32 works on every CPU");
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
    const std::size_t share = round_up(divide_up(rows, threads), block);
    result.rows = std::min(round_up(kRowsTogether, block), share);
    result.row_pieces = divide_up(rows, result.rows);
    return result;
  }
  result.rows = std::min(rows, round_up(kRowsTogether, block));
  result.row_pieces = divide_up(rows, result.rows);
  result.panel_pieces = std::min(panels, threads);
  return result;
}

class NativeBackend final : public Backend {
 public:
  std::string_view name() const override { return "native"; }

  std::string description() const override {
    std::string text = "native: f32 by " + std::string(native::engine_f32()->name());
    for (const Precision precision : {Precision::bf16, Precision::bf16x3, Precision::bf16x6, Precision::int8}) {
      if (const Engine* engine = native::engine_of(precision))
        text += ", " + std::string(name_of(precision)) + " by " + std::string(engine->name());
    }
    return text;
  }

  bool supports(Precision precision) const override { return native::engine_of(precision) != nullptr; }

  Precision exact_precision() const override {
    return supports(Precision::bf16x6) ? Precision::bf16x6 : Precision::f32;
  }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                     std::span<const float> input_range) const override {
    const JoinedWeights weights(joined, input_range);
    const Engine* codes = weights.are_codes() ? native::codes_engine_of(precision) : nullptr;
    return codes != nullptr ? codes->pack(weights) : require_engine(precision).pack(weights);
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const Packed&>(weights);
    const Cut cuts = cut(x.rows, packed.panels, packed.engine->layout().row_block(), executor);
    parallel_for(executor, cuts.row_pieces * cuts.panel_pieces, [&](std::size_t piece) {
      const std::size_t first = piece / cuts.panel_pieces * cuts.rows;
      const std::size_t rows = std::min(cuts.rows, x.rows - first);
      const std::size_t group = piece % cuts.panel_pieces;
      LinearTail inner = tail;
      if (tail.residual.data != nullptr) inner.residual = tail.residual.rows_of(first, rows);
      const Matrix out = y.rows_of(first, rows);
      multiply_rows({packed, x.rows_of(first, rows), out, inner}, packed.panels * group / cuts.panel_pieces,
                    packed.panels * (group + 1) / cuts.panel_pieces, scratch());
      if (tail.norm != nullptr && cuts.panel_pieces == 1) normalize_rows(*tail.norm, out, out);
    });
    if (tail.norm != nullptr && cuts.panel_pieces > 1) normalize_rows(*tail.norm, y, y);
  }

  void feed_forward(const PackedLinear& in, const PackedLinear& out, ConstMatrix x, Activation activation, Matrix y,
                    const LinearTail& tail, Executor* executor) const override {
    const auto& first_layer = static_cast<const Packed&>(in);
    const auto& second_layer = static_cast<const Packed&>(out);
    const Engine& engine = *first_layer.engine;
    const native::Layout& layout = engine.layout();
    const Cut cuts = cut(x.rows, first_layer.panels, layout.row_block(), executor);
    const bool chunks =
        layout.splits_depth() && second_layer.engine == &engine && in.out == out.in && cuts.panel_pieces == 1;
    if (!chunks) return Backend::feed_forward(in, out, x, activation, y, tail, executor);
    parallel_for(executor, cuts.row_pieces, [&](std::size_t piece) {
      const std::size_t first = piece * cuts.rows;
      const std::size_t rows = std::min(cuts.rows, x.rows - first);
      LinearTail inner = tail;
      if (tail.residual.data != nullptr) inner.residual = tail.residual.rows_of(first, rows);
      const Matrix block = y.rows_of(first, rows);
      feed_forward_rows({first_layer, second_layer, x.rows_of(first, rows), activation, block, inner}, scratch());
      if (tail.norm != nullptr) normalize_rows(*tail.norm, block, block);
    });
  }

  void attention(const AttentionCall& call, Precision precision, Executor* executor) const override {
    check_attention(call);
    if (!native::has_attention_amx(precision)) return attention_f32(call, executor);
    for_each_head_run(call, executor, [&](std::size_t begin, std::size_t end) {
      const native::AttentionTiles tiles;
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t input = i / call.n_heads;
        const std::size_t head = i % call.n_heads;
        tiles.attend_head(call, input, head, rows_of_head(call, input, head));
      }
    });
  }

  bool project_and_attend(const PackedLinear& qkv, ConstMatrix x, const AttentionCall& call, const RotateHeads& rotate,
                          Precision precision, Executor* executor) const override {
    const auto& packed = static_cast<const Packed&>(qkv);
    const std::size_t threads = executor == nullptr ? 1 : executor->threads();
    // A head in whole panels; several blocks of rows (past a single one, weights are read in the order of memory), but
    // not so many that reading them for each head would cost more than it saves; work for all threads.
    const native::Layout& layout = packed.engine->layout();
    if (call.d_head % layout.panel() != 0 || x.rows <= layout.row_block() || x.rows > kMostRowsProjected) return false;
    if (call.n_kv_heads % threads != 0) return false;
    check_unprojected(call);
    const std::size_t width = (call.n_heads + 2 * call.n_kv_heads) * call.d_head;
    const bool fits =
        packed.in == x.cols && packed.out == width && !call.row_begin.empty() && call.row_begin.back() <= x.rows;
    if (!fits) throw_internal("attention: the projection does not fit the call");
    parallel_for(executor, threads, [&](std::size_t piece) {
      project_and_attend_heads({packed, x, call, rotate, precision}, call.n_kv_heads * piece / threads,
                               call.n_kv_heads * (piece + 1) / threads, scratch());
    });
    return true;
  }
};

}  // namespace

const Backend& native_backend() {
  static const NativeBackend backend;
  return backend;
}

}  // namespace mha
