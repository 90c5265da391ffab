#include "ops/native/native.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "ops/attention.hpp"
#include "ops/cpu.hpp"
#include "ops/native/attention_amx.hpp"
#include "ops/native/engine.hpp"

namespace mha {
namespace {

using native::Ahead;
using native::Bytes;
using native::Engine;
using native::Finish;
using native::Lookahead;
using native::Operand;
using native::Packed;
using native::PanelCall;
using native::Waiting;

/// Rows that go through all panels together: their operand stays in the second-level cache while panels stream by.
constexpr std::size_t kRowsTogether = 256;
/// Rows that are projected and attended to head by head: their operand is read once for each head.
constexpr std::size_t kMostRowsProjected = 1024;
/// Bytes of hidden values of a feed-forward that are alive at a time: half of a second-level cache.
constexpr std::size_t kHiddenBytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

/// Scratch of one thread.
struct Scratch {
  Bytes operand;
  Bytes hidden;
  Bytes expanded;
  FloatBuffer sums;
  FloatBuffer second_sums;
  std::vector<native::RowCode> codes;
};

Scratch& scratch() {
  thread_local Scratch mine;
  return mine;
}

const Engine& engine_of(Precision precision) {
  const Engine* engine = nullptr;
  switch (precision) {
    case Precision::f32:
      engine = native::engine_f32();
      break;
    case Precision::bf16:
      engine = native::engine_bf16();
      break;
    case Precision::bf16x3:
      engine = native::engine_bf16x3();
      break;
    case Precision::bf16x6:
      engine = native::engine_bf16x6();
      break;
    case Precision::int8:
      engine = native::engine_int8();
      break;
  }
  if (engine == nullptr)
    throw_usage("backend: native: this CPU has no instructions for the precision asked for; use --dtype f32");
  return *engine;
}

/// Weights that are codes in their file are multiplied as such: eight bits are a bfloat16, whole.
const Engine* codes_engine_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return native::engine_codes_bf16();
    case Precision::bf16x3:
      return native::engine_codes_bf16x3();
    case Precision::bf16x6:
      return native::engine_codes_bf16x6();
    case Precision::f32:
    case Precision::int8:
      return nullptr;
  }
  return nullptr;
}

/// The tail of panel `p`, without what follows the activation.
Finish finish_of(const Packed& weights, std::size_t p, const Operand& operand, Activation activation, bool coarse) {
  const std::size_t column = p * weights.engine->panel();
  Finish finish;
  finish.bias = weights.bias.data() + column;
  if (!weights.column_scale.empty()) finish.scale = weights.column_scale.data() + column;
  if (!weights.sum.empty()) {
    finish.codes = operand.codes;
    finish.code_sums = weights.sum.data() + column;
  }
  finish.activation = activation;
  finish.coarse = coarse;
  return finish;
}

/// The same, ending in rows of y.
Finish finish_in(Matrix y, const LinearTail& tail, const Packed& weights, std::size_t p, const Operand& operand,
                 bool coarse) {
  const std::size_t column = p * weights.engine->panel();
  Finish finish = finish_of(weights, p, operand, tail.activation, coarse);
  finish.cols = std::min(weights.engine->panel(), weights.out - column);
  if (tail.residual.data != nullptr) {
    finish.residual = tail.residual.data + column;
    finish.residual_stride = tail.residual.stride;
  }
  finish.y = y.data + column;
  finish.y_stride = y.stride;
  return finish;
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

Operand operand_in(Bytes& memory, std::vector<native::RowCode>& codes, const Engine& engine, std::size_t rows,
                   std::size_t cols) {
  const std::size_t padded = round_up(rows, engine.row_block());
  memory.reserve(engine.operand_bytes(padded, cols));
  if (codes.size() < padded) codes.resize(padded);
  return {memory.data(), engine.operand_stride(cols), codes.data()};
}

/// All rows of an operand times the whole depth of `count` panels, panel_of(i) the i-th; `finish(p)` is the tail of
/// panel p. `after` is read after the last panel.
template <class PanelOf, class FinishOf>
void multiply_panels(const Engine& engine, const Packed& weights, std::size_t count, const PanelOf& panel_of,
                     const Operand& operand, std::size_t rows, const FinishOf& finish, Ahead after) {
  Scratch& mine = scratch();
  mine.expanded.reserve(engine.expanded_bytes(weights.steps));
  mine.sums.reserve(engine.sum_blocks() * engine.row_block() * engine.panel());
  Waiting waiting;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t p = panel_of(i);
    const PanelCall call{weights, p, 0, weights.steps, mine.expanded.data(), operand, rows};
    if (rows <= engine.row_block()) {
      engine.expand_and_multiply(call, mine.expanded.data(), mine.sums.data(), engine.panel(), false);
      engine.finish(finish(p), mine.sums.data(), engine.panel(), 0, rows);
      continue;
    }
    engine.expand(weights, p, 0, weights.steps, mine.expanded.data());
    const Ahead next = i + 1 < count ? Ahead{weights.panel(panel_of(i + 1)), weights.panel_bytes} : after;
    engine.multiply_panel(call, finish(p), mine.sums.data(), waiting, next);
  }
  engine.finish(waiting);
}

/// sums [rows, stride] (+)= the operand · steps [begin, end) of all panels.
void add_products(const Engine& engine, const Packed& weights, std::size_t begin, std::size_t end,
                  const Operand& operand, std::size_t rows, float* sums, std::size_t stride, bool accumulate) {
  Scratch& mine = scratch();
  const std::size_t block = engine.row_block();
  mine.expanded.reserve(engine.expanded_bytes(end - begin));
  for (std::size_t p = 0; p < weights.panels; ++p) {
    const PanelCall call{weights, p, begin, end, mine.expanded.data(), operand, rows};
    float* panel_sums = sums + p * engine.panel();
    if (rows <= block) {
      engine.expand_and_multiply(call, mine.expanded.data(), panel_sums, stride, accumulate);
      continue;
    }
    engine.expand(weights, p, begin, end, mine.expanded.data());
    const bool last = p + 1 == weights.panels;
    Lookahead lookahead(
        {weights.panel(last ? p : p + 1) + engine.step_bytes(begin), last ? 0 : engine.step_bytes(end - begin)},
        (rows + block - 1) / block);
    for (std::size_t row = 0; row < rows; row += block) {
      engine.multiply(call, row, std::min(block, rows - row), panel_sums + row * stride, stride, accumulate,
                      lookahead.step());
    }
  }
}

/// y = activation(x·Wᵀ + b) + residual for panels [panel_begin, panel_end), all rows of x; x.rows ≤ kRowsTogether.
void multiply_rows(const Engine& engine, const Packed& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
                   std::size_t panel_begin, std::size_t panel_end) {
  Scratch& mine = scratch();
  const Operand operand = operand_in(mine.operand, mine.codes, engine, x.rows, x.cols);
  engine.convert(weights, x, operand);
  const Session session(engine);
  multiply_panels(
      engine, weights, panel_end - panel_begin, [&](std::size_t i) { return panel_begin + i; }, operand, x.rows,
      [&](std::size_t p) { return finish_in(y, tail, weights, p, operand, engine.coarse()); }, {});
}

/// Rows through both products of a feed-forward, a chunk of hidden columns at a time; where there are several, the
/// second product's sums continue from chunk to chunk.
void feed_forward_rows(const Engine& engine, const Packed& in, const Packed& out, ConstMatrix x, Activation activation,
                       Matrix y, const LinearTail& tail) {
  Scratch& mine = scratch();
  const std::size_t width = engine.panel();
  const std::size_t padded_rows = round_up(x.rows, engine.row_block());
  const std::size_t panel_bytes = engine.operand_bytes(padded_rows, width);
  const std::size_t chunk_panels = std::clamp<std::size_t>(kHiddenBytes / panel_bytes, 1, in.panels);
  const Operand operand = operand_in(mine.operand, mine.codes, engine, x.rows, x.cols);
  const Operand hidden = operand_in(mine.hidden, mine.codes, engine, x.rows, chunk_panels * width);
  engine.convert(in, x, operand);
  const Session session(engine);
  // Columns beyond d_ff: zero weights and bias, so their activation is 0 and so is their weight in `out`.
  const auto hide = [&](std::size_t chunk) {
    return [&, chunk](std::size_t p) {
      Finish finish = finish_of(in, p, operand, activation, engine.coarse());
      finish.operand = hidden;
      finish.column = (p - chunk) * width;
      finish.cols = width;
      return finish;
    };
  };
  if (chunk_panels == in.panels) {
    const auto in_order = [](std::size_t i) { return i; };
    multiply_panels(engine, in, in.panels, in_order, operand, x.rows, hide(0), {out.panel(0), out.panel_bytes});
    multiply_panels(engine, out, out.panels, in_order, hidden, x.rows,
                    [&](std::size_t p) { return finish_in(y, tail, out, p, hidden, false); }, {});
    return;
  }
  const std::size_t stride = out.panels * width;
  mine.second_sums.reserve(padded_rows * stride);
  for (std::size_t chunk = 0; chunk < in.panels; chunk += chunk_panels) {
    const std::size_t chunk_end = std::min(chunk + chunk_panels, in.panels);
    const std::size_t begin = chunk * width / engine.step();
    const std::size_t end = std::min(chunk_end * width / engine.step(), out.steps);
    multiply_panels(engine, in, chunk_end - chunk, [&](std::size_t i) { return chunk + i; }, operand, x.rows,
                    hide(chunk), {out.panel(0) + engine.step_bytes(begin), engine.step_bytes(end - begin)});
    add_products(engine, out, begin, end, hidden, x.rows, mine.second_sums.data(), stride, chunk > 0);
  }
  for (std::size_t p = 0; p < out.panels; ++p) {
    engine.finish(finish_in(y, tail, out, p, hidden, false), mine.second_sums.data() + p * width, stride, 0, x.rows);
  }
}

/// Q, K and V of a group of heads that share their keys: columns one after the other, rows close to each other.
struct HeadProjections {
  FloatBuffer queries, keys, values;
};

/// Heads of key and value [kv_begin, kv_end), with the queries that look at them: projected, then attended to while
/// what they were projected to is in cache.
void project_and_attend_heads(const Packed& qkv, ConstMatrix x, const AttentionCall& call, const RotateHeads& rotate,
                              Precision precision, std::size_t kv_begin, std::size_t kv_end) {
  thread_local HeadProjections projections;
  Scratch& mine = scratch();
  const Engine& engine = *qkv.engine;
  const std::size_t inputs = call.row_begin.size() - 1;
  const std::size_t group = call.n_heads / call.n_kv_heads;
  const std::size_t panels = call.d_head / engine.panel();  // of a head
  const Operand operand = operand_in(mine.operand, mine.codes, engine, x.rows, x.cols);
  engine.convert(qkv, x, operand);
  projections.queries.reserve(x.rows * group * call.d_head);
  projections.keys.reserve(x.rows * call.d_head);
  projections.values.reserve(x.rows * call.d_head);
  const Matrix query{projections.queries.data(), x.rows, group * call.d_head};
  const Matrix key{projections.keys.data(), x.rows, call.d_head};
  const Matrix value{projections.values.data(), x.rows, call.d_head};
  for (std::size_t kv = kv_begin; kv < kv_end; ++kv) {
    // Panels of the group's queries, then of its keys and values.
    const std::size_t first_query = kv * group * panels;
    const std::size_t first_key = (call.n_heads + kv) * panels;
    const std::size_t first_value = first_key + call.n_kv_heads * panels;
    const auto panel_of = [&](std::size_t i) {
      if (i < group * panels) return first_query + i;
      return i < (group + 1) * panels ? first_key + i - group * panels : first_value + i - (group + 1) * panels;
    };
    const auto finish = [&](std::size_t p) {
      const auto [to, first] = p >= first_value ? std::pair(value, first_value)
                               : p >= first_key ? std::pair(key, first_key)
                                                : std::pair(query, first_query);
      Finish ends = finish_of(qkv, p, operand, Activation::none, false);
      ends.cols = engine.panel();
      ends.y = to.data + (p - first) * engine.panel();
      ends.y_stride = to.stride;
      return ends;
    };
    const Ahead next = kv + 1 < kv_end ? Ahead{qkv.panel(first_query + group * panels), qkv.panel_bytes} : Ahead{};
    {
      const Session session(engine);
      multiply_panels(engine, qkv, (group + 2) * panels, panel_of, operand, x.rows, finish, next);
    }
    if (rotate) rotate(query, key, value);
    const auto attend = [&](const auto& attend_head) {
      for (std::size_t input = 0; input < inputs; ++input) {
        const std::size_t row = call.row_begin[input];
        const std::size_t tokens = call.row_begin[input + 1] - row;
        for (std::size_t head = kv * group; head < (kv + 1) * group; ++head) {
          attend_head(call, input, head,
                      HeadRows{query.rows_of(row, tokens).cols_of(head % group * call.d_head, call.d_head),
                               key.rows_of(row, tokens), value.rows_of(row, tokens),
                               call.context.rows_of(row, tokens).cols_of(head * call.d_head, call.d_head)});
        }
      }
    };
    if (native::has_attention_amx(precision)) {
      const native::AttentionTiles tiles;
      attend([&](const auto&... of) { tiles.attend_head(of...); });
    } else {
      attend(attend_head_f32);
    }
  }
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
      case Precision::bf16:
        return true;
      case Precision::bf16x3:
        return native::engine_bf16x3() != nullptr;
      case Precision::bf16x6:
        return native::engine_bf16x6() != nullptr;
      case Precision::int8:
        return native::engine_int8() != nullptr;
    }
    return false;
  }

  Precision exact_precision() const override {
    return native::engine_bf16x6() != nullptr ? Precision::bf16x6 : Precision::f32;
  }

  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                     std::span<const float> input_range) const override {
    const JoinedWeights weights(joined, input_range);
    const Engine* codes = weights.are_codes() ? codes_engine_of(precision) : nullptr;
    const Engine& engine = codes != nullptr ? *codes : engine_of(precision);
    auto packed = engine.pack(weights);
    packed->engine = &engine;
    return packed;
  }

  void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
              Executor* executor) const override {
    const auto& packed = static_cast<const Packed&>(weights);
    const Engine& engine = *packed.engine;
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
    const Engine& engine = *first_layer.engine;
    const Cut cuts = cut(x.rows, first_layer.panels, engine.row_block(), executor);
    const bool chunks =
        engine.splits_depth() && second_layer.engine == &engine && in.out == out.in && cuts.panel_pieces == 1;
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
    const Engine& engine = *packed.engine;
    if (call.d_head % engine.panel() != 0 || x.rows <= engine.row_block() || x.rows > kMostRowsProjected) return false;
    if (call.n_kv_heads % threads != 0) return false;
    check_unprojected(call);
    const std::size_t width = (call.n_heads + 2 * call.n_kv_heads) * call.d_head;
    const bool fits =
        packed.in == x.cols && packed.out == width && !call.row_begin.empty() && call.row_begin.back() <= x.rows;
    if (!fits) throw_internal("attention: the projection does not fit the call");
    parallel_for(executor, threads, [&](std::size_t piece) {
      project_and_attend_heads(packed, x, call, rotate, precision, call.n_kv_heads * piece / threads,
                               call.n_kv_heads * (piece + 1) / threads);
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
