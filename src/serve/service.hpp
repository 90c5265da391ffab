#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_error.hpp"
#include "serve/engine.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/served_model.hpp"

namespace mha::serve {

class Service;
struct Call;

struct ServiceSettings {
  std::string version;
  std::string model;              ///< its name, for people
  std::string served_model_name;  ///< empty: the model's own name
  std::size_t max_concurrent_requests = 512;
  std::size_t max_client_batch_size = 10000;
  std::size_t max_batch_requests = 0;      ///< 0: no limit
  std::size_t max_batch_tokens = 0;        ///< of a micro-batch; 0: what fits the cache
  std::size_t payload_limit = 16U << 20U;  ///< bytes of a body
  bool auto_truncate = true;
  std::size_t threads = 1;
  std::vector<std::string> api_keys;      ///< any of them is accepted; none: nobody is asked
  std::vector<std::string> cors_origins;  ///< `*` for all
};

/// One route: the method and the path, whose errors it speaks, and what it does.
struct Route {
  std::string_view method;
  std::string_view path;
  Dialect dialect;
  enum class Access { open, keyed } access;
  /// What must be there before the route can answer.
  enum class Needs { nothing, model } needs;
  void (*run)(const std::shared_ptr<Call>& call);
};

/// All routes, in the order of their documentation.
std::span<const Route> routes();

/// A request on its way through a route.
struct Call : std::enable_shared_from_this<Call> {
  using Clock = std::chrono::steady_clock;

  Call(Service& s, std::shared_ptr<Exchange> e, const Route& r);
  ~Call();

  /// The body as an object of fields; parsed at the first call.
  Fields& fields();
  /// Sends the answer with the headers that every answer has.
  void answer(Response response);
  void fail(const ApiError& error);
  /// Gives the job to the engine, and cancels it when the client leaves.
  void submit(std::shared_ptr<Job> job);
  /// Sets how much memory the request is counted with. Throws ApiError 429.
  void hold(std::size_t bytes);

  Service& service;
  std::shared_ptr<Exchange> exchange;
  const Route& route;
  Clock::time_point begin = Clock::now();
  nlohmann::json body;
  std::optional<Fields> root;
  std::vector<std::string> ignored;  ///< keys of the body that the route does not read
  bool batch = false;                ///< the request has a list of inputs
};

/// Routes requests, guards limits, and makes errors of what is thrown.
class Service : public HttpHandler {
 public:
  Service(ServiceSettings settings, MemoryBudget& memory);
  ~Service() override;

  // HttpHandler
  std::optional<Response> screen(const RequestHead& head) override;
  void handle(std::shared_ptr<Exchange> exchange) override;
  Response refuse(const RequestHead& head, unsigned status, std::string_view why) override;

  /// From now on requests reach the model. `engine` and `model` must outlive the network thread.
  void open(Engine& engine, ServedModel& model);
  /// From now on the server is not healthy, but requests are still answered.
  void start_draining() { draining_ = true; }

  const ServiceSettings& settings() const { return settings_; }
  ServedModel& model() { return *model_; }
  Engine& engine() { return *engine_; }
  Metrics& metrics() { return *metrics_; }
  bool ready() const { return ready_ && !draining_; }
  std::string model_name() const;
  /// Seconds since 1970.
  long started() const { return started_; }
  std::string metrics_text();
  std::function<std::size_t()> connections;  ///< how many are open

 private:
  friend struct Call;
  void run(const std::shared_ptr<Call>& call);
  void add_headers(const RequestHead& head, Response& response);
  bool allowed(const RequestHead& head) const;
  const Route* find(const RequestHead& head, std::string* methods) const;

  struct Helper;
  ServiceSettings settings_;
  MemoryBudget& memory_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Helper> helper_;
  Engine* engine_ = nullptr;
  ServedModel* model_ = nullptr;
  long started_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
  std::atomic<std::size_t> requests_{0};
  std::atomic<std::uint64_t> request_number_{0};
};

/// A job that answers one call.
class CallJob : public Job {
 public:
  explicit CallJob(std::shared_ptr<Call> c) : call(std::move(c)) {}
  void render(JobInput& input) final;
  void finish() final;

  std::shared_ptr<Call> call;
  bool record_errors = false;  ///< `on_error: record`: a bad input has an error in its place
  bool predicts = false;       ///< labels or scores, not vectors
  std::size_t characters = 0;  ///< of all texts
  Call::Clock::time_point prepared;

 protected:
  /// Makes what the answer needs of a good input, and lets go of the rest.
  virtual void render_good(JobInput& input) = 0;
  /// The answer, once all inputs were rendered.
  virtual void compose(Response& response) = 0;
};

}  // namespace mha::serve
