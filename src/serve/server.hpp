#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mha/model/model.hpp"
#include "serve/http.hpp"
#include "serve/service.hpp"
#include "serve/sockets.hpp"

namespace mha::serve {

struct ServerSettings {
  ServiceSettings service;
  HttpLimits http;
  std::size_t memory_bytes = 512U << 20U;  ///< of all requests and answers together
  std::string notify_socket;               ///< of systemd; empty: none
  double drain_seconds = 30;               ///< for answers that are on their way when the server stops
  PromptChoice prompt;                     ///< the default prompt
  std::vector<PoolingMode> pooling;        ///< empty: what the model says
};

/// A model that was read, with its header.
using LoadedModel = std::pair<ModelHeader, std::shared_ptr<const Model>>;

/// Serves until SIGTERM or SIGINT, then lets the requests that are on their way have their answers. The sockets accept
/// while `load` reads the model, and requests are told to wait. `started` is called once the model is ready.
/// Throws what `load` throws.
void serve(const ServerSettings& settings, const std::vector<Listening>& sockets,
           const std::function<LoadedModel()>& load, const std::function<void()>& started);

}  // namespace mha::serve
