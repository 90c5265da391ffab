#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/running_hash.hpp"
#include "output/records.hpp"

namespace mha::cli {

/// What decides the bytes of an output, by name: program, model, options, CPU. In a fixed order.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// How far a run had come: that many inputs led to that many bytes of output.
struct RunPoint {
  std::size_t inputs = 0;   ///< of the whole source, those of other shards too
  std::size_t records = 0;  ///< written
  std::uint64_t bytes = 0;
  std::string output_hash;  ///< of these bytes
  std::string input_hash;   ///< of what these inputs say
};

/// The side file of an unfinished output: the facts of its run, then a point every now and then. It tells a later run
/// whether the output is the beginning of its own, and up to where every byte is what was written.
///
/// Text, one JSON object per line. A torn last line is left out. Threads: one at a time.
class RunJournal {
 public:
  /// Reads what an earlier run left at `path` and checks it against `facts` and the unfinished `output`. Changes
  /// nothing. Throws Error{usage} that says what differs, if the output is of another run, of another program, or was
  /// changed.
  RunJournal(std::filesystem::path path, RunFacts facts, const std::filesystem::path& output);

  /// The last point up to which the output is whole; all zero for a fresh run.
  const RunPoint& start() const { return start_; }
  /// Begins the side file anew, at `start`.
  void open();

  /// After the inputs that are done already were added. Throws Error{usage} if the inputs are others than those of the
  /// earlier run.
  void check_skipped(std::size_t inputs) const;

  /// What an input says, before anything is made of it.
  void add_input(const Record& record);
  void add_output(std::string_view bytes) { output_.update(bytes); }
  /// Notes a point, at most every half second unless `now`.
  void note(std::size_t inputs, std::size_t records, std::uint64_t bytes, bool now);

  /// The output got its name: so does the side file, without `.partial` in it.
  void finish();

  /// Throws Error{usage} unless the side file at `path` says that the finished `output` is of a run with these facts
  /// and unchanged.
  static void check_finished(const std::filesystem::path& path, const RunFacts& facts,
                             const std::filesystem::path& output);

 private:
  std::filesystem::path path_;
  RunFacts facts_;
  RunPoint start_;
  RunningHash input_;
  RunningHash output_;
  std::ofstream file_;
  std::chrono::steady_clock::time_point noted_{};
};

}  // namespace mha::cli
