#include "encoder/places.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "support/random_encoder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using namespace mha;
using mha::test::error_of;

namespace {

/// A configuration with as many places as one can have.
ModelConfig wide_config() {
  ModelConfig c;
  c.family = "mha-json";
  c.d_model = 8;
  c.n_heads = c.n_kv_heads = 2;
  c.d_head = 4;
  c.n_layers = 2;
  c.d_ff = 12;
  c.vocab_size = 20;
  c.max_positions = 16;
  c.type_vocab_size = 2;
  c.position.learned = true;
  c.embedding_norm = c.final_norm = true;
  c.feed_forward = ModelConfig::FeedForward::gated;
  return c;
}

}  // namespace

TEST_CASE("the table of places is in the order of the places, each with a name of its own") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const PlaceInfo& place = places()[i];
    CHECK(static_cast<std::size_t>(place.place) == i);
    CHECK(names.insert(place.name).second);
    CHECK((place.need != nullptr && place.arrays != nullptr));
  }
}

TEST_CASE("every array that a configuration needs is named once") {
  const ModelConfig config = wide_config();
  const test::MemoryWeights source = test::random_weights(config, 3);
  const Weights weights = test::bound(config, source);
  CHECK_NOTHROW(check_shapes(config, weights));
  std::set<std::string> names;
  for (const auto& [name, weight] : named_weights(weights)) CHECK(names.insert(name).second);
  CHECK(names.count("embeddings.word.weight") == 1);
  CHECK(names.count("layers.1.attention.query.bias") == 1);
  CHECK(names.count("layers.0.feed_forward.gate.weight") == 1);
  CHECK(names.count("final_norm.bias") == 1);
}

TEST_CASE("weights that do not fit the configuration are an error with place, expected and got") {
  const ModelConfig config = wide_config();
  const test::MemoryWeights source = test::random_weights(config, 3);
  const Weights sound = test::bound(config, source);
  Weights weights = sound;
  weights.layers[1].attention.key.weight = {};
  CHECK_THAT(error_of(ErrorKind::model, [&] { check_shapes(config, weights); }),
             Contains("layers.1.attention.key.weight: expected shape [8,8], got no such tensor"));
  weights = sound;
  weights.final_norm.gamma.view.shape = {7};
  CHECK_THAT(error_of(ErrorKind::model, [&] { check_shapes(config, weights); }), Contains("expected shape [8]"));
  weights = sound;
  weights.embeddings.word.view.dtype = DType::i64;
  CHECK_THAT(error_of(ErrorKind::model, [&] { check_shapes(config, weights); }), Contains("got I64"));
  weights = sound;
  weights.embeddings.norm.gamma.view.dtype = DType::i8;  // only matrices may be I8
  CHECK_THAT(error_of(ErrorKind::model, [&] { check_shapes(config, weights); }), Contains("got I8"));
  weights = sound;
  weights.layers.pop_back();
  CHECK_THAT(error_of(ErrorKind::model, [&] { check_shapes(config, weights); }), Contains("expected 2 layers, got 1"));
  weights = sound;
  weights.layers[0].attention.query.bias = {};  // an absent bias is zero
  CHECK_NOTHROW(check_shapes(config, weights));
}
