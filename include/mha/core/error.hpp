#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace mha {

/// What went wrong, seen from the caller. The command line maps kinds to exit codes
/// (usage 2, model 3, all others 1).
enum class ErrorKind { usage, input, model, output, internal };

/// The name of a parameter that an error is about, as the API spells it: `max_length`, `dtype`.
struct Parameter {
  std::string name;
};

/// The one exception type that leaves the library.
///
/// Message: `what: subject: expected x, got y; what to do`, lower case, no full stop, no source line.
/// Context (path, tensor, line) is added once, where it is known.
///
/// An error about a parameter carries its name apart from the message, so that a program can show the name that its
/// users know: the command line shows the option `--max-length` for `max_length`.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  /// `what()` is `parameter: message`.
  Error(ErrorKind kind, Parameter parameter, const std::string& message)
      : std::runtime_error(parameter.name + ": " + message), kind_(kind), parameter_(std::move(parameter.name)) {}

  ErrorKind kind() const noexcept { return kind_; }
  /// Empty: the error is about no parameter.
  const std::string& parameter() const noexcept { return parameter_; }
  /// The message without the parameter's name.
  std::string_view message() const noexcept {
    const std::string_view whole = what();
    return parameter_.empty() ? whole : whole.substr(parameter_.size() + 2);
  }

 private:
  ErrorKind kind_;
  std::string parameter_;
};

[[noreturn]] inline void throw_usage(const std::string& message) { throw Error(ErrorKind::usage, message); }
[[noreturn]] inline void throw_usage(Parameter parameter, const std::string& message) {
  throw Error(ErrorKind::usage, std::move(parameter), message);
}
[[noreturn]] inline void throw_input(const std::string& message) { throw Error(ErrorKind::input, message); }
[[noreturn]] inline void throw_model(const std::string& message) { throw Error(ErrorKind::model, message); }
[[noreturn]] inline void throw_output(const std::string& message) { throw Error(ErrorKind::output, message); }
[[noreturn]] inline void throw_internal(const std::string& message) { throw Error(ErrorKind::internal, message); }

}  // namespace mha
