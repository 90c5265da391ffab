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
  index = 0;
  id.clear();
  text.clear();
  text_pair.reset();
  extra.clear();
  place.clear();
  error.clear();
  prompt = {};
  encoding.clear();
  embedding.clear();
  d_model = 0;
  last_hidden_state.clear();
  hidden_states.clear();
  attentions.clear();
  similarity.clear();
  results.clear();
  window.reset();
  windows.clear();
  analysis.clear();
  rendered.clear();
}

void Record::fail(std::string_view why) { (error = place + ": ") += why; }

std::size_t offset_in(const Record& record, std::size_t position, OffsetUnit unit) {
  if (unit == OffsetUnit::bytes) return position;
  const std::size_t prompt = std::min(position, record.prompt.size());
  return utf8::length(record.prompt.substr(0, prompt)) +
         utf8::length(std::string_view(record.text).substr(0, position - prompt));
}

std::vector<Span> offsets_in(const Record& record, OffsetUnit unit) {
  std::vector<Span> offsets = record.encoding.offsets;
  if (unit == OffsetUnit::bytes) return offsets;
  const auto text = code_points_before(record.prompt, record.text);
  const auto pair = record.text_pair ? code_points_before({}, *record.text_pair) : std::vector<std::uint32_t>();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto& before = record.encoding.sequence_ids[i] == 1 ? pair : text;
    if (before.empty()) continue;
    offsets[i] = {before[offsets[i].begin], before[offsets[i].end]};
  }
  return offsets;
}

}  // namespace mha
