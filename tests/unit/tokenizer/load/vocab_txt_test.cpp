#include <catch2/catch.hpp>

#include "mha/tokenizer/tokenizer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"
#include "support/tokenizer_stages.hpp"

using Catch::Contains;
using mha::Encoding;
using mha::ErrorKind;
using mha::Tokenizer;
using mha::TokenizerScratch;
using mha::test::error_of;
using mha::test::TemporaryFolder;
using Ids = std::vector<std::int32_t>;

namespace {

constexpr const char* kVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nshe\n##s\nA\r\n\nlast";

Encoding encode(const Tokenizer& tokenizer, std::string_view text, std::optional<std::string_view> pair = {}) {
  TokenizerScratch scratch;
  Encoding out;
  tokenizer.encode(text, pair, {}, scratch, out);
  return out;
}

}  // namespace

TEST_CASE("folder: vocab.txt alone is BERT's tokenizer, lower case by default") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", kVocab);
  const auto tokenizer = Tokenizer::from_folder(folder.path().string());
  CHECK(tokenizer->vocab_size() == 10);
  CHECK(tokenizer->token(7) == "A");
  CHECK(tokenizer->token(9) == "last");
  const Encoding out = encode(*tokenizer, "SHES [MASK]", "last");
  CHECK(out.input_ids == Ids{2, 5, 6, 4, 3, 9, 3});
  CHECK(out.token_type_ids == Ids{0, 0, 0, 0, 0, 1, 1});
  CHECK(tokenizer->role_id("cls_token") == 2);
}

TEST_CASE("folder: settings beside vocab.txt are followed") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", kVocab);
  folder.write("tokenizer_config.json",
               R"({"do_lower_case": false, "tokenizer_class": "BertTokenizerFast", "mask_token": {"content": "<m>"}})");
  folder.write("added_tokens.json", R"({"<b>": 11, "<a>": 10})");
  const auto tokenizer = Tokenizer::from_folder(folder.path().string());
  CHECK(encode(*tokenizer, "A<a><b><m>").input_ids == Ids{2, 7, 10, 11, 12, 3});
  CHECK(tokenizer->is_special(12));
  CHECK_FALSE(tokenizer->is_special(10));
}

TEST_CASE("folder: the added tokens of newer configs come in the order of their ids") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", kVocab);
  folder.write(
      "tokenizer_config.json",
      R"({"added_tokens_decoder": {"12": {"content": "<y>", "special": true}, "10": {"content": "<x>", "special": false, "normalized": true}}})");
  const auto tokenizer = Tokenizer::from_folder(folder.path().string());
  CHECK(tokenizer->id_of("<x>") == 10);
  CHECK(tokenizer->id_of("<y>") == 11);
  CHECK(tokenizer->is_special(11));
}

TEST_CASE("folder: MPNet has its own specials") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\nshe\n<mask>\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  const auto tokenizer = Tokenizer::from_folder(folder.path().string());
  const Encoding out = encode(*tokenizer, "she <mask>", "she");
  CHECK(out.input_ids == Ids{0, 4, 5, 2, 2, 4, 2});
  CHECK(out.token_type_ids == Ids{0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("folder: tokenizer.json comes first, and nothing is an error that lists what was looked for") {
  const TemporaryFolder folder;
  CHECK_THAT(error_of(ErrorKind::model, [&] { Tokenizer::from_folder(folder.path().string()); }),
             Contains("tokenizer.json, vocab.txt, vocab.json"));
  folder.write("vocab.txt", kVocab);
  folder.write("tokenizer.json", R"({"model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "she": 1}}})");
  CHECK(encode(*Tokenizer::from_folder(folder.path().string()), "she").input_ids == Ids{1});
}

TEST_CASE("folder: a vocabulary without its specials is refused by name") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "a\nb\n");
  CHECK_NOTHROW(Tokenizer::from_folder(folder.path().string()));  // the specials are added, as the reference does
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "RoFormerTokenizer"})");
  CHECK_THAT(error_of(ErrorKind::model, [&] { Tokenizer::from_folder(folder.path().string()); }),
             Contains("RoFormerTokenizer"));
}
