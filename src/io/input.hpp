#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mha {

/// One input as it was read.
struct Input {
  std::size_t index = 0;                 ///< 0-based over all sources; bad inputs count
  std::string id_json;                   ///< the id's JSON text as written, digits and all; empty: none
  std::string text;                      ///< valid UTF-8; may hold NUL characters
  std::optional<std::string> text_pair;  ///< the second segment
  std::string extra_json;  ///< members to pass through, `"key":value,…`, values as written; may be empty
  std::string error;       ///< why the input is bad, with its place; empty: it is good
  std::optional<std::uint64_t> replaced;  ///< first byte in the source that became U+FFFD

  std::shared_ptr<const std::string> source;  ///< the file's name, `stdin` or `argument`; null: none is known
  std::size_t line = 0;     ///< 1-based line (or record, or argument) of the source; 0: `source` is the whole place
  std::uint64_t begin = 0;  ///< 0-based byte of the source at which the input begins
  const char* line_word = "line";  ///< the word for a line of the source: `line`, or `record` if NUL ends it

  bool bad() const { return !error.empty(); }
  /// `b.txt: line 3, byte 17`, as messages about this input begin; of an argument `argument 2`.
  std::string place() const;
  /// The same for one byte of the source (of the argument).
  std::string place_at(std::uint64_t byte) const;
  /// Gives it a place that is no file: `query`.
  void set_place(std::string place);
  /// Makes it a bad input.
  void fail(std::string_view why);
  /// Keeps the memory of the texts.
  void clear();
};

}  // namespace mha
