#include "output/records.hpp"

#include <algorithm>
#include <cstdint>

#include "core/utf8.hpp"

namespace mha {
namespace {

// For each byte of the text, code points that begin before it; empty where every character is one byte.
std::vector<std::uint32_t> code_points_before(std::string_view prompt, std::string_view text) {
  const auto wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::none_of(prompt.begin(), prompt.end(), wide) && std::none_of(text.begin(), text.end(), wide)) return {};
  std::vector<std::uint32_t> before;
  before.reserve(prompt.size() + text.size() + 1);
  std::uint32_t count = 0;
  for (const std::string_view part : {prompt, text}) {
    for (const char c : part) {
      before.push_back(count);
      // A continuation byte belongs to the character that its lead byte began.
      if (!utf8::is_continuation(c)) ++count;
    }
  }
  before.push_back(count);
  return before;
}

}  // namespace

void Record::clear() {
  input.clear();
  prompt = {};
  encoding.clear();
  truncated = false;
  embedding.clear();
  d_model = 0;
  last_hidden_state.clear();
  hidden_states.clear();
  attentions.clear();
  similarity.clear();
  result = {};
  logits.clear();
  token_count.reset();
  token_window.reset();
  window.reset();
  windows.clear();
  rendered.clear();
}

std::size_t offset_in(const Record& record, std::size_t position, OffsetUnit unit) {
  if (unit == OffsetUnit::bytes) return position;
  const std::size_t prompt = std::min(position, record.prompt.size());
  return utf8::length(record.prompt.substr(0, prompt)) +
         utf8::length(std::string_view(record.input.text).substr(0, position - prompt));
}

std::vector<Span> offsets_in(const Record& record, OffsetUnit unit) {
  std::vector<Span> offsets = record.encoding.offsets;
  if (unit == OffsetUnit::bytes) return offsets;
  const auto text = code_points_before(record.prompt, record.input.text);
  const auto pair =
      record.input.text_pair ? code_points_before({}, *record.input.text_pair) : std::vector<std::uint32_t>();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto& before = record.encoding.sequence_ids[i] == 1 ? pair : text;
    if (before.empty()) continue;
    offsets[i] = {before[offsets[i].begin], before[offsets[i].end]};
  }
  return offsets;
}

}  // namespace mha
