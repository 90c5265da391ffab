#include "tokenizer/models/token_model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  std::shared_ptr<TokenModel> (*make)(const JsonValue&);
};

constexpr Row kModels[] = {
    {"BPE", make_bpe},
    {"Unigram", make_unigram},
    {"WordLevel", make_word_level},
    {"WordPiece", make_word_piece},
};

// Files of old releases have no type; the keys tell it.
std::string type_of(const JsonValue& value) {
  if (const auto type = value.find("type")) return type->as_string();
  if (value.find("merges")) return "BPE";
  if (value.find("continuing_subword_prefix") || value.find("max_input_chars_per_word")) return "WordPiece";
  if (value.at("vocab").is_array()) return "Unigram";
  return "WordLevel";
}

}  // namespace

std::shared_ptr<TokenModel> TokenModel::from_json(const JsonValue& value) {
  value.expect_object();
  const std::string name = type_of(value);
  for (const Row& row : kModels) {
    if (row.type == name) return row.make(value);
  }
  value.error("unknown model \"" + name + "\"");
}

Vocab read_vocab(const JsonValue& value) {
  value.expect_object();
  Vocab vocab;
  vocab.reserve(value.size(), value.size() * 8);
  // Holes are few in real files; a lone great id must not make a table of its size.
  const auto limit = static_cast<std::int64_t>(std::min<std::size_t>(value.size() * 4 + 65536, Vocab::kMaxId));
  // Tokens wait for some others, so that the memory of the table that they go to is here in time.
  struct Waiting {
    std::string token;
    std::optional<JsonValue> id;
  };
  std::array<Waiting, 16> waiting;
  std::size_t count = 0;
  const auto add = [&](const Waiting& w) {
    if (!vocab.add(w.token, static_cast<std::int32_t>(w.id->as_integer(0, limit)))) {
      w.id->error("expected each token and each id once, got one twice");
    }
  };
  std::string buffer;
  for (const auto& [key, id] : value.members()) {
    Waiting& w = waiting[count % waiting.size()];
    if (count++ >= waiting.size()) add(w);
    w.token = key.as_view(buffer);
    w.id = id;
    vocab.prefetch(Vocab::key_of(w.token, w.token.size()));
  }
  for (std::size_t i = count - std::min(count, waiting.size()); i < count; ++i) add(waiting[i % waiting.size()]);
  return vocab;
}

}  // namespace mha::tokenizer
