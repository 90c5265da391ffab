// Any bytes as vocab.json and merges.txt (the first NUL parts them) of each tokenizer class: refused with Error{model}, or
// a tokenizer whose offsets lie inside the text. The first byte chooses the class.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/error.hpp"
#include "mha/io/file_set.hpp"
#include "mha/tokenizer/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::string_view kConfigs[] = {
      R"({"model_type":"roberta"})",
      R"({"model_type":"gpt2","added_tokens_decoder":{"9":{"content":"<x>","lstrip":true}}})",
      R"({"tokenizer_class":"CLIPTokenizer"})",
      R"({"tokenizer_class":"DebertaTokenizer","add_prefix_space":true})",
  };
  const std::string_view config = kConfigs[data[0] % std::size(kConfigs)];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = input.find('\0');
  const std::string_view vocab = input.substr(0, cut);
  const std::string_view merges = cut == std::string_view::npos ? std::string_view() : input.substr(cut + 1);
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); };
  const auto files = mha::memory_files({{"config.json", bytes(config)},
                                        {"merges.txt", bytes(merges)},
                                        {"tokenizer_config.json", bytes(config)},
                                        {"vocab.json", bytes(vocab)}},
                                       "fuzz");
  std::shared_ptr<const mha::Tokenizer> tokenizer;
  try {
    tokenizer = mha::Tokenizer::from_files(*files);
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::model) std::abort();
    return 0;
  }
  mha::TokenizerScratch scratch;
  mha::Encoding out;
  const std::string_view text = "Hello  abab (ab) 12½ é e\xCC\x81 \xE4\xB8\xAD <mask><x><s> \xF0\x9F\x98\x80\r\n ";
  try {
    tokenizer->encode(text, text, {}, scratch, out);
    for (const mha::Span span : out.offsets) {
      if (span.begin > span.end || span.end > text.size()) std::abort();
    }
    tokenizer->decode(out.input_ids, true);
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::input) std::abort();
  }
  return 0;
}
