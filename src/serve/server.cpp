#include "serve/server.hpp"

#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "serve/engine.hpp"
#include "serve/served_model.hpp"

namespace mha::serve {
namespace {

EngineSettings engine_settings(const ServerSettings& settings, const Model& model) {
  const ModelConfig& config = model.config();
  EngineSettings engine;
  engine.threads = settings.service.threads;
  engine.batch_tokens = settings.service.max_batch_tokens > 0
                            ? settings.service.max_batch_tokens
                            : model.encoder().backend().rows_in_cache(config.d_model, config.d_ff);
  if (settings.service.max_batch_requests > 0) engine.batch_inputs = settings.service.max_batch_requests;
  return engine;
}

}  // namespace

void serve(const ServerSettings& settings, const std::vector<Listening>& sockets,
           const std::function<LoadedModel()>& load, const std::function<void()>& started) {
  MemoryBudget memory(settings.memory_bytes);
  Service service(settings.service, memory);
  HttpLimits limits = settings.http;
  limits.body_bytes = settings.service.payload_limit;
  HttpServer http(limits, memory, service);
  service.connections = [&http] { return http.connections(); };
  // A second signal ends the requests that are on their way.
  http.on_stop_signal([&, stopping = false]() mutable {
    if (std::exchange(stopping, true)) return http.drain(0);
    service.start_draining();
    notify_systemd(settings.notify_socket, "STOPPING=1");
    http.drain(settings.drain_seconds);
  });
  for (const Listening& socket : sockets) http.listen(socket.descriptor);

  std::optional<Engine> engine;
  std::optional<ServedModel> model;
  std::atomic<bool> stopped{false};
  std::atomic<Engine*> running{nullptr};
  // The network ends first: then nobody waits for the engine any more.
  std::thread network([&] {
    http.run();
    stopped = true;
    if (Engine* const one = running) one->stop();
  });
  std::exception_ptr failure;
  try {
    LoadedModel loaded = load();
    engine.emplace(engine_settings(settings, *loaded.second), service.metrics());
    model.emplace(std::move(loaded.first), std::move(loaded.second), settings.prompt, settings.pooling, *engine);
    service.open(*engine, *model);
    running = &*engine;
    if (!stopped) {
      started();
      notify_systemd(settings.notify_socket, "READY=1");
      engine->run();
    }
  } catch (...) {
    failure = std::current_exception();
    service.start_draining();
    http.drain(0);
  }
  network.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mha::serve
