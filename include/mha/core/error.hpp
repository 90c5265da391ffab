#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace mha {

/// What went wrong, seen from the caller. The command line maps kinds to exit codes
/// (usage 2, model 3, all others 1).
enum class ErrorKind { usage, input, model, output, internal };

/// The one exception type that leaves the library.
///
/// Message: `what: subject: expected x, got y; what to do`, lower case, no full stop, no source line.
/// Context (path, tensor, line) is added once, where it is known.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

[[noreturn]] inline void throw_usage(const std::string& message) { throw Error(ErrorKind::usage, message); }
[[noreturn]] inline void throw_input(const std::string& message) { throw Error(ErrorKind::input, message); }
[[noreturn]] inline void throw_model(const std::string& message) { throw Error(ErrorKind::model, message); }
[[noreturn]] inline void throw_output(const std::string& message) { throw Error(ErrorKind::output, message); }
[[noreturn]] inline void throw_internal(const std::string& message) { throw Error(ErrorKind::internal, message); }

}  // namespace mha
