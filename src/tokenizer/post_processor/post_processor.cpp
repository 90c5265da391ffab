#include "tokenizer/post_processor/post_processor.hpp"

#include <algorithm>

#include "tokenizer/json.hpp"
#include "tokenizer/vocab.hpp"

namespace mha::tokenizer {
namespace {

using Slot = PostProcessor::Slot;

// Far above what any tokenizer has; a hostile file must not make each text long.
constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxSlots = 4096;

std::int32_t token_id(const JsonValue& value) { return static_cast<std::int32_t>(value.as_integer(0, Vocab::kMaxId)); }

// `["[SEP]", 102]`
struct NamedToken {
  std::string content;
  std::int32_t id;
};

NamedToken named_token(const JsonValue& value) {
  value.expect_array();
  if (value.size() != 2) value.error("expected [token, id], got " + std::to_string(value.size()) + " elements");
  auto element = value.elements().begin();
  NamedToken token{(*element).as_string(), -1};
  ++element;
  token.id = token_id(*element);
  return token;
}

Slot special(std::int32_t id, std::int32_t type_id) { return {-1, id, type_id, type_id}; }

// tokenizers 0.22.2, processors/bert.rs and roberta.rs: the first sequence between cls and sep, each further one
// (behind a sep of its own, for Roberta) before a sep.
void surround(const JsonValue& value, bool roberta, std::vector<PostProcessor::Layout>& encodings) {
  const std::int32_t cls = named_token(value.at("cls")).id;
  const std::int32_t sep = named_token(value.at("sep")).id;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    auto& encoding = encodings[i];
    const std::int32_t type_id = i > 0 && !roberta ? 1 : 0;
    if (i == 0) encoding.insert(encoding.begin(), special(cls, 0));
    if (i > 0 && roberta) encoding.insert(encoding.begin(), special(sep, 0));
    encoding.push_back(special(sep, type_id));
  }
}

// processors/template.rs
void fill_template(const JsonValue& value, bool specials, std::vector<PostProcessor::Layout>& encodings) {
  if (encodings.size() > 2) value.error("expected at most two sequences, got a template behind a template");
  const JsonValue pieces = value.at(encodings.size() == 2 ? "pair" : "single");
  const auto tokens = value.find("special_tokens");
  std::vector<PostProcessor::Layout> filled;
  for (const JsonValue piece : pieces.elements()) {
    if (const auto sequence = piece.find("Sequence")) {
      const JsonValue id = sequence->at("id");
      const std::string name = id.as_string();
      if (name != "A" && name != "B") id.error("expected \"A\" or \"B\", got \"" + name + "\"");
      const std::size_t index = name == "A" ? 0 : 1;
      if (index >= encodings.size()) id.error("expected only \"A\" in a template for one sequence, got \"B\"");
      filled.push_back(encodings[index]);
      for (Slot& slot : filled.back()) slot.type_id = token_id(sequence->at("type_id"));
    } else if (const auto token = piece.find("SpecialToken")) {
      const JsonValue id = token->at("id");
      const std::int32_t type_id = token_id(token->at("type_id"));
      const auto entry = tokens ? tokens->find(id.as_string()) : std::nullopt;
      if (!entry) id.error("expected a token of special_tokens, got \"" + id.as_string() + "\"");
      if (!specials) continue;
      filled.emplace_back();
      for (const JsonValue number : entry->at("ids").elements()) {
        filled.back().push_back(special(token_id(number), type_id));
      }
    } else {
      piece.error("expected {\"Sequence\": …} or {\"SpecialToken\": …}");
    }
  }
  encodings = std::move(filled);
}

}  // namespace

PostProcessor::PostProcessor() {
  const Slot text{0, -1, 0, 0};
  const Slot pair{1, -1, 1, 1};
  for (const int specials : {0, 1}) {
    layouts_[0][specials] = {text};
    layouts_[1][specials] = {text, pair};
  }
}

PostProcessor::PostProcessor(const JsonValue& value, const std::function<bool(std::int32_t)>& has_token)
    : PostProcessor() {
  type_ = value.at("type").as_string();
  note(value);
  for (const int pair : {0, 1}) {
    for (const int specials : {0, 1}) {
      Encodings encodings;
      for (const Slot& slot : layouts_[pair][specials]) encodings.push_back({slot});
      apply(value, specials == 1, encodings);
      Layout& layout = layouts_[pair][specials];
      layout.clear();
      for (const Layout& encoding : encodings) layout.insert(layout.end(), encoding.begin(), encoding.end());
      for (const Slot& slot : layout) {
        if (slot.sequence < 0 && !has_token(slot.id)) {
          value.error("expected ids of the vocabulary, got " + std::to_string(slot.id));
        }
      }
    }
  }
}

void PostProcessor::apply(const JsonValue& value, bool specials, Encodings& encodings) const {
  const std::string type = value.at("type").as_string();
  if (type == "Sequence") {
    const JsonValue steps = value.at("processors");
    if (steps.size() > kMaxSteps)
      steps.error("expected at most " + std::to_string(kMaxSteps) + " processors, got " + std::to_string(steps.size()));
    for (const JsonValue step : steps.elements()) {
      apply(step, specials, encodings);
      std::size_t slots = 0;
      for (const Layout& encoding : encodings) slots += encoding.size();
      if (slots > kMaxSlots) step.error("expected at most " + std::to_string(kMaxSlots) + " special tokens, got more");
    }
  } else if (type == "BertProcessing") {
    if (specials) surround(value, false, encodings);
  } else if (type == "RobertaProcessing") {
    for (Layout& encoding : encodings) {
      for (Slot& slot : encoding) {
        slot.type_id = 0;
        if (specials) slot.overflow_type_id = 0;
      }
    }
    if (specials) surround(value, true, encodings);
  } else if (type == "TemplateProcessing") {
    fill_template(value, specials, encodings);
  } else if (type != "ByteLevel") {
    value.at("type").error("unknown post_processor \"" + type + "\"");
  }
}

void PostProcessor::note(const JsonValue& value) {
  const std::string type = value.at("type").as_string();
  if (type == "Sequence") {
    for (const JsonValue step : value.at("processors").elements()) note(step);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    roles_["cls_token"] = named_token(value.at("cls")).content;
    roles_["sep_token"] = named_token(value.at("sep")).content;
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    const bool add_prefix_space = value.bool_or("add_prefix_space", true);
    if (value.bool_or("trim_offsets", true)) trims_.push_back(add_prefix_space);
  }
}

std::size_t PostProcessor::special_count(bool pair) const {
  const Layout& slots = layout(pair, true);
  return static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.sequence < 0; }));
}

}  // namespace mha::tokenizer
