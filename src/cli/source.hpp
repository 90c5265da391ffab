#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "io/text_reader.hpp"
#include "pipeline/pipeline.hpp"

namespace mha::cli {

class Log;

/// The inputs of a command: its TEXT arguments, its files, or standard input; of these the records of one shard.
class InputSource : public RecordSource {
 public:
  /// Looks at every file. Throws Error{input} for a file that is missing.
  InputSource(const Options& options, Log& log);

  bool next(Record& record) override;
  bool ready() override;

  std::optional<std::uint64_t> total_bytes() const { return reader_.total_bytes(); }
  std::uint64_t bytes_done() const { return reader_.bytes_done(); }

 private:
  bool read();
  bool wanted(std::size_t index) const { return index % options_.shards == options_.shard; }

  const InputOptions& options_;
  Log& log_;
  TextReader reader_;
  Input input_;
  bool waiting_ = false;  // `input_` holds a record that was read to answer `ready`
  bool end_ = false;
};

/// Whether inputs are JSON Lines, which may bring ids.
bool reads_json_lines(const InputOptions& input);

}  // namespace mha::cli
