#pragma once

#include <memory>
#include <string_view>

#include "cli/options.hpp"

namespace mha::cli {

/// Messages to people, on stderr: `mha-cli: warning: …`, or one JSON object a line. Errors are always shown, warnings
/// unless quiet, facts and details with -v and -vv.
class Log {
 public:
  explicit Log(const GlobalOptions& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void error(std::string_view message);
  void warning(std::string_view message);
  void fact(std::string_view message);
  /// What people need to know without asking, unless quiet.
  void notice(std::string_view message);

  /// Whether progress lines may be drawn: on a terminal, not quiet, not as JSON, unless asked for.
  bool shows_progress() const { return progress_; }
  /// Draws over the last progress line; an empty text removes it.
  void progress(std::string_view line);

 private:
  struct Sink;
  void say(int level, std::string_view name, std::string_view message);

  std::unique_ptr<Sink> sink_;
  bool json_ = false;
  bool progress_ = false;
  bool drawn_ = false;
};

}  // namespace mha::cli
