#include "mha/encoder/config.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "mha/core/error.hpp"

namespace mha {
namespace {

// Far above every encoder that exists, far below where products of two would leave 64 bits.
constexpr std::size_t kMaxWidth = std::size_t{1} << 20;
constexpr std::size_t kMaxLayers = 4096;
constexpr std::size_t kMaxHeads = 65536;
constexpr std::size_t kMaxRows = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void fail(const std::string& key, const std::string& expected, std::size_t got) {
  throw_model("config: " + key + ": expected " + expected + ", got " + std::to_string(got));
}

void in_range(const std::string& key, std::size_t value, std::size_t least, std::size_t most) {
  if (value < least || value > most) fail(key, std::to_string(least) + " to " + std::to_string(most), value);
}

void validate_positions(const ModelConfig& c) {
  const PositionConfig& p = c.position;
  in_range("position.learned_offset", p.learned_offset, 0, kMaxRows / 2);
  if (p.learned || p.sinusoidal != PositionConfig::Sinusoidal::none)
    in_range("max_positions", c.max_positions, 1, kMaxRows / 2);
  if (p.learned_padding_id) in_range("position.learned_padding_row", p.learned_padding_row, 0, c.position_rows() - 1);
  if (p.sinusoidal == PositionConfig::Sinusoidal::halves && c.position_width() < 2)
    fail("d_model", "at least 2", c.position_width());
  if (p.relative_bias) {
    in_range("position.relative_buckets", p.relative_buckets, 4, kMaxRows);
    // The logarithm that sorts distances into buckets needs distances beyond those that have a bucket each.
    in_range("position.relative_max_distance", p.relative_max_distance, p.relative_buckets / 4 + 1, kMaxRows);
  }
  if (p.rotary != PositionConfig::Rotary::none) {
    const std::size_t width = p.rotary_width != 0 ? p.rotary_width : c.d_head;
    if (width % 2 != 0 || width > c.d_head)
      fail("position.rotary_width", "an even number up to d_head " + std::to_string(c.d_head), width);
    if (!(p.rotary_base > 0.0 && p.rotary_base_local > 0.0 && p.rotary_divisor > 0.0))
      fail("position.rotary_base", "a number above 0", 0);
  }
  if (p.disentangled) {
    const auto& d = *p.disentangled;
    in_range("position.max_distance", d.max_distance, 1, kMaxRows / 4);
    in_range("position.buckets", d.buckets, 0, kMaxRows / 4);
    if (d.buckets == 1) fail("position.buckets", "0 or at least 2", d.buckets);
    if (d.buckets > 0 && d.max_distance <= d.buckets / 2 + 1) {
      fail("position.max_distance", "more than half of the buckets " + std::to_string(d.buckets) + " + 1",
           d.max_distance);
    }
    if (c.n_kv_heads != c.n_heads) fail("n_kv_heads", "n_heads " + std::to_string(c.n_heads), c.n_kv_heads);
  }
}

void validate_layers(const ModelConfig& c) {
  if (!c.layer_weights.empty() && c.layer_weights.size() != c.n_layers)
    fail("layer_weights", "n_layers entries", c.layer_weights.size());
  if (c.layer_weights.empty() && c.shared_layers != 0 && c.shared_layers != c.n_layers) {
    fail("layer_weights", "n_layers entries where layers are shared", 0);
  }
  if (c.shared_layers > c.n_layers)
    fail("shared_layers", "at most n_layers " + std::to_string(c.n_layers), c.shared_layers);
  for (std::size_t weights : c.layer_weights)
    in_range("layer_weights", weights, 0, c.distinct_layers() == 0 ? 0 : c.distinct_layers() - 1);
  if (!c.local_layers.empty() && c.local_layers.size() != c.n_layers)
    fail("local_layers", "n_layers entries", c.local_layers.size());
  for (bool local : c.local_layers) {
    if (local) in_range("local_window", c.local_window, 1, kMaxRows);
  }
  if (c.convolution) {
    const ConvolutionConfig& convolution = *c.convolution;
    in_range("convolution.kernel", convolution.kernel, 1, 1023);
    if (convolution.kernel % 2 == 0) fail("convolution.kernel", "an odd number", convolution.kernel);
    if (convolution.groups == 0 || c.d_model % convolution.groups != 0) {
      fail("convolution.groups", "a divisor of d_model " + std::to_string(c.d_model), convolution.groups);
    }
  }
}

}  // namespace

void ModelConfig::validate() const {
  in_range("d_model", d_model, 1, kMaxWidth);
  in_range("n_heads", n_heads, 1, kMaxHeads);
  in_range("d_head", d_head, 1, kMaxWidth);
  // Word vectors alone (a static embedding) have no layers, and nothing that layers have.
  const bool words_alone = !norm && feed_forward == FeedForward::none && n_heads == 1;
  in_range("n_layers", n_layers, words_alone ? 0 : 1, kMaxLayers);
  in_range("n_heads · d_head", d_query(), 1, kMaxWidth);
  in_range("n_kv_heads", n_kv_heads, 1, n_heads);
  if (n_heads % n_kv_heads != 0) fail("n_kv_heads", "a divisor of n_heads " + std::to_string(n_heads), n_kv_heads);
  in_range("vocab_size", vocab_size, 1, kMaxRows);
  in_range("max_positions", max_positions, 0, kMaxRows / 2);
  in_range("type_vocab_size", type_vocab_size, 0, kMaxRows);
  in_range("embedding_size", embedding_size, 0, kMaxWidth);
  if (feed_forward == FeedForward::none)
    in_range("d_ff", d_ff, 0, 0);
  else
    in_range("d_ff", d_ff, 1, kMaxWidth);
  in_range("score_parts", score_parts, 1, 3);
  if (norm && !(norm->eps > 0.0 && norm->eps <= kLargestEpsilon))
    throw_model("config: norm.eps: expected a number above 0, at most 1, got another");
  if (!norm && (embedding_norm || final_norm)) fail("embedding_norm and final_norm", "false where there is no norm", 1);
  if (!std::isfinite(embedding_scale)) throw_model("config: embedding_scale: expected a finite number, got another");
  validate_positions(*this);
  validate_layers(*this);
}

}  // namespace mha
