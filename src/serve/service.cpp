#include "serve/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <fstream>
#include <mutex>
#include <new>
#include <thread>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::serve {
namespace {

constexpr std::size_t kParsedInline = 16384;  // larger bodies are parsed and tokenised by the helper
constexpr std::size_t kNamedTruncated = 64;   // indices in `x-truncated`
constexpr std::size_t kLongestRequestId = 128;

std::string milliseconds(Call::Clock::duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

double seconds(Call::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// The time does not tell how much of a key is right.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

bool printable(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return !text.empty();
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::string_view failure_reason(const ApiError& error) {
  if (error.status == 429 || error.status == 503) return "overloaded";
  if (error.status == 424) return "model_type";
  if (error.type == "Tokenizer") return "tokenization";
  if (error.message.starts_with("batch size")) return "batch_size";
  return error.status >= 500 ? "inference" : "validation";
}

ApiError from(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::input:
    case ErrorKind::usage:
      return {422, "Validation", error.what()};
    case ErrorKind::model:
      return {424, "Backend", error.what()};
    default:
      return {500, "Backend", error.what()};
  }
}

}  // namespace

/// Parses and tokenises large requests, so that the network thread does not wait for them.
struct Service::Helper {
  Helper() : thread([this] { work(); }) {}
  ~Helper() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_one();
    thread.join();
  }
  void add(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex);
      tasks.push_back(std::move(task));
    }
    changed.notify_one();
  }
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stopped || !tasks.empty(); });
        if (stopped) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool stopped = false;
  std::thread thread;
};

Call::Call(Service& s, std::shared_ptr<Exchange> e, const Route& r) : service(s), exchange(std::move(e)), route(r) {
  ++service.requests_;
}

Call::~Call() { --service.requests_; }

Fields& Call::fields() {
  if (!root) {
    hold(exchange->body().size() * (kParsedBytesPerByte + 1));
    body = parse_body(exchange->body());
    std::string().swap(exchange->body());
    root.emplace(body);
  }
  return *root;
}

void Call::hold(std::size_t bytes) {
  if (exchange->memory().resize(bytes)) return;
  if (bytes > service.memory_.limit()) {
    serve::fail(422, "Validation",
                "the request and its answer would take " + std::to_string(bytes) + " bytes of memory, more than the " +
                    std::to_string(service.memory_.limit()) + " of this server; send fewer inputs or ask for less");
  }
  serve::fail(429, "Overloaded", "the server holds as many requests as its memory allows; try again later");
}

void Call::answer(Response response) {
  response.memory = std::move(exchange->memory());
  if (!ignored.empty()) {
    std::string names;
    for (const std::string& key : ignored) {
      if (printable(key)) (names += names.empty() ? "" : ", ") += key;
    }
    if (!names.empty()) response.headers.emplace_back("x-ignored", names.substr(0, 1024));
  }
  service.add_headers(exchange->head(), response);
  exchange->answer(std::move(response));
}

void Call::fail(const ApiError& error) {
  if (route.needs == Route::Needs::model) service.metrics().failure(failure_reason(error));
  answer(error_response(route.dialect, error));
}

void Call::submit(std::shared_ptr<Job> job) {
  if (root) {
    const auto unread = root->unread();
    ignored.insert(ignored.end(), unread.begin(), unread.end());
  }
  service.metrics().request(batch);
  Engine& engine = service.engine();
  exchange->on_gone([&engine, weak = std::weak_ptr<Job>(job)] {
    if (const auto left = weak.lock()) engine.cancel(*left);
  });
  engine.submit(std::move(job));
}

Service::Service(ServiceSettings settings, MemoryBudget& memory)
    : settings_(std::move(settings)),
      memory_(memory),
      metrics_(std::make_unique<Metrics>(settings_.version, settings_.model)),
      helper_(std::make_unique<Helper>()),
      started_(static_cast<long>(std::time(nullptr))) {}

Service::~Service() = default;

void Service::open(Engine& engine, ServedModel& model) {
  engine_ = &engine;
  model_ = &model;
  ready_ = true;
}

std::string Service::model_name() const {
  return settings_.served_model_name.empty() ? settings_.model : settings_.served_model_name;
}

std::string Service::metrics_text() {
  Metrics::Levels levels;
  levels.queued_inputs = ready_ ? engine_->queued() : 0;
  levels.connections = connections ? connections() : 0;
  levels.held_bytes = memory_.used();
  levels.resident_bytes = resident_bytes();
  return metrics_->text(levels);
}

bool Service::allowed(const RequestHead& head) const {
  if (settings_.api_keys.empty()) return true;
  std::string_view sent = head.authorization;
  // Some clients send the key alone.
  for (const std::string_view scheme : {"Bearer ", "bearer "}) {
    if (sent.starts_with(scheme)) sent.remove_prefix(scheme.size());
  }
  bool found = false;
  for (const std::string& key : settings_.api_keys) found |= same_secret(sent, key);
  return found;
}

const Route* Service::find(const RequestHead& head, std::string* methods) const {
  const std::string_view method = head.method == "HEAD" ? std::string_view("GET") : std::string_view(head.method);
  for (const Route& route : routes()) {
    const bool below = route.path.ends_with("/*") &&
                       head.path.starts_with(route.path.substr(0, route.path.size() - 1)) &&
                       head.path.size() >= route.path.size();
    if (route.path != head.path && !below) continue;
    if (route.method == method) return &route;
    if (methods != nullptr) (*methods += methods->empty() ? "" : ", ") += route.method;
  }
  return nullptr;
}

void Service::add_headers(const RequestHead& head, Response& response) {
  response.headers.emplace_back("x-content-type-options", "nosniff");
  const bool keeps_id = head.request_id.size() <= kLongestRequestId && printable(head.request_id);
  response.headers.emplace_back("x-request-id",
                                keeps_id ? head.request_id : "mha-" + std::to_string(++request_number_));
  if (head.origin.empty() || settings_.cors_origins.empty()) return;
  response.headers.emplace_back("vary", "origin");
  for (const std::string& origin : settings_.cors_origins) {
    if (origin != "*" && origin != head.origin) continue;
    response.headers.emplace_back("access-control-allow-origin", origin == "*" ? origin : head.origin);
    response.headers.emplace_back("access-control-expose-headers", "x-request-id, x-truncated, x-ignored, retry-after");
    return;
  }
}

std::optional<Response> Service::screen(const RequestHead& head) {
  const auto answer = [&](Response response) {
    add_headers(head, response);
    return response;
  };
  std::string methods;
  const Route* route = find(head, &methods);
  if (head.method == "OPTIONS" && (route != nullptr || !methods.empty())) {
    Response response;
    response.status = 204;
    response.content_type.clear();
    response.headers.emplace_back("allow", methods + ", OPTIONS");
    response.headers.emplace_back("access-control-allow-methods", methods);
    if (!head.requested_headers.empty()) {
      response.headers.emplace_back("access-control-allow-headers", utf8::printable(head.requested_headers, 1024));
    }
    response.headers.emplace_back("access-control-max-age", "600");
    return answer(std::move(response));
  }
  const Dialect dialect = route != nullptr ? route->dialect : Dialect::tei;
  if (route == nullptr && methods.empty()) {
    return answer(
        error_response(head.path.starts_with("/v1/") ? Dialect::openai : Dialect::tei,
                       {404, "NotFound", "no route " + utf8::quoted(head.path) + "; /openapi.json lists them"}));
  }
  if (route == nullptr) {
    Response response = error_response(
        dialect, {405, "Validation", head.path + ": expected " + methods + ", got " + utf8::printable(head.method)});
    response.headers.emplace_back("allow", methods);
    return answer(std::move(response));
  }
  if (route->access == Route::Access::keyed && !allowed(head)) {
    return answer(error_response(dialect, {401, "Unauthorized",
                                           head.authorization.empty() ? "expected an API key, got none"
                                                                      : "expected a valid API key, got another"}));
  }
  if (route->needs == Route::Needs::nothing) return std::nullopt;
  if (!ready_) {
    metrics_->failure("overloaded");
    return answer(error_response(dialect, {503, "Unhealthy", "the model is being loaded; try again later"}));
  }
  if (requests_ >= settings_.max_concurrent_requests) {
    metrics_->failure("overloaded");
    return answer(
        error_response(dialect, {429, "Overloaded", "the server answers as many requests as it may; try again later"}));
  }
  const std::string_view type = head.content_type;
  const bool other_type = !type.empty() && type.find("json") == std::string_view::npos;
  if (other_type) {
    metrics_->failure("validation");
    return answer(error_response(
        dialect, {415, "Validation", "content-type: expected application/json, got " + utf8::quoted(type)}));
  }
  return std::nullopt;
}

void Service::handle(std::shared_ptr<Exchange> exchange) {
  const Route& route = *find(exchange->head(), nullptr);
  const bool large = exchange->body().size() > kParsedInline;
  auto call = std::make_shared<Call>(*this, std::move(exchange), route);
  if (!large) return run(call);
  helper_->add([this, call] { run(call); });
}

void Service::run(const std::shared_ptr<Call>& call) {
  try {
    call->route.run(call);
  } catch (const ApiError& error) {
    call->fail(error);
  } catch (const Error& error) {
    call->fail(from(error));
  } catch (const std::bad_alloc&) {
    call->fail({503, "Overloaded", "memory: not enough for this request"});
  } catch (const std::exception& error) {
    call->fail({500, "Backend", error.what()});
  }
}

Response Service::refuse(const RequestHead& head, unsigned status, std::string_view why) {
  const Route* route = find(head, nullptr);
  ApiError error{status, status == 429 ? "Overloaded" : "Validation", std::string(why)};
  if (route != nullptr && route->needs == Route::Needs::model) metrics_->failure(failure_reason(error));
  Response response = error_response(route != nullptr ? route->dialect : Dialect::tei, error);
  add_headers(head, response);
  return response;
}

void CallJob::render(JobInput& input) {
  if (!input.bad()) render_good(input);
}

void CallJob::finish() {
  const auto bad = std::find_if(inputs.begin(), inputs.end(), [](const JobInput& input) { return input.bad(); });
  if (!failure.empty()) return call->fail({500, "Backend", failure});
  if (bad != inputs.end() && !record_errors)
    return call->fail({422, "Validation", bad->input.error, bad->input.place()});
  Response response;
  std::size_t tokens = 0;
  std::string truncated;
  std::size_t named = 0;
  Metrics& metrics = call->service.metrics();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Encoding& encoding = inputs[i].encoding;
    tokens += encoding.size();
    metrics.input_length(encoding.size(), encoding.truncated());
    if (!encoding.truncated() || ++named > kNamedTruncated) continue;
    (truncated += truncated.empty() ? "" : ",") += std::to_string(i);
  }
  try {
    compose(response);
  } catch (const std::exception& error) {
    return call->fail({500, "Backend", error.what()});
  }
  const auto end = Call::Clock::now();
  const auto add = [&response](const char* name, std::string value) {
    response.headers.emplace_back(name, std::move(value));
  };
  add("x-compute-type", "cpu");
  add("x-compute-time", milliseconds(end - call->begin));
  add("x-compute-characters", std::to_string(characters));
  add("x-compute-tokens", std::to_string(tokens));
  add("x-total-time", milliseconds(end - call->begin));
  add("x-tokenization-time", milliseconds(queued - call->begin));
  add("x-queue-time", milliseconds(begun - queued));
  add("x-inference-time", milliseconds(end - begun));
  if (named > kNamedTruncated) truncated += ",...";
  if (!truncated.empty()) add("x-truncated", truncated);
  metrics.success(
      call->batch, predicts,
      {seconds(end - call->begin), seconds(queued - call->begin), seconds(begun - queued), seconds(end - begun)});
  call->answer(std::move(response));
}

}  // namespace mha::serve
