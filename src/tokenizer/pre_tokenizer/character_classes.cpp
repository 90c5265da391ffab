// The pre-tokenizers that tell characters apart by their class.
#include <algorithm>
#include <array>
#include <bit>

#include "core/utf8.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"
#include "unicode/properties.hpp"

namespace mha::tokenizer {
namespace {

// One bit each, so that a block is told by the bits that occur in it.
enum class Class : std::uint8_t { word = 1, space = 2, mark = 4, not_ascii = 8 };

// Class of each character by its flags; ASCII by a table. What is neither `word` nor `space` is a mark; `word` 0 stands
// for all that is not `mark`.
class Classes {
 public:
  Classes(std::uint32_t space, std::uint32_t word, std::uint32_t mark) : space_(space), word_(word), mark_(mark) {
    by_byte_.fill(Class::not_ascii);
    for (unsigned byte = 0; byte < 0x80; ++byte) by_byte_[byte] = of_flags(unicode::flags(byte));
  }
  Class of_byte(char byte) const { return by_byte_[static_cast<unsigned char>(byte)]; }
  /// Class of the character at `at`, which moves behind it.
  Class next(std::string_view text, std::size_t& at) const {
    const Class kind = of_byte(text[at]);
    if (kind == Class::not_ascii) return of_flags(unicode::flags(utf8::next(text, at)));
    ++at;
    return kind;
  }

 private:
  Class of_flags(std::uint32_t flags) const {
    if ((flags & space_) != 0) return Class::space;
    if (word_ != 0) return (flags & word_) != 0 ? Class::word : Class::mark;
    return (flags & mark_) != 0 ? Class::mark : Class::word;
  }

  std::uint32_t space_;
  std::uint32_t word_;
  std::uint32_t mark_;
  std::array<Class, 256> by_byte_{};
};

// Words are runs of Class::word; spaces are dropped; each mark is a word of its own, or each run of marks.
class ByClass final : public PreTokenizer {
 public:
  ByClass(std::string_view type, const Classes& classes, bool runs_of_marks)
      : type_(type), classes_(classes), runs_of_marks_(runs_of_marks) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view bytes = text.text.text();
    text.next_words.clear();
    for (const Span& word : text.words) {
      if (runs_of_marks_) {
        cut_by_character(bytes, word.begin, word.end, text.next_words);
      } else {
        cut_by_block(bytes, word, text.next_words);
      }
    }
    text.words.swap(text.next_words);
  }
  std::string_view type() const override { return type_; }

 private:
  // Returns the end of what it has cut: behind `end` when a word begins before and ends there.
  std::size_t cut_by_character(std::string_view bytes, std::size_t at, std::size_t end, std::vector<Span>& out,
                               std::size_t word_end) const {
    while (at < end) {
      const auto begin = static_cast<std::uint32_t>(at);
      const Class kind = classes_.next(bytes, at);
      if (kind == Class::space) continue;
      if (kind == Class::word || runs_of_marks_) at = end_of_run(bytes, at, word_end, kind);
      out.push_back({begin, static_cast<std::uint32_t>(at)});
    }
    return at;
  }
  void cut_by_character(std::string_view bytes, std::size_t at, std::size_t end, std::vector<Span>& out) const {
    cut_by_character(bytes, at, end, out, end);
  }

  // Up to sixty-four bytes at a time as bits, so that no branch depends on where words end. A block with other
  // characters than ASCII is left to the slower way.
  void cut_by_block(std::string_view bytes, Span range, std::vector<Span>& out) const {
    constexpr std::size_t kBlock = 64;
    Span found[kBlock];
    for (std::size_t at = range.begin; at < range.end;) {
      const std::size_t size = std::min<std::size_t>(kBlock, range.end - at);
      std::uint64_t word = 0;
      std::uint64_t mark = 0;
      unsigned kinds = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const auto kind = static_cast<unsigned>(classes_.of_byte(bytes[at + i]));
        word |= std::uint64_t{kind & static_cast<unsigned>(Class::word)} << i;
        mark |= std::uint64_t{kind >> 2} << i;
        kinds |= kind;
      }
      if ((kinds & static_cast<unsigned>(Class::not_ascii)) != 0) {
        at = cut_by_character(bytes, at, at + size, out, range.end);
        continue;
      }
      // A word that may go on in the next block is left to it, or, where it fills this one, found at once.
      const auto open = static_cast<unsigned>(at + size < range.end ? std::countl_one(word) : 0);
      if (open == kBlock) {
        at = cut_by_character(bytes, at, at + 1, out, range.end);
        continue;
      }
      word &= ~std::uint64_t{0} >> open;
      std::size_t count = 0;
      for (std::uint64_t begins = (word & ~(word << 1)) | mark; begins != 0; begins &= begins - 1) {
        const auto begin = static_cast<unsigned>(std::countr_zero(begins));
        const auto length = std::max(1U, static_cast<unsigned>(std::countr_one(word >> begin)));
        found[count++] = {static_cast<std::uint32_t>(at) + begin, static_cast<std::uint32_t>(at) + begin + length};
      }
      out.insert(out.end(), found, found + count);
      at += size - open;
    }
  }

  std::size_t end_of_run(std::string_view bytes, std::size_t at, std::size_t end, Class kind) const {
    for (;;) {
      while (at < end && classes_.of_byte(bytes[at]) == kind) ++at;
      if (at >= end || classes_.of_byte(bytes[at]) != Class::not_ascii) return at;
      std::size_t next = at;
      if (classes_.next(bytes, next) != kind) return at;
      at = next;
    }
  }

  std::string_view type_;
  Classes classes_;
  bool runs_of_marks_;
};

// Delimiters are single characters told by a predicate.
template <typename IsDelimiter>
class ByDelimiter final : public PreTokenizer {
 public:
  ByDelimiter(std::string_view type, IsDelimiter is_delimiter, SplitBehavior behavior)
      : type_(type), is_delimiter_(is_delimiter), behavior_(behavior) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view bytes = text.text.text();
    text.next_words.clear();
    for (const Span& word : text.words) {
      text.matches.clear();
      for (std::size_t at = word.begin; at < word.end;) {
        const auto begin = static_cast<std::uint32_t>(at);
        if (is_delimiter_(utf8::next(bytes, at))) text.matches.push_back({begin, static_cast<std::uint32_t>(at)});
      }
      split_word(word, text.matches, behavior_, false, text.next_words);
    }
    text.words.swap(text.next_words);
  }
  std::string_view type() const override { return type_; }

 private:
  std::string_view type_;
  IsDelimiter is_delimiter_;
  SplitBehavior behavior_;
};

template <typename IsDelimiter>
PreTokenizerPtr by_delimiter(std::string_view type, IsDelimiter is_delimiter, SplitBehavior behavior) {
  return std::make_shared<ByDelimiter<IsDelimiter>>(type, is_delimiter, behavior);
}

// tokenizers 0.22.2, pre_tokenizers/unicode_scripts/pre_tokenizer.rs: a cut before each character whose script differs
// from the last one that has any; what stands before the first such character is dropped.
class UnicodeScripts final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view bytes = text.text.text();
    text.next_words.clear();
    for (const Span& word : text.words) {
      int last = -1;
      std::uint32_t begin = word.end;
      for (std::size_t at = word.begin; at < word.end;) {
        const auto here = static_cast<std::uint32_t>(at);
        const char32_t c = utf8::next(bytes, at);
        const int script = c == U' ' ? 0 : unicode::script(c);
        if (script == 0 || script == last) continue;
        if (begin < here) text.next_words.push_back({begin, here});
        begin = here;
        last = script;
      }
      if (begin < word.end) text.next_words.push_back({begin, word.end});
    }
    text.words.swap(text.next_words);
  }
  std::string_view type() const override { return "UnicodeScripts"; }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(std::size_t length) : length_(length) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view bytes = text.text.text();
    text.next_words.clear();
    for (const Span& word : text.words) {
      for (std::size_t at = word.begin; at < word.end;) {
        const auto begin = static_cast<std::uint32_t>(at);
        for (std::size_t i = 0; i < length_ && at < word.end; ++i) utf8::next(bytes, at);
        text.next_words.push_back({begin, static_cast<std::uint32_t>(at)});
      }
    }
    text.words.swap(text.next_words);
  }
  std::string_view type() const override { return "FixedLength"; }

 private:
  std::size_t length_;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    for (const auto& step : steps_) step->pre_tokenize(text);
  }
  std::string_view type() const override { return "Sequence"; }
  bool leave_bytes() override { return !steps_.empty() && steps_.back()->leave_bytes(); }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

}  // namespace

PreTokenizerPtr make_bert_pre_tokenizer() {
  return std::make_shared<ByClass>("BertPreTokenizer", Classes(unicode::kWhiteSpace, 0, unicode::kBertPunctuation),
                                   false);
}

PreTokenizerPtr make_whitespace() {
  return std::make_shared<ByClass>("Whitespace", Classes(unicode::kWhiteSpace, unicode::kWord, 0), true);
}

PreTokenizerPtr make_whitespace_split() {
  return std::make_shared<ByClass>("WhitespaceSplit", Classes(unicode::kWhiteSpace, 0, 0), false);
}

PreTokenizerPtr make_punctuation(SplitBehavior behavior) {
  return by_delimiter(
      "Punctuation", [](char32_t c) { return unicode::is(c, unicode::kBertPunctuation); }, behavior);
}

PreTokenizerPtr make_digits(SplitBehavior behavior) {
  return by_delimiter(
      "Digits", [](char32_t c) { return unicode::is(c, unicode::kNumeric); }, behavior);
}

PreTokenizerPtr make_char_delimiter_split(char32_t delimiter) {
  return by_delimiter(
      "CharDelimiterSplit", [delimiter](char32_t c) { return c == delimiter; }, SplitBehavior::removed);
}

PreTokenizerPtr make_unicode_scripts() { return std::make_shared<UnicodeScripts>(); }
PreTokenizerPtr make_fixed_length(std::size_t length) { return std::make_shared<FixedLength>(length); }
PreTokenizerPtr make_pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps) {
  return std::make_shared<PreTokenizerSequence>(std::move(steps));
}

}  // namespace mha::tokenizer
