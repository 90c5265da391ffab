#include "serve/routes/all.hpp"

namespace mha::serve {

std::span<const Route> routes() {
  using Access = Route::Access;
  using Needs = Route::Needs;
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/embeddings", Dialect::openai, Access::keyed, Needs::model, openai_embeddings},
      {"POST", "/embeddings", Dialect::openai, Access::keyed, Needs::model, openai_embeddings},
      {"POST", "/embed", Dialect::tei, Access::keyed, Needs::model, embed},
      {"POST", "/embed_all", Dialect::tei, Access::keyed, Needs::model, embed_all},
      {"POST", "/rerank", Dialect::tei, Access::keyed, Needs::model, rerank},
      {"POST", "/v1/rerank", Dialect::openai, Access::keyed, Needs::model, rerank},
      {"POST", "/v2/rerank", Dialect::openai, Access::keyed, Needs::model, rerank},
      {"POST", "/predict", Dialect::tei, Access::keyed, Needs::model, predict},
      {"POST", "/", Dialect::tei, Access::keyed, Needs::model, root},
      {"POST", "/similarity", Dialect::tei, Access::keyed, Needs::model, similarity_route},
      {"POST", "/api/embed", Dialect::tei, Access::keyed, Needs::model, ollama_embed},
      {"POST", "/attention", Dialect::tei, Access::keyed, Needs::model, attention},
      {"POST", "/explain", Dialect::tei, Access::keyed, Needs::model, explain},
      {"POST", "/heads", Dialect::tei, Access::keyed, Needs::model, heads},
      {"POST", "/compare", Dialect::tei, Access::keyed, Needs::model, compare_route},
      {"POST", "/tokenize", Dialect::tei, Access::keyed, Needs::model, tokenize},
      {"POST", "/decode", Dialect::tei, Access::keyed, Needs::model, decode},
      {"GET", "/info", Dialect::tei, Access::keyed, Needs::model, info_route},
      {"GET", "/v1/models", Dialect::openai, Access::keyed, Needs::model, models},
      {"GET", "/v1/models/*", Dialect::openai, Access::keyed, Needs::model, model},
      {"GET", "/health", Dialect::tei, Access::open, Needs::nothing, health},
      {"GET", "/ping", Dialect::tei, Access::open, Needs::nothing, health},
      {"GET", "/ready", Dialect::tei, Access::open, Needs::nothing, ready},
      {"GET", "/metrics", Dialect::tei, Access::open, Needs::nothing, metrics},
      {"GET", "/openapi.json", Dialect::tei, Access::open, Needs::nothing, openapi},
      {"GET", "/", Dialect::tei, Access::open, Needs::nothing, studio},
  };
  return kRoutes;
}

}  // namespace mha::serve
