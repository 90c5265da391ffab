#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/families/family.hpp"

namespace mha {
namespace {

using nlohmann::json;
using Sinusoidal = PositionConfig::Sinusoidal;
using Rotary = PositionConfig::Rotary;

template <typename Value>
struct Spelling {
  std::string_view name;
  Value value;
};

constexpr Spelling<Sinusoidal> kSinusoidal[] = {{"interleaved", Sinusoidal::interleaved},
                                                {"halves", Sinusoidal::halves}};
constexpr Spelling<Rotary> kRotary[] = {{"halves", Rotary::halves}, {"pairs", Rotary::pairs}};
constexpr Spelling<NormKind> kNormKinds[] = {{"layer_norm", NormKind::layer_norm}, {"rms_norm", NormKind::rms_norm}};
constexpr Spelling<NormOrder> kNormOrders[] = {{"post", NormOrder::post}, {"pre", NormOrder::pre}};
constexpr Spelling<ModelConfig::FeedForward> kFeedForwards[] = {{"two_layer", ModelConfig::FeedForward::two_layer},
                                                                {"gated", ModelConfig::FeedForward::gated}};
constexpr Spelling<ModelConfig::Projection> kProjections[] = {{"after_lookup", ModelConfig::Projection::after_lookup},
                                                              {"after_sum", ModelConfig::Projection::after_sum},
                                                              {"after_norm", ModelConfig::Projection::after_norm}};

template <typename Value, std::size_t N>
Value choice(ConfigReader& read, std::string_view key, const Spelling<Value> (&table)[N], std::string_view fallback) {
  const std::string name = read.text_or(key, {key}, fallback);
  std::string all;
  for (const Spelling<Value>& spelling : table) {
    if (spelling.name == name) return spelling.value;
    all += (all.empty() ? "" : ", ") + std::string(spelling.name);
  }
  read.fail(key, all, "\"" + name + "\"");
}

template <typename Value, std::size_t N>
std::string spelled(Value value, const Spelling<Value> (&table)[N]) {
  return std::string(
      std::find_if(std::begin(table), std::end(table), [value](const auto& s) { return s.value == value; })->name);
}

void refuse_unknown(const ConfigReader& read) {
  if (const auto unknown = read.unread(); !unknown.empty()) read.fail(unknown.front(), "a known key", "an unknown one");
}

void read_position(const json& object, const std::string& file, std::vector<Decision>& decisions, PositionConfig& p) {
  ConfigReader read(object, file, decisions, "config.position.");
  const std::string kind = read.text_or("position", {"kind"}, "none");
  if (kind == "sinusoidal") {
    p.sinusoidal = choice(read, "layout", kSinusoidal, "interleaved");
  } else if (kind == "learned") {
    p.learned = true;
    p.learned_offset = read.size_or("offset", {"offset"}, 0, 0);
    p.learned_padding_id = read.token_id("padding_id", {"padding_id"});
    p.learned_padding_row = read.size_or("padding_row", {"padding_row"}, 0, 0);
  } else if (kind == "relative_bias") {
    p.relative_bias = true;
    p.relative_buckets = read.size_or("buckets", {"buckets"}, 32, 4);
    p.relative_max_distance = read.size_or("max_distance", {"max_distance"}, 128, 2);
    p.relative_table_rows = read.size_or("table_rows", {"table_rows"}, 0, 0);
    p.relative_bias_per_layer = read.flag_or("per_layer", {"per_layer"}, false);
  } else if (kind == "rotary") {
    p.rotary = choice(read, "layout", kRotary, "halves");
    p.rotary_base = read.positive_or("base", {"base"}, 10000.0);
    p.rotary_base_local = read.positive_or("base_local", {"base_local"}, 10000.0);
    p.rotary_divisor = read.positive_or("divisor", {"divisor"}, 1.0);
    p.rotary_width = read.size_or("width", {"width"}, 0, 0);
    p.rotary_value = read.flag_or("value", {"value"}, false);
  } else if (kind == "alibi") {
    p.alibi = true;
  } else if (kind == "disentangled") {
    PositionConfig::Disentangled d;
    d.content_to_position = read.flag_or("content_to_position", {"content_to_position"}, false);
    d.position_to_content = read.flag_or("position_to_content", {"position_to_content"}, false);
    d.buckets = read.size_or("buckets", {"buckets"}, 0, 0);
    d.max_distance = read.size("max_distance", {"max_distance"});
    d.share_key = read.flag_or("share_key", {"share_key"}, false);
    d.norm_table = read.flag_or("norm_table", {"norm_table"}, false);
    p.disentangled = d;
  } else if (kind != "none") {
    read.fail("kind", "sinusoidal, learned, relative_bias, rotary, alibi, disentangled or none", "\"" + kind + "\"");
  }
  refuse_unknown(read);
}

/// One object, or a list of them where several kinds hold.
void read_positions(ConfigReader& read, std::vector<Decision>& decisions, PositionConfig& p) {
  const json* position = read.find("position");
  if (position == nullptr) return;
  if (!position->is_array()) return read_position(*position, read.file(), decisions, p);
  for (const json& one : *position) read_position(one, read.file(), decisions, p);
}

void read_norm(ConfigReader& outer, const json& config, std::vector<Decision>& decisions, ModelConfig& c) {
  outer.harmless({"norm"});
  auto it = config.find("norm");
  if (it == config.end()) return;
  if (it->is_null()) {
    c.norm.reset();
    return outer.note("norm", "none", outer.file() + ": config.norm");
  }
  ConfigReader read(*it, outer.file(), decisions, "config.norm.");
  c.norm->kind = choice(read, "kind", kNormKinds, "layer_norm");
  c.norm->order = choice(read, "order", kNormOrders, "post");
  c.norm->eps = read.epsilon_or("layer_norm_eps", {"eps"}, 1e-5);
  refuse_unknown(read);
}

void read_feed_forward(ConfigReader& outer, const json& config, std::vector<Decision>& decisions, ModelConfig& c) {
  outer.harmless({"feed_forward"});
  auto it = config.find("feed_forward");
  if (it == config.end() && c.d_ff > 0) return;
  if (it == config.end() || it->is_null()) {
    c.feed_forward = ModelConfig::FeedForward::none;
    c.d_ff = 0;
    return outer.note("feed_forward", "none", outer.file() + ": config.feed_forward");
  }
  ConfigReader read(*it, outer.file(), decisions, "config.feed_forward.");
  c.feed_forward = choice(read, "kind", kFeedForwards, "two_layer");
  if (read.has("activation")) c.activation = read.activation_or("activation", {"activation"}, "relu");
  refuse_unknown(read);
  if (c.d_ff == 0) outer.fail("d_ff", "a width above 0 where there is a feed_forward", "0");
}

std::vector<std::size_t> numbers(ConfigReader& read, std::string_view key, std::size_t least_size) {
  std::vector<std::size_t> list;
  const json* value = read.find(key);
  if (value == nullptr) return list;
  if (!value->is_array() || value->size() != least_size) {
    read.fail(key, "a list of n_layers " + std::to_string(least_size) + " numbers", value->dump().substr(0, 60));
  }
  for (const json& number : *value) {
    const bool whole = number.is_number_integer() && number >= 0 && number <= 1000000;
    if (!whole) read.fail(key, "whole numbers", number.dump().substr(0, 60));
    list.push_back(number.get<std::size_t>());
  }
  return list;
}

ModelConfig config(ConfigReader& read) {
  const json& object = read.object();
  std::vector<Decision> nested;
  ModelConfig c;
  c.d_model = read.size("d_model", {"d_model"});
  c.n_layers = read.size("n_layers", {"n_layers"});
  c.n_heads = read.size("n_heads", {"n_heads"});
  c.n_kv_heads = read.size_or("n_kv_heads", {"n_kv_heads"}, c.n_heads);
  if (const auto d_head = read.optional_size("d_head", {"d_head"})) {
    c.d_head = *d_head;
  } else {
    read.check_heads(c.d_model, "d_model", c.n_heads, "n_heads");
    c.d_head = c.d_model / c.n_heads;
    read.note("d_head", std::to_string(c.d_head), "assumed: d_model / n_heads");
  }
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size_or("max_positions", {"max_positions"}, 0, 0);
  c.d_ff = read.size_or("d_ff", {"d_ff"}, 0, 0);
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 0, 0);
  c.embedding_size = read.size_or("embedding_size", {"embedding_size"}, 0, 0);
  read_positions(read, nested, c.position);
  read_norm(read, object, nested, c);
  c.activation = read.activation_or("activation", {"activation"}, "relu");
  read_feed_forward(read, object, nested, c);
  c.norm_bias = read.flag_or("norm_bias", {"norm_bias"}, true);
  c.embedding_norm = read.flag_or("embedding_norm", {"embedding_norm"}, false);
  c.embedding_projection = choice(read, "embedding_projection", kProjections, "after_norm");
  c.embedding_projection_bias = read.flag_or("embedding_projection_bias", {"embedding_projection_bias"}, true);
  c.first_attention_norm = read.flag_or("first_attention_norm", {"first_attention_norm"}, true);
  c.final_norm = read.flag_or("final_norm", {"final_norm"}, false);
  c.residual = read.flag_or("residual", {"residual"}, true);
  const bool bias = read.flag_or("bias", {"bias"}, true);
  c.attention_bias = read.flag_or("attention_bias", {"attention_bias"}, bias);
  c.attention_output_bias = read.flag_or("attention_output_bias", {"attention_output_bias"}, bias);
  c.feed_forward_bias = read.flag_or("feed_forward_bias", {"feed_forward_bias"}, bias);
  c.feed_forward_output_bias = read.flag_or("feed_forward_output_bias", {"feed_forward_output_bias"}, bias);
  const bool scaled = read.flag_or("scale_embedding", {"scale_embedding"}, false);
  const double scale = scaled ? std::sqrt(static_cast<double>(c.d_model)) : 1.0;
  c.embedding_scale = static_cast<float>(read.positive_or("embedding_scale", {"embedding_scale"}, scale));
  if (read.has("zeroed_token_id")) {
    const std::int64_t zeroed = read.integer_or("zeroed_token_id", {"zeroed_token_id"}, -1);
    if (zeroed < -1) read.fail("zeroed_token_id", "a token id, or -1 for none", std::to_string(zeroed));
    c.zeroed_token_id = static_cast<std::int32_t>(zeroed);
  }
  c.scale_scores = read.flag_or("scale_scores", {"scale_scores"}, true);
  c.score_parts = read.size_or("score_parts", {"score_parts"}, 1);
  c.shared_layers = read.size_or("shared_layers", {"shared_layers"}, 0, 0);
  c.layer_weights = numbers(read, "layer_weights", c.n_layers);
  c.local_window = read.size_or("local_window", {"local_window"}, 0, 0);
  for (std::size_t local : numbers(read, "local_layers", c.n_layers)) c.local_layers.push_back(local != 0);
  if (const json* convolution = read.find("convolution")) {
    ConfigReader inner(*convolution, read.file(), nested, "config.convolution.");
    ConvolutionConfig one;
    one.kernel = inner.size_or("convolution_kernel", {"kernel"}, 3);
    one.groups = inner.size_or("convolution_groups", {"groups"}, 1);
    one.activation = inner.activation_or("convolution_activation", {"activation"}, "tanh");
    c.convolution = one;
    refuse_unknown(inner);
  }
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.harmless({"pooling", "normalize"});  // of the sentence vector: not the encoder's
  refuse_unknown(read);
  for (Decision& decision : nested) read.note(decision.what, decision.value, decision.from);
  return c;
}

json position_to_json(const ModelConfig& c) {
  const PositionConfig& p = c.position;
  json list = json::array();
  if (p.sinusoidal != Sinusoidal::none)
    list.push_back({{"kind", "sinusoidal"}, {"layout", spelled(p.sinusoidal, kSinusoidal)}});
  if (p.learned) {
    json one{{"kind", "learned"}, {"offset", p.learned_offset}};
    if (p.learned_padding_id)
      one.update({{"padding_id", *p.learned_padding_id}, {"padding_row", p.learned_padding_row}});
    list.push_back(one);
  }
  if (p.relative_bias) {
    list.push_back({{"kind", "relative_bias"},
                    {"buckets", p.relative_buckets},
                    {"max_distance", p.relative_max_distance},
                    {"table_rows", p.relative_table_rows},
                    {"per_layer", p.relative_bias_per_layer}});
  }
  if (p.rotary != Rotary::none) {
    list.push_back({{"kind", "rotary"},
                    {"layout", spelled(p.rotary, kRotary)},
                    {"base", p.rotary_base},
                    {"base_local", p.rotary_base_local},
                    {"divisor", p.rotary_divisor},
                    {"width", p.rotary_width},
                    {"value", p.rotary_value}});
  }
  if (p.alibi) list.push_back({{"kind", "alibi"}});
  if (p.disentangled) {
    const auto& d = *p.disentangled;
    list.push_back({{"kind", "disentangled"},
                    {"content_to_position", d.content_to_position},
                    {"position_to_content", d.position_to_content},
                    {"buckets", d.buckets},
                    {"max_distance", d.max_distance},
                    {"share_key", d.share_key},
                    {"norm_table", d.norm_table}});
  }
  if (list.empty()) list.push_back({{"kind", "none"}});
  return list.size() == 1 ? list.front() : list;
}

}  // namespace

json config_to_json(const ModelConfig& c) {
  json out{{"d_model", c.d_model},
           {"n_heads", c.n_heads},
           {"n_layers", c.n_layers},
           {"vocab_size", c.vocab_size},
           {"max_positions", c.max_positions},
           {"d_ff", c.d_ff},
           {"position", position_to_json(c)}};
  out["norm"] = nullptr;
  if (c.norm) {
    out["norm"] = {{"kind", spelled(c.norm->kind, kNormKinds)},
                   {"order", spelled(c.norm->order, kNormOrders)},
                   {"eps", c.norm->eps}};
  }
  out["feed_forward"] = nullptr;
  if (c.feed_forward != ModelConfig::FeedForward::none) {
    out["feed_forward"] = {{"kind", spelled(c.feed_forward, kFeedForwards)}, {"activation", name_of(c.activation)}};
  }
  const ModelConfig defaults;
  const auto put = [&out](const char* key, const auto& value, const auto& fallback) {
    if (value != fallback) out[key] = value;
  };
  put("n_kv_heads", c.n_kv_heads, c.n_heads);
  if (c.d_head * c.n_heads != c.d_model) out["d_head"] = c.d_head;
  put("type_vocab_size", c.type_vocab_size, defaults.type_vocab_size);
  put("embedding_size", c.embedding_size, defaults.embedding_size);
  if (c.embedding_projection != defaults.embedding_projection)
    out["embedding_projection"] = spelled(c.embedding_projection, kProjections);
  put("embedding_projection_bias", c.embedding_projection_bias, true);
  put("norm_bias", c.norm_bias, true);
  put("embedding_norm", c.embedding_norm, false);
  put("first_attention_norm", c.first_attention_norm, true);
  put("final_norm", c.final_norm, false);
  put("residual", c.residual, true);
  put("attention_bias", c.attention_bias, true);
  put("attention_output_bias", c.attention_output_bias, true);
  put("feed_forward_bias", c.feed_forward_bias, true);
  put("feed_forward_output_bias", c.feed_forward_output_bias, true);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(c.d_model)));
  if (c.embedding_scale == root)
    out["scale_embedding"] = true;
  else
    put("embedding_scale", c.embedding_scale, 1.0F);
  if (c.zeroed_token_id) out["zeroed_token_id"] = *c.zeroed_token_id;
  put("scale_scores", c.scale_scores, true);
  put("score_parts", c.score_parts, defaults.score_parts);
  put("shared_layers", c.shared_layers, defaults.shared_layers);
  if (!c.layer_weights.empty()) out["layer_weights"] = c.layer_weights;
  put("local_window", c.local_window, defaults.local_window);
  if (!c.local_layers.empty()) {
    json local = json::array();
    for (bool is_local : c.local_layers) local.push_back(is_local ? 1 : 0);
    out["local_layers"] = local;
  }
  if (c.convolution) {
    out["convolution"] = {{"kernel", c.convolution->kernel},
                          {"groups", c.convolution->groups},
                          {"activation", name_of(c.convolution->activation)}};
  }
  if (c.pad_token_id) out["pad_token_id"] = *c.pad_token_id;
  return out;
}

namespace {

/// The names of the table of places.
WeightNames names() {
  WeightNames names{.biases_optional = true, .layer = "layers.{}."};
  for (const PlaceInfo& place : places()) names[place.place] = place.name;
  return names;
}

}  // namespace

const Family kMhaJson{
    .model_types = {"mha-json"},
    .config = config,
    .names = names(),
    .heads = {},
};

}  // namespace mha
