#include "cli/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <string>

#include "core/json_writer.hpp"
#include "io/process.hpp"
#include "output/terminal_text.hpp"

namespace mha::cli {
namespace {

// A message is one line of text, or several of a list; other control characters never reach the terminal.
std::string one_paragraph(std::string_view message) {
  std::string out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = message.find('\n', begin);
    out += escape_controls(message.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    out += '\n';
    begin = end + 1;
  }
}

spdlog::level::level_enum threshold(const GlobalOptions& options) {
  if (options.quiet) return spdlog::level::err;
  return options.verbose > 0 ? spdlog::level::info : spdlog::level::warn;
}

}  // namespace

struct Log::Sink {
  explicit Sink(const GlobalOptions& options) : logger("mha-cli", std::make_shared<spdlog::sinks::stderr_sink_st>()) {
    logger.set_level(threshold(options));
    logger.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
  }
  spdlog::logger logger;
};

Log::Log(const GlobalOptions& options)
    : sink_(std::make_unique<Sink>(options)), json_(options.log_format == LogFormat::json) {
  progress_ = !json_ && !options.quiet &&
              (options.progress == When::always || (options.progress == When::automatic && isatty(STDERR_FILENO) != 0));
}

Log::~Log() = default;

void Log::say(int level, std::string_view name, std::string_view message) {
  const auto severity = static_cast<spdlog::level::level_enum>(level);
  if (!sink_->logger.should_log(severity)) return;
  progress("");
  std::string line;
  if (json_) {
    JsonWriter(line).begin_object().member("level", name).member("message", message).end_object();
  } else {
    line = "mha-cli: " + std::string(name) + ": " + one_paragraph(message);
  }
  sink_->logger.log(severity, "{}", line);
  sink_->logger.flush();
}

void Log::error(std::string_view message) { say(spdlog::level::err, "error", message); }
void Log::warning(std::string_view message) { say(spdlog::level::warn, "warning", message); }
void Log::notice(std::string_view message) { say(spdlog::level::warn, "info", message); }
void Log::fact(std::string_view message) { say(spdlog::level::info, "info", message); }

void Log::progress(std::string_view line) {
  if (line.empty() && !drawn_) return;
  std::string text = "\r\x1b[K";
  text += line;
  drawn_ = !line.empty();
  set_line_open(drawn_);
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) progress_ = false;
}

}  // namespace mha::cli
