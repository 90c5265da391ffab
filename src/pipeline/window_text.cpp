#include "pipeline/window_text.hpp"

#include <algorithm>

#include "core/utf8.hpp"
#include "unicode/grapheme.hpp"
#include "unicode/properties.hpp"

namespace mha {
namespace {

/// Whether a stretch is white space alone. Empty: yes.
bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!unicode::is(utf8::next(text, at), unicode::kWhiteSpace)) return false;
  }
  return true;
}

/// Without the clusters of white space at both ends.
TextRange trimmed(TextRange range, std::string_view text, const GraphemeBorders& borders) {
  const auto blank = [&](std::size_t begin, std::size_t end) { return is_blank(text.substr(begin, end - begin)); };
  while (range.begin < range.end) {
    const std::size_t next = borders.behind(range.begin + 1);
    if (next > range.end || !blank(range.begin, next)) break;
    range.begin = next;
  }
  while (range.end > range.begin) {
    const std::size_t last = borders.before(range.end - 1);
    if (last < range.begin || !blank(last, range.end)) break;
    range.end = last;
  }
  return range;
}

}  // namespace

GraphemeBorders::GraphemeBorders(std::string_view text) : text_(text) {
  if (utf8::is_ascii(text)) return;
  inside_.assign(text.size() + 1, true);
  for (std::size_t at = 0; at < text.size(); at = unicode::grapheme_end(text, at)) inside_[at] = false;
  inside_[text.size()] = false;
}

bool GraphemeBorders::is_border(std::size_t byte) const {
  if (byte == 0 || byte >= text_.size()) return true;
  if (!inside_.empty()) return !inside_[byte];
  return text_[byte - 1] != '\r' || text_[byte] != '\n';
}

std::size_t GraphemeBorders::before(std::size_t byte) const {
  while (!is_border(byte)) --byte;
  return byte;
}

std::size_t GraphemeBorders::behind(std::size_t byte) const {
  while (!is_border(byte)) ++byte;
  return byte;
}

std::vector<bool> cut_marks(const Encoding& encoding, TokenRange text, std::size_t prompt,
                            const GraphemeBorders& borders) {
  std::vector<bool> marks(text.last + 1, true);
  for (std::size_t i = text.first + 1; i < text.last; ++i) {
    const std::size_t begin = encoding.offsets[i].begin;
    const bool behind_last = begin >= encoding.offsets[i - 1].end;
    marks[i] = behind_last && (begin <= prompt || borders.is_border(begin - prompt));
  }
  return marks;
}

std::vector<TextWindow> window_texts(const std::vector<TokenRange>& windows, const Encoding& encoding,
                                     std::string_view text, std::size_t prompt, const GraphemeBorders& borders) {
  const auto in_text = [&](std::size_t byte) { return std::min(std::max(byte, prompt) - prompt, text.size()); };
  const std::size_t last_token = windows.back().last;
  std::vector<TextWindow> found;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const TokenRange tokens = windows[i];
    TextRange range{0, text.size()};
    if (i > 0 && tokens.size() > 0) range.begin = borders.before(in_text(encoding.offsets[tokens.first].begin));
    if (tokens.last < last_token && tokens.size() > 0) {
      const std::size_t end = in_text(encoding.offsets[tokens.last - 1].end);
      const std::size_t next = in_text(encoding.offsets[tokens.last].begin);
      range.end = borders.behind(std::max(end, next));
      // What follows a cut inside a cluster is in both windows.
      if (next > end && !borders.is_border(next)) range.end = std::max(borders.before(next), borders.behind(end));
    }
    range = trimmed(range, text, borders);
    const bool is_last = i + 1 == windows.size();
    if (range.begin < range.end || (is_last && found.empty())) found.push_back({tokens, range});
  }
  return found;
}

}  // namespace mha
