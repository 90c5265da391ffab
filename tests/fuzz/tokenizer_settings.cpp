// Any bytes as tokenizer_config.json, special_tokens_map.json, added_tokens.json and config.json (separated by NULs)
// beside a small vocabulary. The first byte chooses WordPiece or byte-level BPE.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/tokenizer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto [settings, specials, added, config] =
      mha::test::parts_of<4>({reinterpret_cast<const char*>(data) + 1, size - 1});
  std::vector<std::pair<std::string_view, std::string_view>> files{{"added_tokens.json", added},
                                                                   {"config.json", config},
                                                                   {"special_tokens_map.json", specials},
                                                                   {"tokenizer_config.json", settings}};
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  if (data[0] % 2 == 0) {
    files.emplace_back(
        "vocab.txt",
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\na\n##b\n1\n##2\n(\n)\n<s>\n</s>\n<mask>\n<unk>\n<pad>");
  } else {
    files.emplace_back("merges.txt", "#version: 0.2\na b\nl l\n");
    files.emplace_back("vocab.json",
                       R"({"<s>":0,"</s>":1,"<unk>":2,"<pad>":3,"<mask>":4,"a":5,"b":6,"l":7,"ab":8,"ll":9})");
  }
  mha::test::read_tokenizer(files);
  return 0;
}
