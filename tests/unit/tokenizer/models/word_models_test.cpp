#include <catch2/catch.hpp>

#include "support/throws.hpp"
#include "tokenizer/models/models.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::Span;
using mha::test::error_of;
using mha::tokenizer::JsonDocument;
using mha::tokenizer::Piece;
using mha::tokenizer::TokenModel;

namespace {

std::shared_ptr<TokenModel> model(const std::string& json) {
  const auto document = JsonDocument::parse(json, "test");
  return TokenModel::from_json(document.root());
}

// Pieces of one word as `id:begin-end`.
std::string pieces(const TokenModel& of, const std::string& word) {
  std::vector<Piece> found;
  const Span whole{0, static_cast<std::uint32_t>(word.size())};
  of.tokenize(word, {&whole, 1}, *of.make_scratch(), found);
  std::string text;
  for (const Piece& piece : found) {
    text += (text.empty() ? "" : " ") + std::to_string(piece.id) + ':' + std::to_string(piece.begin) + '-' +
            std::to_string(piece.end);
  }
  return text;
}

const std::string kWordPiece =
    R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":5,)"
    R"("vocab":{"[UNK]":0,"un":1,"##aff":2,"##a":3,"##able":4,"é":5,"##é":6,"aff":7,"##un":8,"#":9}})";

}  // namespace

TEST_CASE("word piece: takes the longest piece again and again") {
  const auto of = model(kWordPiece);
  CHECK(pieces(*of, "un") == "1:0-2");
  CHECK(pieces(*of, "unaff") == "1:0-2 2:2-5");
  CHECK(pieces(*of, "una") == "1:0-2 3:2-3");
  CHECK(pieces(*of, "éé") == "5:0-2 6:2-4");
  CHECK(pieces(*of, "##un") == "8:0-4");
}

TEST_CASE("word piece: a rest without a piece makes the whole word unknown") {
  const auto of = model(kWordPiece);
  CHECK(pieces(*of, "unx") == "0:0-3");
  CHECK(pieces(*of, "xun") == "0:0-3");
}

TEST_CASE("word piece: the length limit counts characters") {
  const auto of = model(kWordPiece);
  CHECK(pieces(*of, "ééééé") == "5:0-2 6:2-4 6:4-6 6:6-8 6:8-10");
  CHECK(pieces(*of, "éééééé") == "0:0-12");
}

TEST_CASE("word piece: without its unknown token an unknown word is refused") {
  const auto of = model(R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
                        R"("max_input_chars_per_word":100,"vocab":{"a":0}})");
  CHECK(pieces(*of, "a") == "0:0-1");
  CHECK_THAT(error_of(ErrorKind::input, [&] { pieces(*of, "b"); }), Contains("[UNK]"));
}

TEST_CASE("word piece: pieces of every length are found, also very long ones") {
  std::string vocab = R"("u":0)";
  std::string piece;
  for (int length = 1; length <= 70; ++length) {
    piece += static_cast<char>('a' + length % 7);
    vocab += ",\"" + piece + "\":" + std::to_string(length) + ",\"##" + piece + "\":" + std::to_string(100 + length);
  }
  const auto of = model(R"({"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"##",)"
                        R"("max_input_chars_per_word":1000,"vocab":{)" +
                        vocab + "}}");
  for (std::size_t length = 1; length < 70; ++length) {
    const std::string text = std::to_string(length);
    CHECK(pieces(*of, piece.substr(0, length)) == text + ":0-" + text);
    CHECK(pieces(*of, piece + piece.substr(0, length)) ==
          "70:0-70 " + std::to_string(100 + length) + ":70-" + std::to_string(70 + length));
  }
}

TEST_CASE("word piece: the prefix of continuing pieces may be empty") {
  const auto of = model(R"({"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"",)"
                        R"("max_input_chars_per_word":100,"vocab":{"u":0,"ab":1,"a":2}})");
  CHECK(pieces(*of, "aba") == "1:0-2 2:2-3");
}

TEST_CASE("word level: whole words, or the unknown token") {
  const auto of = model(R"({"type":"WordLevel","unk_token":"<u>","vocab":{"<u>":3,"she":1}})");
  CHECK(pieces(*of, "she") == "1:0-3");
  CHECK(pieces(*of, "he") == "3:0-2");
}

TEST_CASE("models: untagged files are told by their keys") {
  std::string untagged = kWordPiece;
  untagged.erase(1, std::string(R"("type":"WordPiece",)").size());
  CHECK(model(untagged)->type() == "WordPiece");
  CHECK(model(R"({"unk_token":"u","vocab":{"u":0}})")->type() == "WordLevel");
}

TEST_CASE("models: an id out of range, twice, or a key that is missing is an error") {
  const auto refusal = [](const std::string& json) { return error_of(ErrorKind::model, [&] { model(json); }); };
  CHECK_THAT(refusal(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":-1}})"),
             Contains("model") || Contains("vocab.u"));
  CHECK_THAT(refusal(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":4000000000}})"), Contains("vocab.u"));
  CHECK_THAT(refusal(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":200000000}})"), Contains("vocab.u"));
  CHECK_THAT(refusal(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":0,"v":0}})"), Contains("twice"));
  CHECK_THAT(refusal(R"({"type":"WordLevel","vocab":{"u":0}})"), Contains("unk_token"));
  CHECK_THAT(refusal(R"({"type":"WordPeace","vocab":{"u":0}})"), Contains("unknown model \"WordPeace\""));
}
