#include "output/record_maps.hpp"

#include <algorithm>
#include <string>

#include "core/utf8.hpp"

namespace mha {
namespace {

std::string piece(const Record& record, const RecordSchema& schema, std::size_t position) {
  return utf8::replace_invalid(schema.tokenizer->token(record.encoding.input_ids[position]));
}

}  // namespace

std::string surface(const Record& record, const RecordSchema& schema, std::size_t position) {
  const Encoding& encoding = record.encoding;
  if (encoding.special_tokens_mask[position] != 0) return piece(record, schema, position);
  const Span span = encoding.offsets[position];
  if (encoding.sequence_ids[position] == 1) return record.input.text_pair->substr(span.begin, span.end - span.begin);
  const std::size_t prompt = record.prompt.size();
  std::string text;
  if (span.begin < prompt) text = record.prompt.substr(span.begin, span.end - span.begin);
  if (span.end > prompt) {
    const std::size_t begin = span.begin > prompt ? span.begin - prompt : 0;
    text += record.input.text.substr(begin, span.end - prompt - begin);
  }
  return text;
}

AttentionMaps attention_maps(const Record& record, const RecordSchema& schema) {
  AttentionMaps maps;
  maps.layers = schema.layers;
  maps.heads = schema.heads;
  maps.layer_count = schema.layers.size();
  maps.head_count = schema.heads.size();
  maps.weights = record.attentions;
  for (std::size_t i = 0; i < record.tokens(); ++i) {
    MapLabel label;
    label.text = surface(record, schema, i);
    label.piece = piece(record, schema, i);
    label.special = record.encoding.special_tokens_mask[i] != 0;
    label.sequence = record.encoding.sequence_ids[i];
    label.word = record.encoding.word_ids[i];
    label.position = i;
    label.begin = record.encoding.offsets[i].begin;
    label.end = record.encoding.offsets[i].end;
    maps.labels.push_back(std::move(label));
  }
  return maps;
}

AttentionMaps shown_maps(const Record& record, const RecordSchema& schema) {
  return shown_maps(attention_maps(record, schema), schema.questions);
}

std::vector<std::string> map_notes(const Record& record, const RecordSchema& schema) {
  const AttentionQuestions& questions = schema.questions;
  std::vector<std::string> notes;
  if (record.truncated) {
    notes.push_back("text cut: " + std::to_string(record.tokens()) + " of " +
                    std::to_string(record.encoding.full_length) + " tokens");
  }
  if (!schema.ablated.empty()) {
    constexpr std::size_t kNamed = 12;
    std::string list;
    for (std::size_t i = 0; i < std::min(schema.ablated.size(), kNamed); ++i) {
      const auto [layer, head] = schema.ablated[i];
      list += (i > 0 ? ", " : "") + std::to_string(layer) + "." + std::to_string(head);
    }
    if (schema.ablated.size() > kNamed) list += " and " + std::to_string(schema.ablated.size() - kNamed) + " more";
    notes.push_back("ablated heads: " + list);
  }
  if (questions.rollout) notes.emplace_back("attention rollout: the product over all layers, not a mean");
  if (questions.average_layers) notes.emplace_back("mean over layers");
  if (questions.average_heads) notes.emplace_back("mean over heads");
  if (questions.words) notes.emplace_back("pieces joined to words");
  if (questions.hide_specials) notes.emplace_back("special tokens hidden, weights not rescaled");
  return notes;
}

}  // namespace mha
