#include "tokenizer/vocab.hpp"

#include <utility>

namespace mha::tokenizer {

void Vocab::reserve(std::size_t tokens, std::size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(tokens);
  std::size_t slots = 16;
  while (slots < tokens + tokens / 2) slots *= 2;
  if (slots > slots_.size()) rehash(slots);
}

// The slot of that id, or the free one that ends the token's chain (id −1).
Vocab::Slot& Vocab::slot_for(std::string_view token, std::int32_t id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = key_of(token, token.size()).hash & mask;
  while (slots_[at].id >= 0 && slots_[at].id != id) at = (at + 1) & mask;
  return slots_[at];
}

void Vocab::rehash(std::size_t slots) {
  const LargeVector<Slot> old = std::exchange(slots_, LargeVector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.id >= 0) slot_for(token(slot.id), -1) = slot;
  }
}

void Vocab::place(std::string_view token, std::int32_t id) {
  if (static_cast<std::size_t>(id) >= entries_.size()) entries_.resize(static_cast<std::size_t>(id) + 1);
  entries_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(arena_.size()),
                                            static_cast<std::uint32_t>(token.size())};
  arena_.append(token);
}

bool Vocab::add(std::string_view token, std::int32_t id) {
  if (has(id)) return false;
  if ((count_ + 1) * 3 > slots_.size() * 2) rehash(slots_.empty() ? 16 : slots_.size() * 2);
  const Key key = key_of(token, token.size());
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = key.hash & mask;
  for (; slots_[at].id >= 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.head == key.head && slot.size == key.size && (token.size() <= 8 || same(token, slot.id))) return false;
  }
  slots_[at] = {key.head, key.size, id};
  place(token, id);
  ++count_;
  return true;
}

void Vocab::add_or_replace(std::string_view token, std::int32_t id) {
  const std::int32_t earlier = find(token);
  if (earlier < 0) {
    add(token, id);
    return;
  }
  place(token, id);
  slot_for(token, earlier).id = id;
}

}  // namespace mha::tokenizer
