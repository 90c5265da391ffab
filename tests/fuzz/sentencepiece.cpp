// Any bytes as a SentencePiece model of each tokenizer class. The first byte chooses it.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "fuzz/tokenizer_files.hpp"

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
  mha::test::read_tokenizer(
      {{"spiece.model", {reinterpret_cast<const char*>(data) + 1, size - 1}}, {"tokenizer_config.json", config}});
  return 0;
}
