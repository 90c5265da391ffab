#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/memory_budget.hpp"

namespace mha::serve {

/// What the header of a request says, as far as the server looks at it.
struct RequestHead {
  std::string method;  ///< "GET", as sent
  std::string path;    ///< of the target, without the query; percent escapes as sent
  std::string query;   ///< behind `?`
  std::string authorization;
  std::string content_type;
  std::string origin;
  std::string request_id;               ///< `x-request-id`
  std::string requested_headers;        ///< `access-control-request-headers` of a preflight
  std::optional<std::uint64_t> length;  ///< of the body; empty: chunked, or none
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool close = false;  ///< the connection ends with this answer
  MemoryLease memory;  ///< held until the answer was sent
};

/// One request that waits for its answer. Threads: any, also after the client left.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const RequestHead& head() const = 0;
  /// The body, which may be moved from.
  virtual std::string& body() = 0;
  /// The share of the budget that the body holds.
  virtual MemoryLease& memory() = 0;
  /// Sends the answer. Only the first call counts.
  virtual void answer(Response response) = 0;
  /// `gone` is called on the network thread once the client leaves before its answer was made.
  virtual void on_gone(std::function<void()> gone) = 0;
};

/// What a server does with requests. Called on the network thread, which must not wait.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// The header was read, the body was not. An answer refuses the request.
  virtual std::optional<Response> screen(const RequestHead& head) = 0;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  /// What a request gets that breaks a rule of HTTP or a limit; `head` is what is known of it.
  virtual Response refuse(const RequestHead& head, unsigned status, std::string_view why) = 0;
};

struct HttpLimits {
  std::size_t header_bytes = 16384;
  std::size_t body_bytes = 16U << 20U;
  double header_seconds = 10;  ///< from the first byte of a request to the end of its header
  double idle_seconds = 120;   ///< between requests of a connection
  double send_seconds = 30;    ///< without progress of an answer
  double body_seconds = 30;    ///< for a body, and a further second for each 64 KiB of it
};

/// HTTP/1.1 over sockets that already listen. Connections are kept open; pipelined requests are answered in order.
/// The idle connections cost no buffers.
class HttpServer {
 public:
  HttpServer(const HttpLimits& limits, MemoryBudget& memory, HttpHandler& handler);
  ~HttpServer();

  /// Takes over a socket that listens.
  void listen(int descriptor);
  /// Works on this thread until `drain` was called and every connection has ended.
  void run();
  /// Stops listening, ends idle connections, and lets the others end with their answer; after `seconds` all are cut.
  /// A further call sets another time. Threads: any.
  void drain(double seconds);
  /// Calls `signalled` on the network thread for each SIGTERM and SIGINT.
  void on_stop_signal(std::function<void()> signalled);

  std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha::serve
