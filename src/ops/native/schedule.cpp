#include "ops/native/schedule.hpp"

#include <algorithm>
#include <utility>

#include "ops/attention.hpp"
#include "ops/native/amx/attention_amx.hpp"

namespace mha::native {
namespace {

/// Bytes of hidden values of a feed-forward that are alive at a time: half of a second-level cache.
constexpr std::size_t kHiddenBytes = std::size_t{1} << 20;
/// Significant bits of results that stay float32.
constexpr std::size_t kFloatBits = 24;

class Session {
 public:
  explicit Session(const Engine& engine) : engine_(engine) { engine_.begin(); }
  ~Session() { engine_.end(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Engine& engine_;
};

/// The epilogue of panel `p`, up to the activation, whose results are read with `result_bits`.
Epilogue open_epilogue(const Packed& weights, std::size_t p, const Operand& operand, std::size_t result_bits) {
  const std::size_t column = p * weights.engine->layout().panel();
  Epilogue epilogue;
  epilogue.bias = weights.bias.data() + column;
  if (!weights.column_scale.empty()) epilogue.scale = weights.column_scale.data() + column;
  if (!weights.sum.empty()) {
    epilogue.codes = operand.codes;
    epilogue.code_sums = weights.sum.data() + column;
  }
  epilogue.result_bits = result_bits;
  return epilogue;
}

/// The same, ending in rows of y.
Epilogue epilogue_to_rows(const Packed& weights, std::size_t p, const Operand& operand, std::size_t result_bits,
                          Matrix y, const LinearTail& tail) {
  const std::size_t panel = weights.engine->layout().panel();
  const std::size_t column = p * panel;
  Epilogue epilogue = open_epilogue(weights, p, operand, result_bits);
  epilogue.activation = tail.activation;
  epilogue.cols = std::min(panel, weights.out - column);
  if (tail.residual.data != nullptr) {
    epilogue.residual = tail.residual.data + column;
    epilogue.residual_stride = tail.residual.stride;
  }
  epilogue.y = y.data + column;
  epilogue.y_stride = y.stride;
  return epilogue;
}

Operand operand_in(Bytes& memory, std::vector<RowCode>& codes, const Layout& layout, std::size_t rows,
                   std::size_t cols) {
  const std::size_t padded = round_up(rows, layout.row_block());
  memory.reserve(layout.operand_bytes(padded, cols));
  if (codes.size() < padded) codes.resize(padded);
  return {memory.data(), layout.operand_stride(cols), codes.data()};
}

/// All rows of an operand times the whole depth of `count` panels. `after` is read after the last one.
struct PanelRun {
  const Packed& weights;
  const Operand& operand;
  std::size_t rows;
  std::size_t count;
  Prefetch after;
};

/// `panel_of(i)` is the i-th panel of the run, `epilogue_of(p)` the epilogue of panel p.
template <class PanelOf, class EpilogueOf>
void multiply_panels(const PanelRun& run, const PanelOf& panel_of, const EpilogueOf& epilogue_of, Scratch& scratch) {
  const Packed& weights = run.weights;
  const Engine& engine = *weights.engine;
  const Layout& layout = engine.layout();
  scratch.decoded.reserve(engine.decoded_bytes(weights.steps));
  scratch.sums.reserve(engine.sum_blocks() * layout.row_block() * layout.panel());
  float* sums = scratch.sums.data();
  PendingBlock pending;
  for (std::size_t i = 0; i < run.count; ++i) {
    const std::size_t p = panel_of(i);
    const PanelCall call{weights, p, 0, weights.steps, scratch.decoded.data(), run.operand, run.rows};
    if (run.rows <= layout.row_block()) {
      const SumBlock block{sums, layout.panel(), 0, run.rows};
      engine.decode_and_multiply(call, scratch.decoded.data(), block, false);
      engine.apply(epilogue_of(p), block);
      continue;
    }
    engine.decode_weights(call, scratch.decoded.data());
    const Prefetch next = i + 1 < run.count ? Prefetch{weights.panel(panel_of(i + 1)), weights.panel_bytes} : run.after;
    engine.multiply_panel(call, epilogue_of(p), sums, pending, next);
  }
  engine.apply(pending);
}

/// sums [rows, all panels] (+)= the operand · steps [begin, end) of all panels.
void add_products(const Packed& weights, std::size_t begin, std::size_t end, const Operand& operand, Matrix sums,
                  bool accumulate, Scratch& scratch) {
  const Engine& engine = *weights.engine;
  const Layout& layout = engine.layout();
  const std::size_t block = layout.row_block();
  scratch.decoded.reserve(engine.decoded_bytes(end - begin));
  for (std::size_t p = 0; p < weights.panels; ++p) {
    const PanelCall call{weights, p, begin, end, scratch.decoded.data(), operand, sums.rows};
    const auto block_of = [&](std::size_t row, std::size_t rows) {
      return SumBlock{sums.row(row) + p * layout.panel(), sums.stride, row, rows};
    };
    if (sums.rows <= block) {
      engine.decode_and_multiply(call, scratch.decoded.data(), block_of(0, sums.rows), accumulate);
      continue;
    }
    engine.decode_weights(call, scratch.decoded.data());
    const bool last = p + 1 == weights.panels;
    const Prefetch next{weights.panel(last ? p : p + 1) + layout.step_bytes(begin),
                        last ? 0 : layout.step_bytes(end - begin)};
    PrefetchShares shares(next, divide_up(sums.rows, block));
    for (std::size_t row = 0; row < sums.rows; row += block) {
      engine.multiply(call, block_of(row, std::min(block, sums.rows - row)), accumulate, shares.take());
    }
  }
}

}  // namespace

void multiply_rows(const LinearCall& call, std::size_t panel_begin, std::size_t panel_end, Scratch& scratch) {
  const Packed& weights = call.weights;
  const Layout& layout = weights.engine->layout();
  const Operand operand = operand_in(scratch.operand, scratch.codes, layout, call.x.rows, call.x.cols);
  layout.convert(weights, call.x, operand);
  const Session session(*weights.engine);
  multiply_panels(
      {weights, operand, call.x.rows, panel_end - panel_begin, {}}, [&](std::size_t i) { return panel_begin + i; },
      [&](std::size_t p) { return epilogue_to_rows(weights, p, operand, layout.operand_bits(), call.y, call.tail); },
      scratch);
}

void feed_forward_rows(const FeedForwardCall& call, Scratch& scratch) {
  const Packed& in = call.in;
  const Packed& out = call.out;
  const Engine& engine = *in.engine;
  const Layout& layout = engine.layout();
  const std::size_t rows = call.x.rows;
  const std::size_t width = layout.panel();
  const std::size_t padded_rows = round_up(rows, layout.row_block());
  const std::size_t panel_bytes = layout.operand_bytes(padded_rows, width);
  const std::size_t chunk_panels = std::clamp<std::size_t>(kHiddenBytes / panel_bytes, 1, in.panels);
  const Operand operand = operand_in(scratch.operand, scratch.codes, layout, rows, call.x.cols);
  const Operand hidden = operand_in(scratch.hidden, scratch.codes, layout, rows, chunk_panels * width);
  layout.convert(in, call.x, operand);
  const Session session(engine);
  // Columns beyond d_ff: zero weights and bias, so their activation is 0 and so is their weight in `out`.
  const auto to_hidden = [&](std::size_t chunk) {
    return [&, chunk](std::size_t p) {
      Epilogue epilogue = open_epilogue(in, p, operand, layout.operand_bits());
      epilogue.activation = call.activation;
      epilogue.operand = hidden;
      epilogue.column = (p - chunk) * width;
      epilogue.cols = width;
      return epilogue;
    };
  };
  const auto to_rows = [&](std::size_t p) { return epilogue_to_rows(out, p, hidden, kFloatBits, call.y, call.tail); };
  if (chunk_panels == in.panels) {
    const auto in_order = [](std::size_t i) { return i; };
    multiply_panels({in, operand, rows, in.panels, {out.panel(0), out.panel_bytes}}, in_order, to_hidden(0), scratch);
    multiply_panels({out, hidden, rows, out.panels, {}}, in_order, to_rows, scratch);
    return;
  }
  scratch.second_sums.reserve(padded_rows * out.panels * width);
  const Matrix sums{scratch.second_sums.data(), rows, out.panels * width};
  for (std::size_t chunk = 0; chunk < in.panels; chunk += chunk_panels) {
    const std::size_t chunk_end = std::min(chunk + chunk_panels, in.panels);
    const std::size_t begin = chunk * width / layout.step();
    const std::size_t end = std::min(chunk_end * width / layout.step(), out.steps);
    const Prefetch after{out.panel(0) + layout.step_bytes(begin), layout.step_bytes(end - begin)};
    multiply_panels(
        {in, operand, rows, chunk_end - chunk, after}, [&](std::size_t i) { return chunk + i; }, to_hidden(chunk),
        scratch);
    add_products(out, begin, end, hidden, sums, chunk > 0, scratch);
  }
  for (std::size_t p = 0; p < out.panels; ++p) {
    engine.apply(to_rows(p), {sums.data + p * width, sums.stride, 0, rows});
  }
}

void project_and_attend_heads(const ProjectedAttention& projected, std::size_t kv_begin, std::size_t kv_end,
                              Scratch& scratch) {
  const Packed& qkv = projected.qkv;
  const AttentionCall& call = projected.attention;
  const std::size_t rows = projected.x.rows;
  const Engine& engine = *qkv.engine;
  const Layout& layout = engine.layout();
  const std::size_t inputs = call.row_begin.size() - 1;
  const std::size_t group = call.n_heads / call.n_kv_heads;
  const std::size_t panels = call.d_head / layout.panel();  // of a head
  const Operand operand = operand_in(scratch.operand, scratch.codes, layout, rows, projected.x.cols);
  layout.convert(qkv, projected.x, operand);
  scratch.queries.reserve(rows * group * call.d_head);
  scratch.keys.reserve(rows * call.d_head);
  scratch.values.reserve(rows * call.d_head);
  const Matrix query{scratch.queries.data(), rows, group * call.d_head};
  const Matrix key{scratch.keys.data(), rows, call.d_head};
  const Matrix value{scratch.values.data(), rows, call.d_head};
  for (std::size_t kv = kv_begin; kv < kv_end; ++kv) {
    // Panels of the group's queries, then of its keys and values.
    const std::size_t first_query = kv * group * panels;
    const std::size_t first_key = (call.n_heads + kv) * panels;
    const std::size_t first_value = first_key + call.n_kv_heads * panels;
    const auto panel_of = [&](std::size_t i) {
      if (i < group * panels) return first_query + i;
      return i < (group + 1) * panels ? first_key + i - group * panels : first_value + i - (group + 1) * panels;
    };
    const auto epilogue_of = [&](std::size_t p) {
      const auto [to, first] = p >= first_value ? std::pair(value, first_value)
                               : p >= first_key ? std::pair(key, first_key)
                                                : std::pair(query, first_query);
      Epilogue epilogue = open_epilogue(qkv, p, operand, kFloatBits);
      epilogue.cols = layout.panel();
      epilogue.y = to.data + (p - first) * layout.panel();
      epilogue.y_stride = to.stride;
      return epilogue;
    };
    const Prefetch after =
        kv + 1 < kv_end ? Prefetch{qkv.panel(first_query + group * panels), qkv.panel_bytes} : Prefetch{};
    {
      const Session session(engine);
      multiply_panels({qkv, operand, rows, (group + 2) * panels, after}, panel_of, epilogue_of, scratch);
    }
    if (projected.rotate) projected.rotate(query, key, value);
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
    if (has_attention_amx(projected.precision)) {
      const AttentionTiles tiles;
      attend([&](const auto&... of) { tiles.attend_head(of...); });
    } else {
      attend(attend_head_f32);
    }
  }
}

}  // namespace mha::native
