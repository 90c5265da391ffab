#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "mha/tokenizer/encoding.hpp"
#include "unicode/properties.hpp"

namespace mha::tokenizer {

/// A part of the original text after normalization, with the original characters of each byte.
///
/// As long as each character was only replaced by one of the same length, byte i is byte base + i of the original, and
/// no alignment is stored. The first change of length makes a list of runs: runs that were kept as they are, and runs
/// whose bytes all map to the same characters. So memory grows with the changes, not with the text.
/// The rules are those of the reference's NormalizedString (tokenizers 0.22.2, tokenizer/normalizer.rs): no neighbour
/// covers removed text; inserted text shares the span of the byte before it.
class NormalizedText {
 public:
  NormalizedText() = default;
  NormalizedText(const NormalizedText&) = delete;
  NormalizedText& operator=(const NormalizedText&) = delete;

  /// Starts from the bytes `piece` at `base` of the original text `original`, both of which must outlive this text.
  void assign(std::string_view original, std::uint32_t base, std::uint32_t size);

  std::string_view text() const { return view_; }
  bool empty() const { return view_.empty(); }
  /// True if byte i of `text()` is byte `base() + i` of the original.
  bool one_to_one() const { return one_to_one_; }
  std::uint32_t base() const { return base_; }
  /// The whole original text.
  std::string_view original() const { return original_; }

  /// Bytes of the original for the bytes [begin, end) of `text()`; begin < end. The result is on character borders even
  /// if the range is not.
  Span origin(std::uint32_t begin, std::uint32_t end) const {
    if (one_to_one_) return {base_ + character_begin(begin), base_ + character_end(end)};
    const Run& first = run_of(begin);
    const std::uint32_t origin_begin = first.is_kept() ? first.begin + character_begin(begin) - first.at : first.begin;
    const Run& last = run_of(end - 1);
    return {origin_begin, last.is_kept() ? last.begin + character_end(end) - last.at : last.end};
  }

  /// The part [begin, end) of `text()` as a text of its own.
  void slice(std::uint32_t begin, std::uint32_t end, NormalizedText& out) const;

  /// The bytes for changes that keep every character's length and place; `text()` shows them at once.
  char* writable();

  /// A pass over the text that writes its successor: `begin_rewrite`, any of those below, `end_rewrite`.
  /// `text()` is still the old text in between; positions are bytes of it.
  void begin_rewrite();
  /// Copies the bytes [begin, end) with their spans.
  void copy(std::uint32_t begin, std::uint32_t end) { copy_from(*this, begin, end); }
  /// Writes a character with the span of the byte at `position`.
  void put(char32_t character, std::uint32_t position) { put(character, span_of(position)); }
  void put(std::string_view bytes, std::uint32_t position) { put(bytes, span_of(position)); }
  /// The same with the span given.
  void put(char32_t character, Span origin);
  void put(std::string_view bytes, Span origin);
  /// The span that the reference gives to a character inserted before the byte at `position`: that of the byte before
  /// it, or an empty span at the front.
  Span before(std::uint32_t position) const { return position == 0 ? Span{front_, front_} : span_of(position - 1); }
  /// The reference's `transform` of the bytes [begin, end); characters with one of the flags `dropped` are left out.
  void replace(std::uint32_t begin, std::uint32_t end, const std::vector<unicode::Mapped>& changes,
               std::uint32_t dropped = 0);
  /// The same for the whole text, as a rewrite of its own.
  using Change = unicode::Mapped;
  void transform(const std::vector<Change>& changes);
  /// Bytes written so far.
  std::uint32_t rewritten_size() const { return static_cast<std::uint32_t>(next_.size()); }
  void end_rewrite();

  /// Memory for changes and matches, kept here so that it is allocated once per thread.
  std::vector<unicode::Mapped>& change_buffer() { return changes_; }
  std::vector<Span>& match_buffer() { return matches_; }

 private:
  /// Throws Error{input} if a tokenizer enlarges a text too much; also keeps all positions within 32 bits.
  void check_growth() const {
    if (next_.size() > limit_) refuse_growth();
  }
  [[noreturn]] static void refuse_growth();
  std::uint32_t character_begin(std::uint32_t at) const {
    while (at > 0 && utf8::is_continuation(view_[at])) --at;
    return at;
  }
  std::uint32_t character_end(std::uint32_t at) const {
    while (at < view_.size() && utf8::is_continuation(view_[at])) ++at;
    return at;
  }

  /// Bytes of the text from `at` to the next run. Kept: byte at + i is byte begin + i of the original; else all map to
  /// [begin, end).
  struct Run {
    static constexpr std::uint32_t kKept = 0xFFFFFFFF;
    std::uint32_t at;
    std::uint32_t begin;
    std::uint32_t end;
    bool is_kept() const { return end == kKept; }
  };
  /// The run of a byte; searches from the last one found, because most calls come in the order of the text.
  const Run& run_of(std::uint32_t position) const {
    const Run* run = runs_.data() + cursor_;
    const Run* const last = runs_.data() + runs_.size() - 1;
    for (int steps = 0; run->at <= position; ++run) {
      if (run == last || run[1].at > position) {
        cursor_ = static_cast<std::size_t>(run - runs_.data());
        return *run;
      }
      if (++steps == 8) break;
    }
    return search_run(position);
  }
  const Run& search_run(std::uint32_t position) const;
  void copy_from(const NormalizedText& from, std::uint32_t begin, std::uint32_t end);
  void push_kept(std::uint32_t at, std::uint32_t begin) {
    if (!next_runs_.empty()) {
      const Run& last = next_runs_.back();
      if (last.is_kept() && last.begin + (at - last.at) == begin) return;
    }
    next_runs_.push_back({at, begin, Run::kKept});
  }
  void push_standing(std::uint32_t at, Span origin) {
    if (!next_runs_.empty()) {
      const Run& last = next_runs_.back();
      if (last.begin == origin.begin && last.end == origin.end) return;
    }
    next_runs_.push_back({at, origin.begin, origin.end});
  }
  Span span_of(std::uint32_t position) const { return origin(position, position + 1); }

  std::string_view original_;
  std::string_view view_;  ///< of the original, or of text_
  std::uint32_t base_ = 0;
  std::size_t limit_ = 0;    ///< bytes that the text may grow to
  std::uint32_t front_ = 0;  ///< the reference's original_shift: where this stretch of the original begins
  bool one_to_one_ = true;
  std::string text_;
  std::vector<Run> runs_;           ///< of a text that is not one_to_one_, left to right without gaps
  mutable std::size_t cursor_ = 0;  ///< the run that was found last
  std::string next_;
  std::vector<Run> next_runs_;
  std::vector<unicode::Mapped> changes_;
  std::vector<Span> matches_;
};

}  // namespace mha::tokenizer
