// Post-processors from `tokenizer.json`.
#include "tokenizer/json.hpp"
#include "tokenizer/post_processor/post_processor.hpp"
#include "tokenizer/vocab.hpp"

namespace mha::tokenizer {
namespace {

// Far above what any tokenizer has; a hostile file must not take long to load.
constexpr std::size_t kMaxSteps = 64;

std::int32_t token_id(const JsonValue& value) { return static_cast<std::int32_t>(value.as_integer(0, Vocab::kMaxId)); }

NamedToken named_token(const JsonValue& value) {
  value.expect_array();
  if (value.size() != 2) value.error("expected [token, id], got " + std::to_string(value.size()) + " elements");
  auto element = value.elements().begin();
  NamedToken token{(*element).as_string(), -1};
  ++element;
  token.id = token_id(*element);
  return token;
}

std::vector<TemplateOptions::Piece> pieces_of(const JsonValue& pieces, const std::optional<JsonValue>& tokens) {
  std::vector<TemplateOptions::Piece> read;
  for (const JsonValue element : pieces.elements()) {
    TemplateOptions::Piece piece;
    if (const auto sequence = element.find("Sequence")) {
      const JsonValue id = sequence->at("id");
      const std::string name = id.as_string();
      if (name != "A" && name != "B") id.error("expected \"A\" or \"B\", got \"" + name + "\"");
      piece.kind = name == "A" ? TemplateOptions::Piece::Kind::text : TemplateOptions::Piece::Kind::pair;
      piece.type_id = token_id(sequence->at("type_id"));
    } else if (const auto token = element.find("SpecialToken")) {
      const JsonValue id = token->at("id");
      piece.kind = TemplateOptions::Piece::Kind::special;
      piece.type_id = token_id(token->at("type_id"));
      const auto entry = tokens ? tokens->find(id.as_string()) : std::nullopt;
      if (!entry) id.error("expected a token of special_tokens, got \"" + id.as_string() + "\"");
      for (const JsonValue number : entry->at("ids").elements()) piece.ids.push_back(token_id(number));
    } else {
      element.error("expected {\"Sequence\": …} or {\"SpecialToken\": …}");
    }
    read.push_back(std::move(piece));
  }
  return read;
}

}  // namespace

void PostProcessor::read_steps(const JsonValue& value, std::vector<PlacedStep>& steps) {
  const std::string type = value.at("type").as_string();
  const auto flag = [&](std::string_view key) { return value.bool_or(key, true); };
  const auto add = [&](Step step) { steps.push_back({std::move(step), value.where()}); };
  if (type == "Sequence") {
    for (const JsonValue step : value.at("processors").elements()) read_steps(step, steps);
  } else if (type == "BertProcessing") {
    add(BertProcessingOptions{named_token(value.at("cls")), named_token(value.at("sep"))});
  } else if (type == "RobertaProcessing") {
    add(RobertaProcessingOptions{named_token(value.at("cls")), named_token(value.at("sep")), flag("trim_offsets"),
                                 flag("add_prefix_space")});
  } else if (type == "TemplateProcessing") {
    const auto tokens = value.find("special_tokens");
    add(TemplateOptions{pieces_of(value.at("single"), tokens), pieces_of(value.at("pair"), tokens)});
  } else if (type == "ByteLevel") {
    add(ByteLevelProcessingOptions{flag("trim_offsets"), flag("add_prefix_space")});
  } else {
    value.at("type").error("unknown post_processor \"" + type + "\"");
  }
  if (steps.size() > kMaxSteps) value.error("expected at most " + std::to_string(kMaxSteps) + " processors, got more");
}

PostProcessor PostProcessor::from_json(const JsonValue& value, const HasToken& has_token) {
  std::vector<PlacedStep> steps;
  read_steps(value, steps);
  PostProcessor processor;
  processor.set(value.at("type").as_string(), steps, value.where(), has_token);
  return processor;
}

}  // namespace mha::tokenizer
