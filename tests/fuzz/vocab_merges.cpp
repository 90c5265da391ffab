// Any bytes as vocab.json and merges.txt, separated by the first NUL. The first byte chooses the tokenizer class.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "fuzz/tokenizer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::string_view kConfigs[] = {
      R"({"model_type":"roberta"})",
      R"({"model_type":"gpt2","added_tokens_decoder":{"9":{"content":"<x>","lstrip":true}}})",
      R"({"tokenizer_class":"CLIPTokenizer"})",
      R"({"tokenizer_class":"DebertaTokenizer","add_prefix_space":true})",
  };
  const std::string_view config = kConfigs[data[0] % std::size(kConfigs)];
  const auto [vocab, merges] = mha::test::parts_of<2>({reinterpret_cast<const char*>(data) + 1, size - 1});
  mha::test::read_tokenizer(
      {{"config.json", config}, {"merges.txt", merges}, {"tokenizer_config.json", config}, {"vocab.json", vocab}});
  return 0;
}
