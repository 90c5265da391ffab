#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mha/encoder/config.hpp"
#include "mha/encoder/weights.hpp"

namespace mha {

using Shape = std::vector<std::size_t>;

/// The places of an encoder's weights. A place holds a weight and perhaps a bias (in a norm: gamma and beta).
enum class Place {
  word,
  position,
  token_type,
  embedding_projection,
  embedding_norm,
  relative_bias,
  relative_table,
  relative_norm,
  convolution,
  convolution_norm,
  query,
  key,
  value,
  position_key,
  position_query,
  layer_relative_bias,
  attention_output,
  attention_norm,
  feed_forward_in,
  feed_forward_gate,
  feed_forward_out,
  feed_forward_norm,
  final_norm,
  pooler,
};
inline constexpr std::size_t kPlaces = static_cast<std::size_t>(Place::pooler) + 1;

/// The arrays that a configuration needs at one place.
struct PlaceNeed {
  Shape weight;          ///< empty: the configuration has no such place
  bool bias = false;     ///< of shape [weight[0]]
  bool required = true;  ///< false: the place may be absent (pooler)
};

/// The arrays of one place in a `Weights`. `bias` is nullptr if the place never has one.
struct PlaceArrays {
  const Weight* weight = nullptr;
  const Weight* bias = nullptr;
};

/// One row of the table of places: everything that binding, checking, naming and counting share.
struct PlaceInfo {
  Place place;
  std::string_view name;     ///< as mha-json files spell it, without the layer's prefix and the last part
  bool in_layer = false;     ///< once per layer
  bool norm = false;         ///< gamma and beta instead of weight and bias
  bool may_be_int8 = false;  ///< its weight may be I8 with one scale per row
  PlaceNeed (*need)(const ModelConfig& config, std::size_t layer) = nullptr;
  PlaceArrays (*arrays)(const Weights& weights, std::size_t layer) = nullptr;
};

/// All places, in the order of the forward pass and of `Place`.
const std::array<PlaceInfo, kPlaces>& places();
const PlaceInfo& info_of(Place place);

/// The fault of an array at its place: "expected …, got …"; empty if it is right.
std::string array_fault(const Weight& weight, const Shape& shape, bool may_be_int8);

/// Throws Error{model} if an array that the configuration needs is absent, or has another shape or type. A bias may be
/// absent: it is zero.
void check_shapes(const ModelConfig& config, const Weights& weights);

/// Every array that is present, under its mha-json name ("layers.0.attention.query.weight"), in the order of the
/// forward pass. Scales of I8 arrays are not listed.
std::vector<std::pair<std::string, const Weight*>> named_weights(const Weights& weights);

}  // namespace mha
