#include "tokenizer/assemble.hpp"

#include <algorithm>

namespace mha::tokenizer {
namespace {

// Old contents stay until they are overwritten: clearing first would write every array twice.
void resize(Encoding& out, std::size_t size) {
  out.input_ids.resize(size);
  out.token_type_ids.resize(size);
  out.offsets.resize(size);
  out.special_tokens_mask.resize(size);
  out.word_ids.resize(size);
  out.sequence_ids.resize(size);
}

}  // namespace

std::size_t Assembler::write(const PostProcessor::Slot& slot, std::int32_t type_id, TokenRange range, std::size_t at,
                             Encoding& out) const {
  if (slot.sequence < 0) {
    out.input_ids[at] = slot.id;
    out.token_type_ids[at] = type_id;
    out.offsets[at] = {0, 0};
    out.special_tokens_mask[at] = 1;
    out.word_ids[at] = -1;
    out.sequence_ids[at] = -1;
    return at + 1;
  }
  const std::size_t size = range.end - range.begin;
  if (size == 0) return at;
  const TokenSequence& sequence = sequences_[slot.sequence];
  const Piece* token = sequence.tokens.data() + range.begin;
  std::int32_t* const ids = out.input_ids.data() + at;
  Span* const offsets = out.offsets.data() + at;
  std::int32_t* const words = out.word_ids.data() + at;
  for (std::size_t i = 0; i < size; ++i) {
    ids[i] = token[i].id;
    offsets[i] = {token[i].begin, token[i].end};
    words[i] = static_cast<std::int32_t>(token[i].word);
  }
  const auto from = static_cast<std::ptrdiff_t>(at);
  std::fill_n(out.token_type_ids.begin() + from, size, type_id);
  std::fill_n(out.special_tokens_mask.begin() + from, size, std::uint8_t{0});
  std::fill_n(out.sequence_ids.begin() + from, size, slot.sequence);
  for (const bool add_prefix_space : post_processor_.trims()) {
    trimmer_.trim(sequence, range, vocab_, add_prefix_space, offsets);
  }
  return at + size;
}

void Assembler::write_whole(const PostProcessor::Layout& layout, Encoding& out) const {
  const auto range_of = [&](const PostProcessor::Slot& slot) {
    return slot.sequence < 0 ? TokenRange{0, 1} : TokenRange{0, sequences_[slot.sequence].tokens.size()};
  };
  std::size_t size = 0;
  for (const auto& slot : layout) size += range_of(slot).end;
  resize(out, size);
  std::size_t at = 0;
  for (const auto& slot : layout) at = write(slot, slot.type_id, range_of(slot), at, out);
}

void Assembler::write_truncated(const PostProcessor::Layout& layout, const KeptRanges& kept, Encoding& out) const {
  using Choice = std::vector<std::uint32_t>;  // the number of the range, for each slot
  Choice first;
  std::vector<Choice> others;
  for (const auto& slot : layout) {
    const std::size_t count = slot.sequence < 0 ? 1 : kept.of_sequence[slot.sequence].size();
    std::vector<Choice> longer;
    const auto extend = [&](const Choice& choice, std::size_t range) {
      longer.push_back(choice);
      longer.back().push_back(static_cast<std::uint32_t>(range));
    };
    for (const Choice& other : others) {
      for (std::size_t range = 0; range < count; ++range) extend(other, range);
    }
    for (std::size_t range = 1; range < count; ++range) extend(first, range);
    first.push_back(0);
    others = std::move(longer);
  }
  const auto fill = [&](const Choice& choice, Encoding& encoding) {
    const auto range_of = [&](std::size_t i) {
      const int sequence = layout[i].sequence;
      return sequence < 0 ? TokenRange{0, 1} : kept.of_sequence[sequence][choice[i]];
    };
    std::size_t size = 0;
    for (std::size_t i = 0; i < layout.size(); ++i) size += range_of(i).end - range_of(i).begin;
    resize(encoding, size);
    std::size_t at = 0;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const std::int32_t type_id = choice[i] == 0 ? layout[i].type_id : layout[i].overflow_type_id;
      at = write(layout[i], type_id, range_of(i), at, encoding);
    }
  };
  fill(first, out);
  out.overflowing.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    fill(others[i], out.overflowing[i]);
    out.overflowing[i].full_length = out.full_length;
  }
}

}  // namespace mha::tokenizer
