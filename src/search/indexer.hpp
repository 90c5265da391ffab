#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/text_reader.hpp"
#include "pipeline/pipeline.hpp"
#include "search/index.hpp"
#include "search/passages.hpp"

namespace mha {

/// One file that is to be in an index.
struct FileToIndex {
  std::filesystem::path path;
  std::string name;      ///< how the index calls it
  bool named = false;    ///< by the user, not found by a walk: then it is told if it is left out
  bool records = false;  ///< JSON Lines: each record is a text with an id and members of its own
  std::uint64_t size = 0;
  std::int64_t modified = 0;
};

struct IndexerSettings {
  PassageRules rules;
  TextReaderOptions reader;          ///< of files of records
  std::size_t record_tokens = 128;   ///< the most that a passage of a record has; its lines stay together
  std::size_t commit_every = 20000;  ///< passages between two commits within one file
  std::size_t largest_file = std::size_t{1} << 30;
  /// What is worth telling: binary files, files that cannot be read, bad records.
  std::function<void(const std::string&)> warn;
  /// After each passage: passages and files done.
  std::function<void(std::size_t, std::size_t)> progress;
};

/// What a run did.
struct IndexerResult {
  std::size_t files = 0;  ///< read and embedded
  std::size_t unchanged = 0;
  std::size_t removed = 0;
  std::size_t skipped = 0;  ///< binary or unreadable
  std::size_t passages = 0;
};

/// File names as an index stores them, with size and time; a file that cannot be looked at is told and left out.
std::vector<FileToIndex> look_at(const std::vector<std::filesystem::path>& paths,
                                 const std::function<void(const std::string&)>& warn);

/// Brings an index up to date with the files: new and changed ones (by size and time, then by SHA-256) are cut into
/// passages and embedded by `workers`; with `remove_missing` sources that are no longer among the files leave. Text
/// files are read as UTF-8, invalid bytes as U+FFFD. Each file is complete in one commit, or is begun anew by the next
/// run. Commits at the end. `tokenizer` cuts passages; it is that of the workers.
IndexerResult update_index(Index& index, const std::vector<FileToIndex>& files, bool remove_missing,
                           const IndexerSettings& settings, const Tokenizer& tokenizer,
                           const PipelineSettings& pipeline, const WorkerFactory& workers);

}  // namespace mha
