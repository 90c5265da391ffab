// Any bytes as vocab.txt of each tokenizer class that reads one. The first byte chooses it.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "fuzz/tokenizer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::string_view kConfigs[] = {
      R"({"tokenizer_class":"BertTokenizer"})",
      R"({"tokenizer_class":"BertTokenizer","do_lower_case":false,"strip_accents":true,"tokenize_chinese_chars":false})",
      R"({"tokenizer_class":"MPNetTokenizer"})",
      R"({"tokenizer_class":"FunnelTokenizer"})",
      R"({"tokenizer_class":"ElectraTokenizer","unk_token":"a","mask_token":{"content":"<mask>","lstrip":true}})",
  };
  const std::string_view config = kConfigs[data[0] % std::size(kConfigs)];
  mha::test::read_tokenizer(
      {{"tokenizer_config.json", config}, {"vocab.txt", {reinterpret_cast<const char*>(data) + 1, size - 1}}});
  return 0;
}
