#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/environment.hpp"
#include "cli/log.hpp"
#include "cli/options.hpp"
#include "io/mapping_guard.hpp"
#include "io/output_stream.hpp"
#include "io/process.hpp"
#include "mha/core/error.hpp"

namespace {

using mha::ErrorKind;
using mha::cli::GlobalOptions;
using mha::cli::Log;
using mha::cli::LogFormat;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::model:
      return 3;
    case ErrorKind::input:
    case ErrorKind::output:
    case ErrorKind::internal:
      return 1;
  }
  return 1;
}

// Errors of the command line itself must obey --log-format too, and then there are no options yet.
LogFormat log_format_of(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;
    if (word == "--log-format=json" ||
        (word == "--log-format" && i + 1 < argc && std::string_view(argv[i + 1]) == "json")) {
      return LogFormat::json;
    }
  }
  return LogFormat::text;
}

int run(int argc, char** argv) {
  const auto options = mha::cli::parse_options(argc, argv);
  if (!options) return 0;
  Log log(options->global);
  if (const std::string notice = mha::cli::ending_notice(*options); !notice.empty()) log.warning(notice);
  return options->command->run(*options, log);
}

int report(int argc, char** argv, std::string_view message, int code) {
  GlobalOptions options;
  options.log_format = log_format_of(argc, argv);
  Log(options).error(message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  mha::guard_standard_streams();
  mha::install_signal_cleanup();
  mha::install_mapping_guard("mha-cli");
  try {
    mha::cli::apply_environment();
    return run(argc, argv);
  } catch (const mha::ReaderGone&) {
    return 0;
  } catch (const mha::Error& error) {
    return report(argc, argv, mha::cli::message_of(error), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report(argc, argv, "memory: not enough for this model and input; try shorter inputs or fewer --threads", 1);
  } catch (const std::exception& error) {
    return report(argc, argv, error.what(), 1);
  }
}
