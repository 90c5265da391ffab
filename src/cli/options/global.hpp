#pragma once

#include <cstddef>
#include <string>

#include "cli/options/group.hpp"

namespace mha::cli {

enum class LogFormat { text, json };
/// When something for people is shown: `automatic` asks the terminal.
enum class When { automatic, always, never };

/// Every command takes these, before or after its name.
struct GlobalOptions {
  std::string model;        ///< empty: the built-in default
  std::size_t threads = 0;  ///< 0: the CPUs this process may use
  std::string backend = "auto";
  std::string dtype = "auto";
  bool quiet = false;
  int verbose = 0;
  LogFormat log_format = LogFormat::text;
  When color = When::automatic;
  When progress = When::automatic;
};

extern const OptionGroup kGlobal;

}  // namespace mha::cli
