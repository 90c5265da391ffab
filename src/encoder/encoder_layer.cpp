#include "encoder/encoder_layer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/convert.hpp"
#include "ops/vector.hpp"

namespace mha {
namespace {

std::unique_ptr<PackedLinear> pack(const Backend& backend, Precision precision,
                                   std::initializer_list<const LinearWeights*> joined,
                                   std::span<const float> input_range = {}) {
  return backend.pack(std::span<const LinearWeights* const>(joined.begin(), joined.size()), precision, input_range);
}

float score_scale(const ModelConfig& c) {
  if (!c.scale_scores) return 1.0F;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.d_head * c.score_parts)));
}

Precision finer_than_int8(const Backend& backend) {
  return backend.supports(Precision::w8a16) ? Precision::w8a16 : Precision::bf16;
}

}  // namespace

/// Q, K and V of a batch, with what their scores get added.
struct EncoderLayer::Projected {
  ConstMatrix query, key, value;
  DisentangledBias disentangled;
};

EncoderLayer::EncoderLayer(const ModelConfig& config, const LayerWeights& layer, const PositionTerms& positions,
                           const Backend& backend, Precision precision)
    : config_(config), layer_(layer), positions_(positions), backend_(backend), precision_(precision) {
  const AttentionWeights& a = layer.attention;
  const FeedForwardWeights& f = layer.feed_forward;
  if (config.norm && a.norm.gamma.present()) attention_norm_ = Norm(*config.norm, a.norm);
  if (config.norm && f.norm.gamma.present()) feed_forward_norm_ = Norm(*config.norm, f.norm);
  pre_norm_ = config.norm && config.norm->order == NormOrder::pre;
  // Scores are what activations of eight bits hurt most: if weights are not int8 already, an int8 model projects to
  // queries, keys and values with finer ones.
  const bool finer = precision == Precision::int8 && a.query.weight.view.dtype != DType::i8;
  qkv_ = pack(backend, finer ? finer_than_int8(backend) : precision, {&a.query, &a.key, &a.value});
  output_ = pack(backend, precision, {&a.output});
  if (config.feed_forward != ModelConfig::FeedForward::none) {
    const std::vector<float> range = (pre_norm_ ? feed_forward_norm_ : attention_norm_).range();
    in_ = config.gated() ? pack(backend, precision, {&f.gate, &f.in}, range) : pack(backend, precision, {&f.in}, range);
    out_ = pack(backend, precision, {&f.out});
  }
  if (a.position_key.weight.present()) position_key_ = pack(backend, precision, {&a.position_key});
  if (a.position_query.weight.present()) position_query_ = pack(backend, precision, {&a.position_query});
}

EncoderLayer::~EncoderLayer() = default;
EncoderLayer::EncoderLayer(EncoderLayer&&) noexcept = default;

void EncoderLayer::forward(const LayerCall& call, Matrix x) const {
  Scratch& s = *call.scratch;
  const std::size_t n = x.rows;
  const bool has_feed_forward = in_ != nullptr;
  const Matrix attended = has_feed_forward ? matrix_in(s.attended, n, config_.d_model) : x;

  const ConstMatrix attention_input = before(attention_norm_, x, s);  // [N, d_model]
  const Matrix context = matrix_in(s.context, n, config_.d_query());
  attend(call, attention_input, context);                                              // [N, n_heads · d_head]
  backend_.linear(*output_, context, attended, tail(attention_norm_, x), s.executor);  // [N, d_model]
  if (!has_feed_forward) return;

  const ConstMatrix feed_forward_input = before(feed_forward_norm_, attended, s);  // [N, d_model]
  backend_.feed_forward(*in_, *out_, feed_forward_input, config_.activation, x,    // [N, d_ff] → [N, d_model]
                        tail(feed_forward_norm_, attended), s.executor);
}

/// What a sub-layer reads: its input, normalised where the norm comes first.
ConstMatrix EncoderLayer::before(const Norm& norm, ConstMatrix x, Scratch& s) const {
  if (!pre_norm_ || !norm.present()) return x;
  const Matrix normed = matrix_in(s.normed, x.rows, x.cols);
  norm.apply(x, normed, s.executor);
  return normed;
}

/// What follows a sub-layer: residual, and the norm where it comes last.
LinearTail EncoderLayer::tail(const Norm& norm, ConstMatrix residual) const {
  LinearTail tail;
  if (config_.residual) tail.residual = residual;
  if (!pre_norm_) tail.norm = norm.row();
  return tail;
}

EncoderLayer::Projected EncoderLayer::project(const LayerCall& call, ConstMatrix input) const {
  Scratch& s = *call.scratch;
  const std::size_t d_query = config_.d_query();
  const std::size_t d_key = config_.d_key_value();
  const Matrix qkv = matrix_in(s.qkv, input.rows, d_query + 2 * d_key);
  backend_.linear(*qkv_, input, qkv, {}, s.executor);
  const Matrix query = qkv.cols_of(0, d_query);
  const Matrix key = qkv.cols_of(d_query, d_key);
  const Matrix value = qkv.cols_of(d_query + d_key, d_key);

  if (const RotateHeads rotate = rotation(call, s.executor)) rotate(query, key, value);
  Projected projected;
  projected.query = query;
  projected.key = key;
  projected.value = value;
  if (config_.position.disentangled) projected.disentangled = disentangled(call, query, key);
  return projected;
}

/// What turns Q and K by their positions (V too in some models); empty where nothing does.
RotateHeads EncoderLayer::rotation(const LayerCall& call, Executor* executor) const {
  const PositionConfig& p = config_.position;
  if (p.rotary == PositionConfig::Rotary::none) return {};
  const Scratch& s = *call.scratch;
  const RotaryTable& table = config_.is_local(call.layer) ? s.rotary_local : s.rotary;
  return [&p, &table, &call, executor, d_head = config_.d_head](Matrix query, Matrix key, Matrix value) {
    rotate(p.rotary, table, query, call.row_begin, d_head, executor);
    rotate(p.rotary, table, key, call.row_begin, d_head, executor);
    if (p.rotary_value) rotate(p.rotary, table, value, call.row_begin, d_head, executor);
  };
}

/// From what attention reads to the context, with nothing in between that anybody wants to see: heads by themselves
/// where the backend does that and no term of the scores needs the others.
void EncoderLayer::attend(const LayerCall& call, ConstMatrix input, Matrix context) const {
  if (!config_.position.disentangled) {
    const AttentionCall attention = attention_call(call, context, captured_probs(call));
    if (backend_.project_and_attend(*qkv_, input, attention, rotation(call, nullptr), precision_,
                                    call.scratch->executor))
      return;
  }
  attend(call, project(call, input), context, captured_probs(call));  // Q, K, V [N, heads · d_head]
}

void EncoderLayer::attend(const LayerCall& call, const Projected& projected, Matrix context,
                          const AttentionCapture& capture) const {
  AttentionCall attention = attention_call(call, context, capture);
  attention.query = projected.query;
  attention.key = projected.key;
  attention.value = projected.value;
  if (config_.position.disentangled) attention.bias = &projected.disentangled;
  backend_.attention(attention, precision_, call.scratch->executor);
}

/// All of the call but Q, K and V and what comes from them.
AttentionCall EncoderLayer::attention_call(const LayerCall& call, Matrix context,
                                           const AttentionCapture& capture) const {
  const std::vector<DistanceBias>& bias = call.scratch->distance_bias;
  AttentionCall attention;
  attention.context = context;
  if (!bias.empty()) attention.bias = &bias[config_.position.relative_bias_per_layer ? call.layer : 0];
  attention.row_begin = call.row_begin;
  attention.n_heads = config_.n_heads;
  attention.n_kv_heads = config_.n_kv_heads;
  attention.d_head = config_.d_head;
  attention.scale = score_scale(config_);
  attention.window = config_.is_local(call.layer) ? config_.local_window : 0;
  attention.ablated = call.ablated;
  attention.capture_heads = capture.heads;
  attention.capture_begin = capture.begin;
  attention.scores = capture.scores;
  attention.scaled = capture.scaled;
  attention.probs = capture.probs;
  return attention;
}

AttentionCapture EncoderLayer::captured_probs(const LayerCall& call) {
  if (call.attention_probs == nullptr) return {};
  return {call.capture_heads, call.capture_begin, nullptr, nullptr, call.attention_probs};
}

DisentangledBias EncoderLayer::disentangled(const LayerCall& call, ConstMatrix query, ConstMatrix key) const {
  Scratch& s = *call.scratch;
  PositionProjections& cached = s.position_projections[call.layer];
  const RelativeRows& rows = s.relative_rows;
  const std::size_t width = query.cols;
  if (cached.length < rows.length) {
    project_positions(rows, cached, s.executor);
    cached.length = rows.length;
  }
  const auto& d = *config_.position.disentangled;
  DisentangledBias bias;
  bias.query = query;
  bias.key = key;
  if (d.content_to_position) bias.position_key = {cached.key.data(), rows.count, width};
  if (d.position_to_content) bias.position_query = {cached.query.data(), rows.count, width};
  bias.d_head = config_.d_head;
  bias.row_of_distance = &rows.of_distance;
  bias.length = rows.length;
  return bias;
}

/// The rows of the relative table that occur, through this layer's projections (its own, or those of the content).
void EncoderLayer::project_positions(const RelativeRows& rows, PositionProjections& to, Executor* executor) const {
  const auto& d = *config_.position.disentangled;
  const std::size_t d_model = config_.d_model;
  const std::size_t width = config_.d_query();
  const ConstMatrix table{positions_.relative_table.data() + rows.first * d_model, rows.count, d_model};
  const Matrix key = matrix_in(to.key, rows.count, width);
  const Matrix query = matrix_in(to.query, rows.count, width);
  if (d.share_key) {
    std::vector<float> joined(rows.count * 3 * width);
    const Matrix qkv{joined.data(), rows.count, 3 * width};
    backend_.linear(*qkv_, table, qkv, {}, executor);
    for (std::size_t r = 0; r < rows.count; ++r) {
      std::copy_n(qkv.row(r), width, query.row(r));
      std::copy_n(qkv.row(r) + width, width, key.row(r));
    }
  } else {
    if (d.content_to_position) backend_.linear(*position_key_, table, key, {}, executor);
    if (d.position_to_content) backend_.linear(*position_query_, table, query, {}, executor);
  }
  const float factor = score_scale(config_);
  if (d.content_to_position || d.share_key) scale(factor, key.data, rows.count * width);
  if (d.position_to_content || d.share_key) scale(factor, query.data, rows.count * width);
}

void EncoderLayer::record(const LayerCall& call, ConstMatrix x, StageRecorder& stages) const {
  Scratch& s = *call.scratch;
  const std::size_t n = x.rows;
  const std::size_t heads = config_.n_heads;
  stages.matrix("X", x);
  const ConstMatrix attention_input = before(attention_norm_, x, s);
  if (pre_norm_ && attention_norm_.present()) stages.matrix("norm1", attention_input);

  const Projected projected = project(call, attention_input);
  stages.heads("Q", projected.query, heads);
  stages.heads("K", projected.key, config_.n_kv_heads);
  stages.heads("V", projected.value, config_.n_kv_heads);

  std::vector<std::size_t> all(heads);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::array<std::size_t, 2> begin{0, heads * n * n};
  AttentionCapture capture{all, begin, stages.block("scores", heads, n, n).values.data(),
                           stages.block("scaled", heads, n, n).values.data(),
                           stages.block("probabilities", heads, n, n).values.data()};
  const Matrix context = matrix_in(s.context, n, config_.d_query());
  attend(call, projected, context, capture);
  stages.heads("Z", context, heads);
  stages.matrix("concat", context);
  record_shares(context, stages);

  std::vector<float> after_attention(n * config_.d_model);
  const Matrix a{after_attention.data(), n, config_.d_model};
  backend_.linear(*output_, context, a, {}, s.executor);
  stages.matrix("attention_output", a);
  for (std::size_t r = 0; r < n && config_.residual; ++r) add(x.row(r), a.row(r), a.cols);
  if (config_.residual) stages.matrix("residual1", a);
  if (!pre_norm_ && attention_norm_.present()) {
    attention_norm_.apply(a, a, s.executor);
    stages.matrix("attention_norm", a);
  }
  if (in_ != nullptr) record_feed_forward(a, s, stages);
}

void EncoderLayer::record_feed_forward(ConstMatrix x, Scratch& s, StageRecorder& stages) const {
  const std::size_t n = x.rows;
  const ConstMatrix feed_forward_input = before(feed_forward_norm_, x, s);
  if (pre_norm_ && feed_forward_norm_.present()) stages.matrix("norm2", feed_forward_input);
  stages.matrix("feed_forward_input", feed_forward_input);
  std::vector<float> wide_rows(n * in_->out), output_rows(n * config_.d_model);
  const Matrix wide{wide_rows.data(), n, in_->out};
  backend_.linear(*in_, feed_forward_input, wide, {}, s.executor);
  const Matrix hidden = wide.cols_of(0, config_.d_ff);
  for (std::size_t r = 0; r < n; ++r) {
    if (config_.gated())
      activate_gated(config_.activation, hidden.row(r), wide.row(r) + config_.d_ff, config_.d_ff);
    else
      activate(config_.activation, hidden.row(r), config_.d_ff);
  }
  stages.matrix("feed_forward_hidden", hidden);
  const Matrix y = Matrix{output_rows.data(), n, config_.d_model};
  backend_.linear(*out_, hidden, y, {}, s.executor);
  stages.matrix("feed_forward_output", y);
  for (std::size_t r = 0; r < n && config_.residual; ++r) add(x.row(r), y.row(r), y.cols);
  if (config_.residual) stages.matrix("residual2", y);
}

/// Z_h · Wo_h of each head: the shares of which the attention output is the sum, besides Wo's bias.
void EncoderLayer::record_shares(ConstMatrix context, StageRecorder& stages) const {
  const std::size_t heads = config_.n_heads;
  const std::size_t d_head = config_.d_head;
  const Weight& output = layer_.attention.output.weight;
  Stage& stage = stages.block("output_share", heads, context.rows, config_.d_model);
  std::vector<float> weights(context.cols);
  for (std::size_t out = 0; out < config_.d_model; ++out) {
    row_to_float32(output.view, output.scale, out, weights.data());
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t r = 0; r < context.rows; ++r) {
        stage.values[(head * context.rows + r) * config_.d_model + out] =
            dot(context.row(r) + head * d_head, weights.data() + head * d_head, d_head);
      }
    }
  }
}

}  // namespace mha
