#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/group.hpp"
#include "io/text_reader.hpp"

namespace mha::cli {

/// The policy for inputs that cannot be processed.
enum class OnError { fail, skip, record, replace };

/// The source of inputs. `texts` are the arguments of the command.
struct InputOptions {
  std::vector<std::string> texts;
  std::optional<std::string> pair;
  std::vector<std::string> files;
  InputFormat format = InputFormat::automatic;
  std::string text_key = "text";
  std::string pair_key = "text_pair";
  std::string id_key = "id";
  bool pass_through = false;
  OnError on_error = OnError::fail;
  std::size_t shard = 0;  ///< 0-based
  std::size_t shards = 1;
  bool latency = false;

  /// True if a bad input ends the run.
  bool stops_at_bad() const { return on_error == OnError::fail || on_error == OnError::replace; }
};

extern const OptionGroup kInput;

/// Throws Error{usage} if the command would wait for a terminal to send its inputs.
void refuse_terminal(const Options& options);

}  // namespace mha::cli
