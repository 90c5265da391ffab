#include "model/families/bind_weights.hpp"

#include <cstring>

#include "model/families/array_finder.hpp"

namespace mha {
namespace {

/// The prefix of a layer's names: `{}` becomes its number, or its group's number and its place in the group.
std::string layer_prefix(const WeightNames& names, std::size_t layer) {
  std::string prefix;
  const bool grouped = names.layer.find("{}") != names.layer.rfind("{}");
  bool first = true;
  for (std::size_t i = 0; i < names.layer.size(); ++i) {
    if (names.layer.compare(i, 2, "{}") != 0) {
      prefix += names.layer[i];
      continue;
    }
    if (!grouped)
      prefix += std::to_string(layer);
    else
      prefix += std::to_string(first ? layer / names.layers_in_group : layer % names.layers_in_group);
    first = false;
    ++i;
  }
  return prefix;
}

/// Rows [begin, begin + count) of an array, as an array of its own.
Weight rows_of(const Weight& whole, std::size_t begin, std::size_t count) {
  Weight part = whole;
  if (!whole.present()) return part;
  part.view.shape[0] = count;
  part.view.data += begin * (whole.view.bytes() / whole.rows());
  if (whole.scale.data != nullptr) {
    part.scale.shape[0] = count;
    part.scale.data += begin * sizeof(float);
  }
  return part;
}

LinearWeights rows_of(const LinearWeights& whole, std::size_t begin, std::size_t count) {
  return {rows_of(whole.weight, begin, count), rows_of(whole.bias, begin, count)};
}

/// Fills the places of a `Weights` one by one.
class WeightBinder {
 public:
  WeightBinder(const FamilyModel& family, const WeightSource& source)
      : c_(family.config), n_(family.names), find_(n_, source) {}

  Weights bind();
  const ArrayFinder& finder() const { return find_; }

 private:
  void fill(const PlaceInfo& place, Weights& weights, std::size_t layer);
  void fill_packed_attention(AttentionWeights& attention, const std::string& prefix);
  void fill_packed_feed_forward(FeedForwardWeights& feed_forward, const std::string& prefix);
  LinearWeights gathered_by_head(const LinearWeights& packed, std::size_t which);

  const ModelConfig& c_;
  const WeightNames& n_;
  ArrayFinder find_;
};

/// A place of a layer with the layer's prefix before each spelling.
std::string in_layer(const std::string& prefix, std::string_view place) {
  std::string full;
  for (std::string_view spelling : spellings(place)) full += (full.empty() ? "" : "|") + prefix + std::string(spelling);
  return full;
}

/// Places that a packed array fills.
bool is_packed(const WeightNames& names, Place place) {
  switch (place) {
    case Place::query:
    case Place::key:
    case Place::value:
      return !names.packed_qkv.empty();
    case Place::feed_forward_in:
    case Place::feed_forward_gate:
      return !names.packed_gate_in.empty() || !names.packed_in_gate.empty();
    default:
      return false;
  }
}

Weights WeightBinder::bind() {
  Weights weights;
  weights.layers.resize(c_.distinct_layers());
  for (const PlaceInfo& place : places()) {
    if (!place.in_layer) fill(place, weights, 0);
  }
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const std::string prefix = layer_prefix(n_, layer);
    if (is_packed(n_, Place::query)) fill_packed_attention(weights.layers[layer].attention, prefix);
    if (is_packed(n_, Place::feed_forward_in) && c_.gated())
      fill_packed_feed_forward(weights.layers[layer].feed_forward, prefix);
    for (const PlaceInfo& place : places()) {
      if (place.in_layer && !is_packed(n_, place.place)) fill(place, weights, layer);
    }
  }
  weights.owner = find_.owner();
  return weights;
}

void WeightBinder::fill(const PlaceInfo& place, Weights& weights, std::size_t layer) {
  const PlaceNeed need = place.need(c_, layer);
  if (need.weight.empty()) return;
  const std::string_view spelled = n_[place.place];
  const std::string name = place.in_layer ? in_layer(layer_prefix(n_, layer), spelled) : std::string(spelled);
  if (!need.required && (name.empty() || !find_.has(name))) return;
  const PlaceArrays arrays = place.arrays(weights, layer);
  // `weights` may be written: the table reads as well, so it speaks of constant arrays.
  auto& weight = const_cast<Weight&>(*arrays.weight);
  weight = place.norm ? find_.take(name, {"weight", "gamma"}, need.weight, true)
                      : find_.take(name, {"weight"}, need.weight, true, place.may_be_int8);
  const bool bias = need.bias && (place.place != Place::position_key || n_.position_key_bias);
  if (!bias) return;
  const_cast<Weight&>(*arrays.bias) = place.norm
                                          ? find_.take(name, {"bias", "beta"}, {need.weight[0]}, !n_.biases_optional)
                                          : find_.take(name, {"bias"}, {need.weight[0]}, !n_.biases_optional);
}

/// Rows of `which` (0 query, 1 key, 2 value) out of an array that is packed head by head, copied together.
LinearWeights WeightBinder::gathered_by_head(const LinearWeights& packed, std::size_t which) {
  const Weight& whole = packed.weight;
  const std::size_t block = c_.d_head * (whole.view.bytes() / whole.rows());
  std::byte* const buffer = find_.new_buffer(c_.n_heads * block);
  for (std::size_t head = 0; head < c_.n_heads; ++head) {
    std::memcpy(buffer + head * block, whole.view.data + (3 * head + which) * block, block);
  }
  LinearWeights part;
  part.weight = rows_of(whole, 0, c_.d_query());
  part.weight.view.data = buffer;
  if (whole.scale.data != nullptr) {
    std::byte* const scales = find_.new_buffer(c_.d_query() * sizeof(float));
    for (std::size_t head = 0; head < c_.n_heads; ++head) {
      std::memcpy(scales + head * c_.d_head * sizeof(float),
                  whole.scale.data + (3 * head + which) * c_.d_head * sizeof(float), c_.d_head * sizeof(float));
    }
    part.weight.scale.data = scales;
  }
  return part;
}

void WeightBinder::fill_packed_attention(AttentionWeights& a, const std::string& prefix) {
  const std::size_t d_query = c_.d_query();
  const std::size_t d_key = c_.d_key_value();
  const bool own_biases = !n_.query_bias.empty();
  const LinearWeights packed =
      find_.linear(in_layer(prefix, n_.packed_qkv), d_query + 2 * d_key, c_.d_model, c_.attention_bias && !own_biases);
  if (n_.packed_by_head) {
    a.query = gathered_by_head(packed, 0);
    a.key = gathered_by_head(packed, 1);
    a.value = gathered_by_head(packed, 2);
  } else {
    a.query = rows_of(packed, 0, d_query);
    a.key = rows_of(packed, d_query, d_key);
    a.value = rows_of(packed, d_query + d_key, d_key);
  }
  if (own_biases) {
    a.query.bias = find_.take(in_layer(prefix, n_.query_bias), {"bias"}, {d_query}, true);
    a.value.bias = find_.take(in_layer(prefix, n_.value_bias), {"bias"}, {d_key}, true);
  }
}

void WeightBinder::fill_packed_feed_forward(FeedForwardWeights& f, const std::string& prefix) {
  const bool gate_first = !n_.packed_gate_in.empty();
  const std::string name = in_layer(prefix, gate_first ? n_.packed_gate_in : n_.packed_in_gate);
  const LinearWeights packed = find_.linear(name, 2 * c_.d_ff, c_.d_model, c_.feed_forward_bias);
  f.gate = rows_of(packed, gate_first ? 0 : c_.d_ff, c_.d_ff);
  f.in = rows_of(packed, gate_first ? c_.d_ff : 0, c_.d_ff);
}

}  // namespace

Weights bind_weights(const FamilyModel& family, const WeightSource& source, std::vector<std::string>& unused) {
  WeightBinder binder(family, source);
  Weights weights = binder.bind();
  binder.finder().leave_unused(unused);
  return weights;
}

std::string unused_layers(const FamilyModel& family, const WeightSource& source) {
  if (family.names.layer.empty()) return "";
  const std::size_t layers = family.config.distinct_layers();
  const ArrayFinder find(family.names, source);
  const std::string next = std::string(find.encoder_prefix()) + layer_prefix(family.names, layers);
  for (const std::string& name : source.names()) {
    if (!name.starts_with(next)) continue;
    return source.place(name) + ": tensor " + name + ": expected " + std::to_string(layers) +
           " layers, as the configuration says, got more; those above are not used";
  }
  return "";
}

}  // namespace mha
