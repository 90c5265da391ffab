#include "tokenizer/post_processor/post_processor.hpp"

#include <catch2/catch.hpp>

#include "support/throws.hpp"
#include "tokenizer/json.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::test::error_of;
using mha::tokenizer::JsonDocument;
using mha::tokenizer::PostProcessor;

namespace {

PostProcessor processor(const std::string& json) {
  const auto document = JsonDocument::parse(json, "test");
  return PostProcessor::from_json(document.root(), [](std::int32_t id) { return id < 10; });
}

// `1:0 A:0 2:0`: a special token's id, or the sequence, with its type id.
std::string layout(const PostProcessor& of, bool pair, bool specials) {
  std::string text;
  for (const auto& slot : of.layout(pair, specials)) {
    text += text.empty() ? "" : " ";
    text += slot.sequence < 0 ? std::to_string(slot.id) : slot.sequence == 0 ? "A" : "B";
    text += ':' + std::to_string(slot.type_id);
  }
  return text;
}

const std::string kTemplate =
    R"({"type":"TemplateProcessing",)"
    R"("single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],)"
    R"("pair":[{"Sequence":{"id":"A","type_id":3}},{"SpecialToken":{"id":"S","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],)"
    R"("special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"S":{"id":"S","ids":[2,3],"tokens":["a","b"]}}})";

}  // namespace

TEST_CASE("post-processor: none joins text and pair") {
  CHECK(layout(PostProcessor(), false, true) == "A:0");
  CHECK(layout(PostProcessor(), true, true) == "A:0 B:1");
  CHECK(PostProcessor().special_count(true) == 0);
}

TEST_CASE("post-processor: Bert puts the pair behind its separator with type 1") {
  const auto of = processor(R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})");
  CHECK(layout(of, false, true) == "1:0 A:0 2:0");
  CHECK(layout(of, true, true) == "1:0 A:0 2:0 B:1 2:1");
  CHECK(layout(of, true, false) == "A:0 B:1");
  CHECK(of.special_count(true) == 3);
  CHECK(of.roles().at("cls_token") == "[CLS]");
}

TEST_CASE("post-processor: Roberta has type 0 everywhere, also without specials") {
  const auto of = processor(
      R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":false})");
  CHECK(layout(of, true, true) == "0:0 A:0 2:0 2:0 B:0 2:0");
  CHECK(layout(of, true, false) == "A:0 B:0");
  CHECK(of.trims() == std::vector<bool>{false});
}

TEST_CASE("post-processor: a template gives types, and one name may stand for several ids") {
  const auto of = processor(kTemplate);
  CHECK(layout(of, false, true) == "1:0 A:0");
  CHECK(layout(of, true, true) == "A:3 2:1 3:1 B:1");
  CHECK(layout(of, true, false) == "A:3 B:1");
  CHECK(of.special_count(true) == 2);
}

TEST_CASE("post-processor: a sequence runs its steps in order") {
  const auto of =
      processor(R"({"type":"Sequence","processors":[{"type":"ByteLevel","trim_offsets":false},)" + kTemplate + "]}");
  CHECK(layout(of, false, true) == "1:0 A:0");
  CHECK(of.trims().empty());
  const auto trimmed = processor(
      R"({"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}]})");
  CHECK(trimmed.trims() == std::vector<bool>{true});
}

TEST_CASE("post-processor: what a template cannot mean is refused") {
  const auto refusal = [](const std::string& json) { return error_of(ErrorKind::model, [&] { processor(json); }); };
  CHECK_THAT(
      refusal(
          R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"B","type_id":0}}],"pair":[],"special_tokens":{}})"),
      Contains("expected only \"A\""));
  CHECK_THAT(
      refusal(
          R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":0}}],"pair":[],"special_tokens":{}})"),
      Contains("\"X\""));
  CHECK_THAT(refusal(R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",11]})"), Contains("got 11"));
  CHECK_THAT(refusal(R"({"type":"BertProcessing","sep":["[SEP]"],"cls":["[CLS]",1]})"), Contains("[token, id]"));
  CHECK_THAT(refusal(R"({"type":"AlbertProcessing"})"), Contains("unknown post_processor \"AlbertProcessing\""));
}
