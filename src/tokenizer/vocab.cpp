#include "tokenizer/vocab.hpp"

#include <cstring>
#include <utility>

namespace mha::tokenizer {
namespace {

std::uint64_t load(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

}  // namespace

std::uint32_t Vocab::hash(std::string_view token) {
  // Multiply and fold eight bytes at a time: most tokens are one step.
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state = token.size() * kOdd;
  const char* bytes = token.data();
  std::size_t left = token.size();
  for (; left > 8; left -= 8, bytes += 8) {
    state = (state ^ load(bytes, 8)) * kOdd;
    state ^= state >> 29;
  }
  state = (state ^ load(bytes, left)) * kOdd;
  state ^= state >> 32;
  state *= kOdd;
  return static_cast<std::uint32_t>(state >> 32);
}

void Vocab::reserve(std::size_t tokens, std::size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(tokens);
  std::size_t slots = 16;
  while (slots < tokens * 2) slots *= 2;
  if (slots > slots_.size()) rehash(slots);
}

std::int32_t Vocab::find_hashed(std::string_view token, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id < 0) return -1;
    if (slot.hash != hash) continue;
    const Entry& entry = entries_[static_cast<std::size_t>(slot.id)];
    if (entry.size == token.size() && std::memcmp(arena_.data() + entry.begin, token.data(), token.size()) == 0) {
      return slot.id;
    }
  }
}

void Vocab::rehash(std::size_t slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & (slots - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots - 1);
    slots_[at] = slot;
  }
}

void Vocab::place(std::string_view token, std::int32_t id) {
  if ((count_ + 1) * 2 > slots_.size()) rehash(slots_.empty() ? 16 : slots_.size() * 2);
  if (static_cast<std::size_t>(id) >= entries_.size()) entries_.resize(static_cast<std::size_t>(id) + 1);
  entries_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(arena_.size()),
                                            static_cast<std::uint32_t>(token.size())};
  arena_.append(token);
}

bool Vocab::add(std::string_view token, std::int32_t id) {
  if (has(id) || find(token) >= 0) return false;
  place(token, id);
  const std::uint32_t code = hash(token);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = code & mask;
  while (slots_[at].id >= 0) at = (at + 1) & mask;
  slots_[at] = {code, id};
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
  const std::uint32_t code = hash(token);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = code & mask;
  while (slots_[at].id != earlier) at = (at + 1) & mask;
  slots_[at].id = id;
}

}  // namespace mha::tokenizer
