#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"

namespace mha::tokenizer {

class JsonValue;

/// What Split and Replace search for: `{"String": …}`, taken literally, or `{"Regex": …}`, in Oniguruma's dialect.
class Pattern {
 public:
  virtual ~Pattern() = default;

  /// Appends the successive matches that do not overlap, left to right, as byte ranges of `text`. A match may be empty
  /// (begin == end), but not where the match before it ended; an empty literal matches between all characters. An empty
  /// text has no match. Source: tokenizers 0.22.2, tokenizer/pattern.rs; onig 6.5.1, find_iter.
  virtual void find(std::string_view text, std::vector<Span>& out) const = 0;

  /// Throws Error{model} for a malformed pattern, with the library's own words.
  static std::shared_ptr<const Pattern> from_json(const JsonValue& value);
};

/// Every occurrence of a literal.
std::shared_ptr<const Pattern> make_literal_pattern(std::string literal);
/// A regular expression; the error of a malformed one names `where`, its file and JSON path.
std::shared_ptr<const Pattern> make_regex_pattern(const std::string& expression, const std::string& where);

}  // namespace mha::tokenizer
