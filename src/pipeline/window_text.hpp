#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"
#include "pipeline/window_plan.hpp"

namespace mha {

/// Borders between the grapheme clusters of a text (UAX #29): where it may be cut without parting a mark from its
/// letter. The text must outlive this.
class GraphemeBorders {
 public:
  explicit GraphemeBorders(std::string_view text);

  bool is_border(std::size_t byte) const;
  /// The last border at or before a byte, and the first one at or behind it.
  std::size_t before(std::size_t byte) const;
  std::size_t behind(std::size_t byte) const;

 private:
  std::string_view text_;
  std::vector<bool> inside_;  ///< by byte: no border before it; empty for ASCII
};

/// A stretch of a text in bytes.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// A window: its tokens, and the text that they stand for.
struct TextWindow {
  TokenRange tokens;
  TextRange text;
};

/// The tokens at which a window may begin: those that begin at a grapheme border, where the token before has ended.
/// `prompt` bytes before the text count in the encoding's offsets only.
std::vector<bool> cut_marks(const Encoding& encoding, TokenRange text, std::size_t prompt,
                            const GraphemeBorders& borders);

/// The texts of windows. Every code point that is not white space belongs to one, also if the normalizer dropped it: it
/// then belongs to the window before it, at the very front to the first. White space at the ends of a window does not.
/// Windows of white space alone are left out; one window is left in any case.
std::vector<TextWindow> window_texts(const std::vector<TokenRange>& windows, const Encoding& encoding,
                                     std::string_view text, std::size_t prompt, const GraphemeBorders& borders);

}  // namespace mha
