// The one file that knows Boost.Beast, which takes long to compile.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <limits>
#include <list>
#include <optional>
#include <set>
#include <string>

#include "serve/http.hpp"

namespace mha::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Stream = asio::generic::stream_protocol;
using Socket = asio::basic_stream_socket<Stream, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<Stream, asio::io_context::executor_type>;

constexpr std::size_t kReadBytes = 65536;        // of a socket at once
constexpr std::size_t kLingerBytes = 1U << 20U;  // of a refused body that are read and dropped
constexpr double kLingerSeconds = 2;
constexpr double kBodyBytesPerSecond = 65536;
constexpr std::chrono::milliseconds kBetweenSweeps{250};
constexpr std::chrono::milliseconds kAcceptPause{100};  // when no descriptor is left

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// A body that grows with what arrives, whatever length was promised, and only as far as the memory allows.
struct BudgetBody {
  struct value_type {
    std::string text;
    MemoryLease memory;
  };

  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(http::header<isRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, error_code& error) { error = {}; }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      const std::size_t size = beast::buffer_bytes(buffers);
      if (body_.text.capacity() < body_.text.size() + size) {
        const std::size_t room = std::max(body_.text.capacity() * 2, body_.text.size() + size);
        if (!body_.memory.resize(room)) {
          error = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
          return 0;
        }
        body_.text.reserve(room);
      }
      for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
        const asio::const_buffer buffer(*at);
        body_.text.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return size;
    }

    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

std::string text_of(beast::string_view view) { return {view.data(), view.size()}; }

const char* reason_of(unsigned status) {
  const beast::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
  return reason.data();  // a literal
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text, size};
}

}  // namespace

struct HttpServer::Impl {
  class Session;
  class Pending;

  Impl(const HttpLimits& l, MemoryBudget& m, HttpHandler& h)
      : limits(l), memory(m), handler(h), sweep(context), cut(context), signals(context) {}

  void accept(std::list<Acceptor>::iterator acceptor);
  void start_sweeping();
  void begin_drain(double seconds);
  void end_if_drained() {
    if (!draining || !sessions.empty()) return;
    sweep.cancel();
    cut.cancel();
    error_code ignored;
    signals.cancel(ignored);
  }
  void wait_for_signal();

  HttpLimits limits;
  MemoryBudget& memory;
  HttpHandler& handler;
  asio::io_context context{1};
  std::list<Acceptor> acceptors;
  std::set<Session*> sessions;
  std::atomic<std::size_t> count{0};
  asio::steady_timer sweep;
  asio::steady_timer cut;
  asio::signal_set signals;
  std::function<void()> signalled;
  bool draining = false;
};

/// A request that was handed out. It outlives its session if the client leaves.
class HttpServer::Impl::Pending : public Exchange, public std::enable_shared_from_this<Pending> {
 public:
  Pending(Impl& server, std::weak_ptr<Session> session, RequestHead head, BudgetBody::value_type body)
      : server_(server), session_(std::move(session)), head_(std::move(head)), body_(std::move(body)) {}

  const RequestHead& head() const override { return head_; }
  std::string& body() override { return body_.text; }
  MemoryLease& memory() override { return body_.memory; }
  void answer(Response response) override;
  void on_gone(std::function<void()> gone) override {
    asio::post(server_.context, [self = shared_from_this(), gone = std::move(gone)]() mutable {
      if (self->is_gone_) return gone();
      self->gone_ = std::move(gone);
    });
  }

  /// On the network thread.
  void leave() {
    is_gone_ = true;
    if (const auto gone = std::exchange(gone_, nullptr)) gone();
  }
  void forget() { gone_ = nullptr; }

 private:
  Impl& server_;
  std::weak_ptr<Session> session_;
  RequestHead head_;
  BudgetBody::value_type body_;
  std::function<void()> gone_;
  bool is_gone_ = false;
  std::atomic<bool> answered_{false};
};

class HttpServer::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, Socket socket) : server_(server), socket_(std::move(socket)) {
    server_.sessions.insert(this);
    ++server_.count;
  }
  ~Session() {
    server_.sessions.erase(this);
    --server_.count;
    server_.end_if_drained();
  }

  void start() {
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // Unix sockets refuse it
    become_idle();
  }

  void check(Clock::time_point now) {
    if (now < deadline_) return;
    if (state_ == State::header || state_ == State::body) {
      state_ = State::refusing;
      error_code ignored;
      socket_.cancel(ignored);
      return refuse(408, "the request did not arrive in time");
    }
    close();
  }

  void end_if_idle() {
    if (state_ == State::idle) close();
  }

  void close() {
    if (state_ == State::closed) return;
    const auto self = std::exchange(waiting_, nullptr);
    state_ = State::closed;
    error_code ignored;
    socket_.close(ignored);
    if (const auto pending = std::exchange(pending_, nullptr)) pending->leave();
  }

  void respond(const Pending* pending, Response response) {
    if (pending_.get() != pending || state_ != State::handling) return;
    const auto self = std::exchange(waiting_, nullptr);
    pending_->forget();
    pending_.reset();
    send(std::move(response));
  }

 private:
  enum class State { idle, header, body, handling, sending, refusing, lingering, closed };

  /// What only a request that is being read needs.
  struct Reading {
    beast::flat_buffer buffer{kReadBytes};
    std::optional<http::request_parser<BudgetBody>> parser;
  };

  template <class Handler>
  auto bound(Handler next) {
    return [self = shared_from_this(), next](const error_code& error, auto... rest) { next(error, rest...); };
  }

  void set_deadline(double seconds) { deadline_ = Clock::now() + seconds_of(seconds); }

  // Waits for a byte, or for the client to leave.
  void watch() {
    if (watching_) return;
    watching_ = true;
    socket_.async_wait(Socket::wait_read, bound([this](const error_code& error) {
                         watching_ = false;
                         if (state_ == State::closed) return;
                         if (error) return close();
                         if (state_ == State::idle) return read_header();
                         if (state_ == State::handling) look_for_client();
                       }));
  }

  void look_for_client() {
    char byte = 0;
    const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // the next request waits: it is read when this one is answered
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return watch();
    close();
  }

  void become_idle() {
    if (reading_ && reading_->buffer.size() > 0) return read_header();
    reading_.reset();
    if (server_.draining) return close();
    state_ = State::idle;
    set_deadline(server_.limits.idle_seconds);
    watch();
  }

  void read_header() {
    state_ = State::header;
    set_deadline(server_.limits.header_seconds);
    if (!reading_) reading_ = std::make_unique<Reading>();
    auto& parser = reading_->parser.emplace();
    parser.header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
    parser.body_limit(server_.limits.body_bytes);
    parser.get().body().memory = MemoryLease(server_.memory);
    head_.emplace();
    http::async_read_header(socket_, reading_->buffer, parser,
                            bound([this](const error_code& error, std::size_t) { on_header(error); }));
  }

  void on_header(const error_code& error) {
    if (state_ != State::header) return;
    auto& parser = *reading_->parser;
    if (parser.is_header_done()) take_head();
    if (error) return on_bad_request(error);
    if (auto refused = server_.handler.screen(*head_)) {
      // Who did not send a body yet may keep the connection; who did would have the body read as a request.
      const bool has_body = parser.chunked() || head_->length.value_or(0) > 0;
      refused->close = refused->close || has_body;
      return send(std::move(*refused));
    }
    if (head_->length && *head_->length > server_.limits.body_bytes) return refuse(413, body_limit_text());
    double seconds = server_.limits.body_seconds;
    seconds += static_cast<double>(head_->length.value_or(0)) / kBodyBytesPerSecond;
    set_deadline(seconds);
    state_ = State::body;
    const beast::string_view expect = parser.get()[http::field::expect];
    if (!parser.is_done() && beast::iequals(expect, "100-continue")) return send_continue();
    read_body();
  }

  void take_head() {
    const auto& message = reading_->parser->get();
    const auto field = [&](http::field name) { return text_of(message[name]); };
    head_->method = text_of(message.method_string());
    const std::string target = text_of(message.target());
    const std::size_t mark = target.find('?');
    head_->path = target.substr(0, mark);
    if (mark != std::string::npos) head_->query = target.substr(mark + 1);
    head_->authorization = field(http::field::authorization);
    head_->content_type = field(http::field::content_type);
    head_->origin = field(http::field::origin);
    head_->request_id = text_of(message["x-request-id"]);
    head_->requested_headers = field(http::field::access_control_request_headers);
    if (const auto length = reading_->parser->content_length()) head_->length = *length;
    keep_alive_ = message.keep_alive();
    minor_ = message.version() % 10;
  }

  void send_continue() {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    header_ = kContinue;
    unsent_ = {asio::buffer(header_), asio::const_buffer()};
    write([this] {
      if (state_ == State::body) read_body();
    });
  }

  void read_body() {
    auto& parser = *reading_->parser;
    if (parser.is_done()) return on_body({});
    http::async_read(socket_, reading_->buffer, parser,
                     bound([this](const error_code& error, std::size_t) { on_body(error); }));
  }

  void on_body(const error_code& error) {
    if (state_ != State::body) return;
    if (error) return on_bad_request(error);
    state_ = State::handling;
    deadline_ = Clock::time_point::max();
    pending_ = std::make_shared<Pending>(server_, weak_from_this(), std::move(*head_),
                                         std::move(reading_->parser->get().body()));
    waiting_ = shared_from_this();
    is_head_ = pending_->head().method == "HEAD";
    reading_->parser.reset();
    if (reading_->buffer.size() == 0) {
      reading_.reset();
      watch();
    }
    server_.handler.handle(pending_);
  }

  void on_bad_request(const error_code& error) {
    if (error == boost::system::errc::not_enough_memory) {
      return refuse(429, "the server holds as many requests as its memory allows; try again later");
    }
    const bool is_gone = error == http::error::end_of_stream || error == http::error::partial_message;
    if (is_gone || error.category() != http::make_error_code(http::error::end_of_stream).category()) return close();
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return refuse(431,
                    "expected at most " + std::to_string(server_.limits.header_bytes) + " bytes of header, got more");
    }
    if (error == http::error::body_limit) return refuse(413, body_limit_text());
    refuse(400, "not valid HTTP/1.1: " + error.message());
  }

  std::string body_limit_text() const {
    return "expected a body of at most " + std::to_string(server_.limits.body_bytes) + " bytes, got " +
           (head_->length ? std::to_string(*head_->length) : "more");
  }

  void refuse(unsigned status, const std::string& why) {
    Response response = server_.handler.refuse(*head_, status, why);
    response.close = true;
    send(std::move(response));
  }

  void send(Response response) {
    state_ = State::sending;
    response_.emplace(std::move(response));
    keep_alive_ = keep_alive_ && !response_->close && !server_.draining;
    header_ = "HTTP/1.1 " + std::to_string(response_->status) + ' ' + reason_of(response_->status) + "\r\n";
    const auto add = [this](std::string_view name, std::string_view value) {
      ((header_ += name) += ": ") += value;
      header_ += "\r\n";
    };
    if (!response_->content_type.empty()) add("content-type", response_->content_type);
    add("content-length", std::to_string(response_->body.size()));
    for (const auto& [name, value] : response_->headers) add(name, value);
    add("date", date_text());
    if (!keep_alive_) {
      add("connection", "close");
    } else if (minor_ == 0) {
      add("connection", "keep-alive");
    }
    header_ += "\r\n";
    const bool bodiless = is_head_ || head_->method == "HEAD" || response_->status == 204 || response_->status == 304;
    set_deadline(server_.limits.send_seconds);
    unsent_ = {asio::buffer(header_), bodiless ? asio::const_buffer() : asio::buffer(response_->body)};
    write([this] { on_sent(); });
  }

  // In pieces, so that a reader who is slow but reads gets all of it.
  template <class Done>
  void write(Done done) {
    socket_.async_write_some(unsent_, bound([this, done](const error_code& error, std::size_t size) {
                               if (state_ == State::closed) return;
                               if (error) return close();
                               for (asio::const_buffer& buffer : unsent_) {
                                 const std::size_t sent = std::min(size, buffer.size());
                                 buffer += sent;
                                 size -= sent;
                               }
                               if (unsent_[0].size() + unsent_[1].size() == 0) return done();
                               if (state_ == State::sending) set_deadline(server_.limits.send_seconds);
                               write(done);
                             }));
  }

  void on_sent() {
    // Assigning empty ones would keep the memory of their texts, which idle connections need not have.
    response_.reset();
    std::string().swap(header_);
    head_.reset();
    is_head_ = false;
    if (keep_alive_) return become_idle();
    linger();
  }

  // Closing while bytes of the client are unread would reset the connection and lose the answer on its way.
  void linger() {
    state_ = State::lingering;
    reading_.reset();
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    set_deadline(kLingerSeconds);
    dropped_ = std::make_unique<std::array<char, 4096>>();
    drop();
  }
  void drop() {
    socket_.async_read_some(asio::buffer(*dropped_), bound([this](const error_code& error, std::size_t size) {
                              dropped_bytes_ += size;
                              if (error || dropped_bytes_ > kLingerBytes || state_ == State::closed) return close();
                              drop();
                            }));
  }

  Impl& server_;
  Socket socket_;
  State state_ = State::idle;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool watching_ = false;
  bool keep_alive_ = false;
  bool is_head_ = false;
  unsigned minor_ = 1;
  std::unique_ptr<Reading> reading_;
  std::optional<RequestHead> head_;  // of the request that is read or was refused
  std::shared_ptr<Pending> pending_;
  std::shared_ptr<Session> waiting_;  // this session, while it waits for an answer and perhaps for nothing else
  std::string header_;
  std::optional<Response> response_;
  std::array<asio::const_buffer, 2> unsent_;
  std::unique_ptr<std::array<char, 4096>> dropped_;
  std::size_t dropped_bytes_ = 0;
};

void HttpServer::Impl::Pending::answer(Response response) {
  if (answered_.exchange(true)) return;
  asio::post(server_.context, [self = shared_from_this(), response = std::move(response)]() mutable {
    if (const auto session = self->session_.lock()) session->respond(self.get(), std::move(response));
  });
}

void HttpServer::Impl::accept(std::list<Acceptor>::iterator acceptor) {
  acceptor->async_accept([this, acceptor](const error_code& error, Socket socket) {
    if (draining || error == asio::error::operation_aborted) return;
    if (!error) {
      std::make_shared<Session>(*this, std::move(socket))->start();
      return accept(acceptor);
    }
    // No descriptor is left, or the client was gone at once.
    auto pause = std::make_shared<asio::steady_timer>(context, kAcceptPause);
    pause->async_wait([this, acceptor, pause](const error_code& stopped) {
      if (!stopped && !draining) accept(acceptor);
    });
  });
}

void HttpServer::Impl::start_sweeping() {
  sweep.expires_after(kBetweenSweeps);
  sweep.async_wait([this](const error_code& error) {
    if (error) return;
    const auto now = Clock::now();
    std::vector<std::shared_ptr<Session>> overdue;
    for (Session* session : sessions) overdue.push_back(session->shared_from_this());
    for (const auto& session : overdue) session->check(now);
    if (!draining || !sessions.empty()) start_sweeping();
  });
}

void HttpServer::Impl::begin_drain(double seconds) {
  draining = true;
  error_code ignored;
  for (Acceptor& acceptor : acceptors) acceptor.close(ignored);
  const auto all = [this] {
    std::vector<std::shared_ptr<Session>> copies;
    for (Session* session : sessions) copies.push_back(session->shared_from_this());
    return copies;
  };
  for (const auto& session : all()) session->end_if_idle();
  cut.expires_after(seconds_of(seconds));
  cut.async_wait([all](const error_code& error) {
    if (error) return;
    for (const auto& session : all()) session->close();
  });
  end_if_drained();
}

void HttpServer::Impl::wait_for_signal() {
  signals.async_wait([this](const error_code& error, int) {
    if (error) return;
    signalled();
    wait_for_signal();
  });
}

HttpServer::HttpServer(const HttpLimits& limits, MemoryBudget& memory, HttpHandler& handler)
    : impl_(std::make_unique<Impl>(limits, memory, handler)) {}

HttpServer::~HttpServer() = default;

void HttpServer::listen(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  const auto acceptor = impl_->acceptors.emplace(impl_->acceptors.end(), impl_->context.get_executor());
  acceptor->assign(Stream(address.ss_family, 0), descriptor);
  asio::post(impl_->context, [this, acceptor] { impl_->accept(acceptor); });
}

void HttpServer::run() {
  impl_->start_sweeping();
  impl_->context.run();
}

void HttpServer::drain(double seconds) {
  asio::post(impl_->context, [this, seconds] { impl_->begin_drain(seconds); });
}

void HttpServer::on_stop_signal(std::function<void()> signalled) {
  impl_->signalled = std::move(signalled);
  impl_->signals.add(SIGTERM);
  impl_->signals.add(SIGINT);
  impl_->wait_for_signal();
}

std::size_t HttpServer::connections() const { return impl_->count; }

}  // namespace mha::serve
