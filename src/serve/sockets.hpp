#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mha::serve {

/// A socket that listens, and where: `http://127.0.0.1:8080`, `unix:/run/mha.sock`.
struct Listening {
  int descriptor = -1;
  std::string address;
};

/// Takes the `count` sockets that systemd hands over (sd_listen_fds(3)). Throws Error{output} for what does not listen.
std::vector<Listening> handed_over_sockets(std::size_t count);
/// Listens on every address of the host; port 0 takes a free one. Throws Error{output} that names host and port.
std::vector<Listening> listen_tcp(const std::string& host, unsigned port);
/// Listens on a path. A socket that nobody listens on any more is replaced. Throws Error{output}.
Listening listen_unix(const std::string& path);

/// Tells systemd a state such as `READY=1` by the socket `path` of sd_notify(3); does nothing if that is empty.
void notify_systemd(const std::string& path, const std::string& state);

/// Lets this process open as many descriptors as it may.
void raise_descriptor_limit();

}  // namespace mha::serve
