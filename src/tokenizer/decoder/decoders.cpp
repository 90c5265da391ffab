#include "tokenizer/decoder/decoders.hpp"

#include <algorithm>
#include <optional>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/byte_level_alphabet.hpp"
#include "tokenizer/metaspace_options.hpp"
#include "tokenizer/pattern/pattern.hpp"

// Source of all: tokenizers 0.22.2, decoders/*.rs and the decoders in pre_tokenizers/{byte_level,metaspace}.rs and
// normalizers/replace.rs.
namespace mha::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

/// Every occurrence of `from`, left to right. An empty one occurs before each character and at the end.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t position = 0;
  if (from.empty()) {
    while (position < text.size()) {
      std::size_t next = position;
      utf8::next(text, next);
      out += to;
      out += text.substr(position, next - position);
      position = next;
    }
    out += to;
    return out;
  }
  for (;;) {
    const std::size_t found = text.find(from, position);
    if (found == std::string_view::npos) break;
    out += text.substr(position, found - position);
    out += to;
    position = found + from.size();
  }
  out += text.substr(position);
  return out;
}

/// The reference's `cleanup`: English spacing, one rule after the other.
std::string clean_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) {
    if (text.find(from) != std::string::npos) text = replace_all(text, from, to);
  }
  return text;
}

class WordPieceDecoder final : public Decoder {
 public:
  explicit WordPieceDecoder(WordPieceDecoderOptions options) : options_(std::move(options)) {}
  void decode(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) {
        if (token.starts_with(options_.prefix)) {
          token.erase(0, options_.prefix.size());
        } else {
          token.insert(0, 1, ' ');
        }
      }
      if (options_.cleanup) token = clean_up(std::move(token));
    }
  }
  std::string_view type() const override { return "WordPiece"; }

 private:
  WordPieceDecoderOptions options_;
};

class ByteLevelDecoder final : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const std::size_t size = bytes.size();
      for (std::size_t position = 0; position < token.size();) {
        const int byte = ByteLevelAlphabet::get().byte(utf8::next(token, position));
        if (byte < 0) {  // a token outside the alphabet stands for itself
          bytes.resize(size);
          bytes += token;
          break;
        }
        bytes.push_back(static_cast<char>(byte));
      }
    }
    tokens.assign(1, utf8::replace_invalid(bytes));
  }
  std::string_view type() const override { return "ByteLevel"; }
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void decode(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    }
  }
  std::string_view type() const override { return "BPEDecoder"; }

 private:
  std::string suffix_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(MetaspaceOptions options) : options_(std::move(options)) {}
  void decode(Tokens& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && options_.prepend != MetaspaceOptions::Prepend::never;
      tokens[i] = replace_all(tokens[i], options_.replacement, drops ? "" : " ");
    }
  }
  std::string_view type() const override { return "Metaspace"; }

 private:
  MetaspaceOptions options_;
};

class ByteFallback final : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (utf8::first_invalid(bytes) == utf8::kValid) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes.push_back(*byte);
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }
  std::string_view type() const override { return "ByteFallback"; }

 private:
  // `<0x41>`; the reference's number parser also takes `<0x+4>`.
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    const auto digit = [](char c) {
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    const int high = token[3] == '+' ? 0 : digit(token[3]);
    const int low = digit(token[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(high * 16 + low));
  }
};

class Fuse final : public Decoder {
 public:
  void decode(Tokens& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, std::move(all));
  }
  std::string_view type() const override { return "Fuse"; }
};

class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(StripDecoderOptions options) : options_(std::move(options)) {}
  void decode(Tokens& tokens) const override {
    const std::string& content = options_.content;
    for (std::string& token : tokens) {
      std::size_t begin = 0;
      std::size_t end = token.size();
      for (std::size_t i = 0; i < options_.start && token.compare(begin, content.size(), content) == 0; ++i) {
        begin += content.size();
      }
      for (std::size_t i = 0; i < options_.stop && end >= begin + content.size() &&
                              token.compare(end - content.size(), content.size(), content) == 0;
           ++i) {
        end -= content.size();
      }
      token = token.substr(begin, end - begin);
    }
  }
  std::string_view type() const override { return "Strip"; }

 private:
  StripDecoderOptions options_;
};

class Ctc final : public Decoder {
 public:
  explicit Ctc(CtcOptions options) : options_(std::move(options)) {}
  void decode(Tokens& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    Tokens out;
    for (const std::string& token : tokens) {
      std::string text = replace_all(token, options_.pad_token, "");
      if (options_.cleanup) text = replace_all(clean_up(std::move(text)), options_.word_delimiter_token, " ");
      if (!text.empty()) out.push_back(std::move(text));
    }
    tokens = std::move(out);
  }
  std::string_view type() const override { return "CTC"; }

 private:
  CtcOptions options_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(std::shared_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void decode(Tokens& tokens) const override {
    std::vector<Span> matches;
    for (std::string& token : tokens) {
      if (token.empty()) continue;
      matches.clear();
      pattern_->find(token, matches);
      std::string out;
      std::size_t position = 0;
      for (const Span match : matches) {
        out.append(token, position, match.begin - position);
        out += content_;
        position = match.end;
      }
      out.append(token, position);
      token = std::move(out);
    }
  }
  std::string_view type() const override { return "Replace"; }

 private:
  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> decoders) : decoders_(std::move(decoders)) {}
  void decode(Tokens& tokens) const override {
    for (const DecoderPtr& decoder : decoders_) decoder->decode(tokens);
  }
  std::string_view type() const override { return "Sequence"; }

 private:
  std::vector<DecoderPtr> decoders_;
};

}  // namespace

DecoderPtr make_word_piece_decoder(WordPieceDecoderOptions options) {
  return std::make_shared<WordPieceDecoder>(std::move(options));
}

DecoderPtr make_byte_level_decoder() { return std::make_shared<ByteLevelDecoder>(); }
DecoderPtr make_byte_fallback() { return std::make_shared<ByteFallback>(); }
DecoderPtr make_fuse() { return std::make_shared<Fuse>(); }
DecoderPtr make_bpe_decoder(std::string suffix) { return std::make_shared<BpeDecoder>(std::move(suffix)); }

DecoderPtr make_metaspace_decoder(MetaspaceOptions options) {
  return std::make_shared<MetaspaceDecoder>(std::move(options));
}

DecoderPtr make_strip_decoder(StripDecoderOptions options) {
  return std::make_shared<StripDecoder>(std::move(options));
}

DecoderPtr make_ctc(CtcOptions options) { return std::make_shared<Ctc>(std::move(options)); }

DecoderPtr make_replace_decoder(std::shared_ptr<const Pattern> pattern, std::string content) {
  return std::make_shared<ReplaceDecoder>(std::move(pattern), std::move(content));
}

DecoderPtr make_decoder_sequence(std::vector<DecoderPtr> steps) {
  return std::make_shared<DecoderSequence>(std::move(steps));
}

}  // namespace mha::tokenizer
