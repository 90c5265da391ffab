#include "search/passages.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "unicode/grapheme.hpp"

namespace mha {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

class Cutter {
 public:
  Cutter(const PassageRules& rules, const Tokenizer& tokenizer, TokenizerScratch& scratch)
      : rules_(rules), tokenizer_(tokenizer), scratch_(scratch) {
    options_.add_special_tokens = false;
  }

  void line(std::string_view text, std::size_t number) {
    if (is_blank(text)) {
      // A heading stays with what follows it.
      if (tokens_ * 4 >= rules_.tokens) end();
      return;
    }
    tokenizer_.encode(std::string(text), std::nullopt, options_, scratch_, encoding_);
    const std::size_t tokens = encoding_.size();
    if (rules_.by_line || tokens_ + tokens > rules_.tokens) end();
    if (tokens > rules_.tokens) return cut(text, number);
    if (passage_.text.empty()) {
      passage_.line = number;
    } else {
      passage_.text += '\n';
    }
    passage_.text += text;
    passage_.last_line = number;
    tokens_ += tokens;
    if (rules_.by_line) end();
  }

  std::vector<Passage> take() {
    end();
    return std::move(passages_);
  }

 private:
  void end() {
    if (!passage_.text.empty()) passages_.push_back(std::move(passage_));
    passage_ = {};
    tokens_ = 0;
  }

  // Pieces of one line that have as many tokens as fit, or a few more if a cluster would be divided.
  void cut(std::string_view text, std::size_t number) {
    std::size_t begin = 0;
    std::size_t border = 0;
    for (std::size_t token = rules_.tokens; token < encoding_.size(); token += rules_.tokens) {
      const std::size_t wanted = encoding_.offsets[token].begin;
      while (border < text.size() && border < wanted) {
        border = unicode::grapheme_end(text, border);
      }
      if (border >= text.size()) break;
      if (is_blank(text.substr(begin, border - begin)) || is_blank(text.substr(border))) continue;
      add(text.substr(begin, border - begin), number);
      begin = border;
    }
    add(text.substr(begin), number);
  }
  void add(std::string_view text, std::size_t number) {
    Passage passage;
    passage.line = passage.last_line = number;
    passage.text = text;
    passages_.push_back(std::move(passage));
  }

  const PassageRules& rules_;
  const Tokenizer& tokenizer_;
  TokenizerScratch& scratch_;
  EncodeOptions options_;
  Encoding encoding_;
  Passage passage_;
  std::size_t tokens_ = 0;
  std::vector<Passage> passages_;
};

}  // namespace

std::vector<Passage> cut_into_passages(std::string_view text, const PassageRules& rules, const Tokenizer& tokenizer,
                                       TokenizerScratch& scratch) {
  Cutter cutter(rules, tokenizer, scratch);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    cutter.line(line, number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return cutter.take();
}

std::vector<Passage> cut_record(std::string_view text, std::size_t tokens, const Tokenizer& tokenizer,
                                TokenizerScratch& scratch) {
  if (is_blank(text)) return {};
  EncodeOptions bare;
  bare.add_special_tokens = false;
  Encoding encoding;
  tokenizer.encode(std::string(text), std::nullopt, bare, scratch, encoding);
  if (encoding.size() > tokens)
    return cut_into_passages(text, {.tokens = tokens, .by_line = false}, tokenizer, scratch);
  Passage whole;
  whole.text = text;
  return {whole};
}

}  // namespace mha
