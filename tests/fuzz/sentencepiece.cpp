// Any bytes as a SentencePiece model of each tokenizer class: refused with Error{model}, or a tokenizer whose offsets lie
// inside the text. The first byte chooses the class.
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
      "{}",
      R"({"tokenizer_class":"AlbertTokenizer"})",
      R"({"tokenizer_class":"CamembertTokenizer"})",
      R"({"tokenizer_class":"DebertaV2Tokenizer","split_by_punct":true})",
      R"({"tokenizer_class":"T5Tokenizer","extra_ids":3})",
      R"({"tokenizer_class":"XLMRobertaTokenizer"})",
      R"({"tokenizer_class":"XLNetTokenizer"})",
  };
  const std::string_view config = kConfigs[data[0] % std::size(kConfigs)];
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); };
  const std::string_view model(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto files =
      mha::memory_files({{"spiece.model", bytes(model)}, {"tokenizer_config.json", bytes(config)}}, "fuzz");
  std::shared_ptr<const mha::Tokenizer> tokenizer;
  try {
    tokenizer = mha::Tokenizer::from_files(*files);
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::model) std::abort();
    return 0;
  }
  mha::TokenizerScratch scratch;
  mha::Encoding out;
  const std::string_view text = "Hello  abab (ab) 12½ é e\xCC\x81 \xE4\xB8\xAD <mask>[MASK]<s> \xF0\x9F\x98\x80\r\n ";
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
