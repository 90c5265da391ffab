#include "tokenizer/model/model.hpp"

#include <algorithm>

#include "tokenizer/model/models.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  std::shared_ptr<Model> (*make)(const JsonValue&);
};

constexpr Row kModels[] = {
    {"BPE", make_bpe},
    {"Unigram", make_unigram},
    {"WordLevel", make_word_level},
    {"WordPiece", make_word_piece},
};

// Files of old releases have no tag; the keys tell (trap 17 of the notes).
std::string type_of(const JsonValue& value) {
  if (const auto type = value.find("type")) return type->as_string();
  if (value.find("merges")) return "BPE";
  if (value.find("continuing_subword_prefix") || value.find("max_input_chars_per_word")) return "WordPiece";
  if (value.at("vocab").is_array()) return "Unigram";
  return "WordLevel";
}

}  // namespace

std::shared_ptr<Model> Model::from_json(const JsonValue& value) {
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
  std::string buffer;
  for (const auto& [key, id] : value.members()) {
    if (!vocab.add(key.as_view(buffer), static_cast<std::int32_t>(id.as_integer(0, limit)))) {
      id.error("expected each token and each id once, got one twice");
    }
  }
  return vocab;
}

}  // namespace mha::tokenizer
