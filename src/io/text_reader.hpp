#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/input.hpp"

namespace mha {

/// How a source is cut into records. `automatic`: JSON Lines for names that end in `.jsonl` or `.ndjson`, else lines.
/// `json`: the objects of one array, or one behind the other, over any number of lines.
enum class InputFormat { automatic, lines, nul, jsonl, json };

struct TextReaderOptions {
  InputFormat format = InputFormat::automatic;
  std::string text_key = "text";
  std::string pair_key = "text_pair";
  std::string id_key = "id";
  /// Copy unknown keys of JSON Lines into `extra_json`, except `reserved_keys` (the result's own keys).
  bool pass_through = false;
  std::vector<std::string> reserved_keys;
  /// Invalid UTF-8 and lone surrogate escapes become U+FFFD instead of making the record bad.
  bool replace_invalid = false;
  /// A longer record is bad; it is skipped without storing it.
  std::size_t max_record_bytes = std::size_t{64} << 20;
};

/// Reads inputs one by one from arguments, files, pipes and standard input, as soon as each is complete.
///
/// Lines end with LF or CR LF, NUL records with NUL. A last one without an end counts, and so does an empty one. A byte
/// order mark at the start of a source is dropped. Blank lines between JSON Lines records are skipped and not counted.
/// Memory is bounded by the longest record. A bad record (invalid UTF-8, malformed JSON, missing key) is returned with
/// `error` set, and with its id if that can be read; the caller decides what to do.
/// Errors: input, naming the source: a file that is missing, a folder or not readable (all are checked before the first
/// is read), or a read that fails.
/// Threads: one at a time.
class TextReader {
 public:
  /// Each text is one input; the pair is the second segment of a single text.
  static TextReader from_arguments(std::vector<std::string> texts, std::optional<std::string> text_pair,
                                   const TextReaderOptions& options = {});
  /// Paths in the order given; `-` is standard input.
  static TextReader from_files(const std::vector<std::string>& paths, const TextReaderOptions& options = {});
  ~TextReader();
  TextReader(TextReader&&) noexcept;
  TextReader& operator=(TextReader&&) noexcept;

  /// Waits for the next record; false at the end.
  bool next(Input& record);
  /// True if `next` would return at once. Never waits; reads bytes that have arrived.
  bool ready();

  /// Bytes of all sources, if all are arguments or regular files; for progress.
  std::optional<std::uint64_t> total_bytes() const;
  /// Bytes of the records returned so far, their ends included.
  std::uint64_t bytes_done() const;

 private:
  class Implementation;
  explicit TextReader(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mha
