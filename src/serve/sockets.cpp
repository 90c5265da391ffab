#include "serve/sockets.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "mha/core/error.hpp"

namespace mha::serve {
namespace {

constexpr int kBacklog = 4096;
constexpr int kFirstHandedOver = 3;

[[noreturn]] void fail(const std::string& where) {
  throw_output("serve: " + where + ": cannot listen: " + std::strerror(errno));
}

std::string address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "socket";
  if (address.ss_family == AF_UNIX) {
    const auto* unix_address = reinterpret_cast<const sockaddr_un*>(&address);
    const std::size_t length = size - offsetof(sockaddr_un, sun_path);
    return "unix:" + std::string(unix_address->sun_path, ::strnlen(unix_address->sun_path, length));
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  if (::getnameinfo(any, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "socket";
  const bool v6 = address.ss_family == AF_INET6;
  return std::string("http://") + (v6 ? "[" : "") + host + (v6 ? "]:" : ":") + port;
}

}  // namespace

std::vector<Listening> handed_over_sockets(std::size_t count) {
  std::vector<Listening> sockets;
  for (std::size_t i = 0; i < count; ++i) {
    const int descriptor = kFirstHandedOver + static_cast<int>(i);
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
      throw_output("serve: LISTEN_FDS: expected sockets that listen, got another descriptor " +
                   std::to_string(descriptor));
    }
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    sockets.push_back({descriptor, address_of(descriptor)});
  }
  return sockets;
}

std::vector<Listening> listen_tcp(const std::string& host, unsigned port) {
  const std::string where = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    throw_output("serve: " + where + ": " + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  std::vector<Listening> sockets;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int descriptor = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;  // a family that this machine does not have
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (::bind(descriptor, address->ai_addr, address->ai_addrlen) != 0 || ::listen(descriptor, kBacklog) != 0) {
      const int error = errno;
      ::close(descriptor);
      errno = error;
      // `localhost` may name an address that no interface has.
      if (error == EADDRNOTAVAIL && (address->ai_next != nullptr || !sockets.empty())) continue;
      for (const Listening& other : sockets) ::close(other.descriptor);
      errno = error;
      fail(where);
    }
    sockets.push_back({descriptor, address_of(descriptor)});
    if (port == 0) break;  // each address would get a port of its own
  }
  if (sockets.empty()) fail(where);
  return sockets;
}

Listening listen_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw_usage("--unix: expected a path of 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes, got " +
                std::to_string(path.size()));
  }
  path.copy(address.sun_path, path.size());
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool refused = probe >= 0 && ::connect(probe, any, sizeof address) != 0 && errno == ECONNREFUSED;
    if (probe >= 0) ::close(probe);
    if (refused) ::unlink(path.c_str());
  }
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 || ::bind(descriptor, any, sizeof address) != 0 || ::listen(descriptor, kBacklog) != 0) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    errno = error;
    fail("unix:" + path);
  }
  return {descriptor, "unix:" + path};
}

void notify_systemd(const std::string& path, const std::string& state) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return;
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // systemd ends the unit by its own timeout if it does not hear of us.
  static_cast<void>(::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size));
  ::close(descriptor);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace mha::serve
