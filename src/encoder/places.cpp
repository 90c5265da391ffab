#include "encoder/places.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "ops/convert.hpp"

namespace mha {
namespace {

using Need = PlaceNeed;

PlaceArrays array(const Weight& weight) { return {&weight, nullptr}; }
PlaceArrays linear(const LinearWeights& linear) { return {&linear.weight, &linear.bias}; }
PlaceArrays norm(const NormWeights& norm) { return {&norm.gamma, &norm.beta}; }
const AttentionWeights& attention(const Weights& w, std::size_t layer) { return w.layers[layer].attention; }
const FeedForwardWeights& feed_forward(const Weights& w, std::size_t layer) { return w.layers[layer].feed_forward; }

Need norm_need(const ModelConfig& c, bool there, std::size_t width, bool bias = true) {
  if (!there || !c.norm) return {};
  return {{width}, bias && c.norm->kind == NormKind::layer_norm};
}

Need bias_table(const ModelConfig& c, bool there) {
  if (!there) return {};
  return {{std::max(c.position.relative_table_rows, c.position.relative_buckets), c.n_heads}};
}

bool has_feed_forward(const ModelConfig& c) { return c.feed_forward != ModelConfig::FeedForward::none; }

/// True if positions have projections of their own (DeBERTa without shared keys).
bool projects_positions(const ModelConfig& c) { return c.position.disentangled && !c.position.disentangled->share_key; }

/// The name of an array of a place, for a file in mha-json's spelling.
std::string array_name(const PlaceInfo& place, std::size_t layer, const char* part) {
  std::string name = place.in_layer ? "layers." + std::to_string(layer) + "." : "";
  name += place.name;
  return name + "." + part;
}

/// Calls `visit(place, layer)` for every place of every layer, in the order of the forward pass.
template <class Visit>
void for_each_place(std::size_t layers, const Visit& visit) {
  const auto& all = places();
  const auto in_layer = [](const PlaceInfo& place) { return place.in_layer; };
  const auto first = std::find_if(all.begin(), all.end(), in_layer);
  const auto last = std::find_if_not(first, all.end(), in_layer);
  for (auto place = all.begin(); place != first; ++place) visit(*place, std::size_t{0});
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (auto place = first; place != last; ++place) visit(*place, layer);
  }
  for (auto place = last; place != all.end(); ++place) visit(*place, std::size_t{0});
}

void check_array(const Weight& weight, const std::string& name, const Shape& shape, bool may_be_int8, bool required) {
  if (!weight.present() && !required) return;
  const std::string subject = "weights: tensor " + (weight.name.empty() ? name : weight.name) + ": ";
  if (!weight.present()) throw_model(subject + "expected shape " + shape_text(shape) + ", got no such tensor");
  const std::string fault = array_fault(weight, shape, may_be_int8);
  if (!fault.empty()) throw_model(subject + fault);
}

}  // namespace

const std::array<PlaceInfo, kPlaces>& places() {
  using C = const ModelConfig&;
  using W = const Weights&;
  using L = std::size_t;
  static const std::array<PlaceInfo, kPlaces> table{{
      {.place = Place::word,
       .name = "embeddings.word",
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.vocab_size, c.word_width()}};
           },
       .arrays = [](W w, L) { return array(w.embeddings.word); }},
      {.place = Place::position,
       .name = "embeddings.position",
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return c.position.learned ? Need{{c.position_rows(), c.position_width()}} : Need{};
           },
       .arrays = [](W w, L) { return array(w.embeddings.position); }},
      {.place = Place::token_type,
       .name = "embeddings.token_type",
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return c.type_vocab_size > 0 ? Need{{c.type_vocab_size, c.position_width()}} : Need{};
           },
       .arrays = [](W w, L) { return array(w.embeddings.token_type); }},
      {.place = Place::embedding_projection,
       .name = "embeddings.projection",
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return c.factorised() ? Need{{c.d_model, c.embedding_size}, c.embedding_projection_bias} : Need{};
           },
       .arrays = [](W w, L) { return linear(w.embeddings.projection); }},
      {.place = Place::embedding_norm,
       .name = "embeddings.norm",
       .norm = true,
       .need = [](C c, L) { return norm_need(c, c.embedding_norm, c.embedding_norm_width(), c.norm_bias); },
       .arrays = [](W w, L) { return norm(w.embeddings.norm); }},
      {.place = Place::relative_bias,
       .name = "relative_bias",
       .need = [](C c, L) { return bias_table(c, c.position.relative_bias && !c.position.relative_bias_per_layer); },
       .arrays = [](W w, L) { return array(w.relative_bias); }},
      {.place = Place::relative_table,
       .name = "relative_table",
       .need =
           [](C c, L) {
             return c.position.disentangled ? Need{{2 * c.position.disentangled->span(), c.d_model}} : Need{};
           },
       .arrays = [](W w, L) { return array(w.relative_table); }},
      {.place = Place::relative_norm,
       .name = "relative_norm",
       .norm = true,
       .need =
           [](C c, L) {
             return norm_need(c, c.position.disentangled && c.position.disentangled->norm_table, c.d_model);
           },
       .arrays = [](W w, L) { return norm(w.relative_norm); }},
      {.place = Place::convolution,
       .name = "convolution",
       .need =
           [](C c, L) {
             if (!c.convolution) return Need{};
             return Need{{c.d_model, c.d_model / c.convolution->groups, c.convolution->kernel}, true};
           },
       .arrays = [](W w, L) { return linear(w.convolution); }},
      {.place = Place::convolution_norm,
       .name = "convolution_norm",
       .norm = true,
       .need = [](C c, L) { return norm_need(c, c.convolution.has_value(), c.d_model); },
       .arrays = [](W w, L) { return norm(w.convolution_norm); }},
      {.place = Place::query,
       .name = "attention.query",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.d_query(), c.d_model}, c.attention_bias};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).query); }},
      {.place = Place::key,
       .name = "attention.key",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.d_key_value(), c.d_model}, c.attention_bias};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).key); }},
      {.place = Place::value,
       .name = "attention.value",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.d_key_value(), c.d_model}, c.attention_bias};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).value); }},
      {.place = Place::position_key,
       .name = "attention.position_key",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             const bool there = projects_positions(c) && c.position.disentangled->content_to_position;
             return there ? Need{{c.d_query(), c.d_model}, true} : Need{};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).position_key); }},
      {.place = Place::position_query,
       .name = "attention.position_query",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             const bool there = projects_positions(c) && c.position.disentangled->position_to_content;
             return there ? Need{{c.d_query(), c.d_model}, true} : Need{};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).position_query); }},
      {.place = Place::layer_relative_bias,
       .name = "attention.relative_bias",
       .in_layer = true,
       .need = [](C c, L) { return bias_table(c, c.position.relative_bias && c.position.relative_bias_per_layer); },
       .arrays = [](W w, L l) { return array(attention(w, l).relative_bias); }},
      {.place = Place::attention_output,
       .name = "attention.output",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.d_model, c.d_query()}, c.attention_output_bias};
           },
       .arrays = [](W w, L l) { return linear(attention(w, l).output); }},
      {.place = Place::attention_norm,
       .name = "attention.norm",
       .in_layer = true,
       .norm = true,
       .need = [](C c, L l) { return norm_need(c, l > 0 || c.first_attention_norm, c.d_model, c.norm_bias); },
       .arrays = [](W w, L l) { return norm(attention(w, l).norm); }},
      {.place = Place::feed_forward_in,
       .name = "feed_forward.in",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return has_feed_forward(c) ? Need{{c.d_ff, c.d_model}, c.feed_forward_bias} : Need{};
           },
       .arrays = [](W w, L l) { return linear(feed_forward(w, l).in); }},
      {.place = Place::feed_forward_gate,
       .name = "feed_forward.gate",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return c.gated() ? Need{{c.d_ff, c.d_model}, c.feed_forward_bias} : Need{};
           },
       .arrays = [](W w, L l) { return linear(feed_forward(w, l).gate); }},
      {.place = Place::feed_forward_out,
       .name = "feed_forward.out",
       .in_layer = true,
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return has_feed_forward(c) ? Need{{c.d_model, c.d_ff}, c.feed_forward_output_bias} : Need{};
           },
       .arrays = [](W w, L l) { return linear(feed_forward(w, l).out); }},
      {.place = Place::feed_forward_norm,
       .name = "feed_forward.norm",
       .in_layer = true,
       .norm = true,
       .need = [](C c, L) { return norm_need(c, has_feed_forward(c), c.d_model, c.norm_bias); },
       .arrays = [](W w, L l) { return norm(feed_forward(w, l).norm); }},
      {.place = Place::final_norm,
       .name = "final_norm",
       .norm = true,
       .need = [](C c, L) { return norm_need(c, c.final_norm, c.d_model, c.norm_bias); },
       .arrays = [](W w, L) { return norm(w.final_norm); }},
      {.place = Place::pooler,
       .name = "pooler",
       .may_be_int8 = true,
       .need =
           [](C c, L) {
             return Need{{c.d_model, c.d_model}, true, false};
           },
       .arrays = [](W w, L) { return linear(w.pooler); }},
  }};
  return table;
}

const PlaceInfo& info_of(Place place) { return places()[static_cast<std::size_t>(place)]; }

std::string array_fault(const Weight& weight, const Shape& shape, bool may_be_int8) {
  const TensorView& view = weight.view;
  if (view.shape != shape) {
    return "expected shape " + shape_text(shape) + " (from the configuration), got " + shape_text(view.shape);
  }
  const std::string type(name_of(view.dtype));
  if (view.dtype != DType::i8 || !may_be_int8) {
    if (is_float_type(view.dtype)) return "";
    return "expected weights of type F32, F16, BF16 or F64, got " + type;
  }
  const TensorView& scale = weight.scale;
  if (scale.data == nullptr)
    return "expected float weights, or I8 with a tensor " + weight.name + ".scale, got I8 alone";
  const Shape rows{shape[0]};
  if (scale.dtype == DType::f32 && scale.shape == rows) return "";
  return "expected " + weight.name + ".scale of F32 " + shape_text(rows) + ", got " +
         std::string(name_of(scale.dtype)) + " " + shape_text(scale.shape);
}

void check_shapes(const ModelConfig& config, const Weights& weights) {
  if (weights.layers.size() < config.distinct_layers()) {
    throw_model("weights: expected " + std::to_string(config.distinct_layers()) + " layers, got " +
                std::to_string(weights.layers.size()));
  }
  for_each_place(config.distinct_layers(), [&](const PlaceInfo& place, std::size_t layer) {
    const PlaceNeed need = place.need(config, layer);
    if (need.weight.empty()) return;
    const PlaceArrays arrays = place.arrays(weights, layer);
    check_array(*arrays.weight, array_name(place, layer, "weight"), need.weight, place.may_be_int8, need.required);
    if (need.bias) check_array(*arrays.bias, array_name(place, layer, "bias"), {need.weight[0]}, false, false);
  });
}

std::vector<std::pair<std::string, const Weight*>> named_weights(const Weights& weights) {
  std::vector<std::pair<std::string, const Weight*>> list;
  for_each_place(weights.layers.size(), [&](const PlaceInfo& place, std::size_t layer) {
    const PlaceArrays arrays = place.arrays(weights, layer);
    if (arrays.weight->present()) list.emplace_back(array_name(place, layer, "weight"), arrays.weight);
    if (arrays.bias != nullptr && arrays.bias->present())
      list.emplace_back(array_name(place, layer, "bias"), arrays.bias);
  });
  return list;
}

}  // namespace mha
