#include "tokenizer/decoder/decoder.hpp"

#include <catch2/catch.hpp>

#include "support/throws.hpp"
#include "support/tokenizer_component.hpp"

namespace mha::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

Tokens decoded(const std::string& json, Tokens tokens) {
  mha::test::component<Decoder>(json, "test")->decode(tokens);
  return tokens;
}

// Expected values: tokenizers 0.22.2 (its own tests where they exist, else run by hand).
TEST_CASE("decoders rewrite tokens as the reference does") {
  CHECK(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":false})", {"##uelo", "Ara", "##új", "##o", "No", "."}) ==
        Tokens{"##uelo", " Ara", "új", "o", " No", " ."});
  CHECK(decoded(R"({"type":"WordPiece","prefix":"##","cleanup":true})", {"do", "n't", ".", "do", "not", "'s", "a ?"}) ==
        Tokens{"do", "n't", ".", " do", " not", "'s", " a?"});
  CHECK(decoded(R"({"type":"BPEDecoder","suffix":"</w>"})", {"he", "llo</w>", "you</w>"}) ==
        Tokens{"he", "llo ", "you"});
  CHECK(decoded(R"({"type":"BPEDecoder","suffix":"</w>"})", {}).empty());
  CHECK(decoded(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})", {"Ġa", "ÃŃ", "<s>", "中"}) ==
        Tokens{" aí<s>中"});
  CHECK(decoded(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})", {"Ã", "x"}) ==
        Tokens{"\uFFFDx"});
  CHECK(decoded(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})", {"▁Hey", "▁fr▁iend"}) ==
        Tokens{"Hey", " fr iend"});
  CHECK(decoded(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})", {"▁Hey", "▁friend"}) ==
        Tokens{" Hey", " friend"});
  CHECK(decoded(R"({"type":"ByteFallback"})", {"Hey", "<0xE5>", "<0x8f>", "<0xab>", "a", "<0xE5>", "<0x8f>",
                                               "<0x+4>"}) == Tokens{"Hey", "叫", "a", "\uFFFD", "\uFFFD", "\uFFFD"});
  CHECK(decoded(R"({"type":"ByteFallback"})", {"<0xZZ>", "<0x1>", "<0xé>"}) == Tokens{"<0xZZ>", "<0x1>", "<0xé>"});
  CHECK(decoded(R"({"type":"Fuse"})", {"Hey", " friend!"}) == Tokens{"Hey friend!"});
  CHECK(decoded(R"({"type":"Replace","pattern":{"String":"_"},"content":" "})", {"hello", "_hello_"}) ==
        Tokens{"hello", " hello "});
  CHECK(decoded(R"({"type":"Replace","pattern":{"Regex":"l+"},"content":"L"})", {"hello", ""}) == Tokens{"heLo", ""});
  CHECK(decoded(R"({"type":"Strip","content":"H","start":1,"stop":0})", {"Hey", "HHH", " friend!"}) ==
        Tokens{"ey", "HH", " friend!"});
  CHECK(decoded(R"({"type":"Strip","content":"y","start":0,"stop":1})", {"Hey", "yy", ""}) == Tokens{"He", "y", ""});
  CHECK(decoded(R"({"type":"Strip","content":"é","start":5,"stop":5})", {"ééaéé", "éé"}) == Tokens{"a", ""});
  CHECK(decoded(R"({"type":"CTC","pad_token":"<pad>","word_delimiter_token":"|","cleanup":true})",
                {"<pad>", "h", "e", "e", "l", "l", "<pad>", "l", "o", "|", "|", "w"}) ==
        Tokens{"h", "e", "l", "l", "o", " ", "w"});
  CHECK(decoded(R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
                    {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
                {"▁The", "▁", "<0xC3>", "<0xA9>"}) == Tokens{"The é"});
}

TEST_CASE("an unknown or incomplete decoder is a model error by name") {
  const auto message = [](const std::string& json) {
    return test::error_of(ErrorKind::model, [&] { mha::test::component<Decoder>(json, "test"); });
  };
  CHECK_THAT(message(R"({"type":"Nope"})"), Catch::Contains("Nope"));
  CHECK_THAT(message(R"({"type":"BPEDecoder"})"), Catch::Contains("suffix"));
  CHECK_THAT(message(R"({"type":"Strip","content":"ab","start":0,"stop":0})"), Catch::Contains("content"));
  CHECK_THAT(message(R"({"type":"Metaspace","replacement":"","prepend_scheme":"always"})"),
             Catch::Contains("replacement"));
  CHECK_THAT(message(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"often"})"),
             Catch::Contains("prepend_scheme"));
}

}  // namespace
}  // namespace mha::tokenizer
