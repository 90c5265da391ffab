#include "tokenizer/models/bpe.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "mha/core/error.hpp"
#include "tokenizer/byte_level_alphabet.hpp"
#include "tokenizer/fast/word_cache.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/release.hpp"

namespace mha::tokenizer {
namespace {

constexpr std::size_t kFew = 32;      // symbols up to which looking at all pairs beats a heap
constexpr std::size_t kBlock = 4096;  // symbols that are merged at once; a longer word is cut (merge_long)
constexpr std::uint32_t kEnd = 0xFFFFFFFF;

std::size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

void BpeOptions::name_merge(std::string_view left, std::string_view right, NamedMerge& merge) const {
  merge.names[0] = left;
  merge.names[1] = right;
  // A right symbol always carries the prefix, which its first character loses by the merge.
  merge.names[2].assign(left).append(right.substr(std::min(continuing_subword_prefix.size(), right.size())));
  for (std::size_t i = 0; i < 3; ++i) merge.keys[i] = Vocab::key_of(merge.names[i], merge.names[i].size());
}

std::string BpeOptions::add_merge(const NamedMerge& merge) {
  std::array<std::int32_t, 3> ids;
  for (std::size_t i = 0; i < 3; ++i) {
    ids[i] = vocab.find(merge.names[i], merge.keys[i]);
    if (ids[i] < 0) return merge.names[i];
  }
  merges.push_back({ids[0], ids[1], ids[2]});
  return {};
}

std::string BpeOptions::add_merge(std::string_view left, std::string_view right) {
  NamedMerge merge;
  name_merge(left, right, merge);
  return add_merge(merge);
}

struct Bpe::Scratch final : TokenModelScratch {
  struct Node {
    Symbol symbol;
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct Part {
    std::int32_t id;
    std::uint32_t begin;
    std::uint32_t end;
  };

  WordCache cache;
  std::vector<Symbol> symbols;
  std::vector<Symbol> merged;
  std::vector<Symbol> block;
  std::vector<Symbol> probe;
  std::vector<Node> nodes;
  std::vector<std::uint64_t> heap;  ///< rank << 32 | node
  std::string buffer;
  std::string written;  ///< a word of bytes in ByteLevel's characters
  std::vector<Part> parts;
  bool cacheable = true;
};

Bpe::Bpe(BpeOptions parts) : parts_(std::move(parts)) {
  affixes_ = !parts_.continuing_subword_prefix.empty() || !parts_.end_of_word_suffix.empty();
  if (parts_.unk_token) unk_id_ = parts_.vocab.find(*parts_.unk_token);

  const std::size_t size = std::bit_ceil(std::max<std::size_t>(16, parts_.merges.size() * 2));
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(size));
  slots_.assign(size, Slot{kEnd, kEnd, kNoRank, -1});
  constexpr std::size_t kAhead = 12;
  const auto slot_of = [&](const BpeOptions::Merge& merge) -> std::size_t {
    const auto pair = static_cast<std::uint64_t>(static_cast<std::uint32_t>(merge.left)) << 32 |
                      static_cast<std::uint32_t>(merge.right);
    return (pair * 0x9E3779B97F4A7C15ULL) >> shift_;
  };
  std::uint32_t rank = 0;
  for (const BpeOptions::Merge& merge : parts_.merges) {
    if (rank + kAhead < parts_.merges.size()) __builtin_prefetch(&slots_[slot_of(parts_.merges[rank + kAhead])]);
    const auto left = static_cast<std::uint32_t>(merge.left);
    const auto right = static_cast<std::uint32_t>(merge.right);
    std::size_t slot = slot_of(merge);
    while (slots_[slot].left != kEnd && (slots_[slot].left != left || slots_[slot].right != right)) {
      slot = (slot + 1) & (size - 1);
    }
    slots_[slot] = {left, right, rank++, merge.result};  // of equal pairs the last counts
  }
  parts_.merges.clear();
  parts_.merges.shrink_to_fit();

  constexpr char kHex[] = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
    fallback_[byte] = parts_.byte_fallback ? parts_.vocab.find({name, sizeof(name)}) : -1;
  }
  Scratch scratch;
  for (std::size_t place = 0; place < 4; ++place) {
    initial_[place].fill(-1);
    for (unsigned char c = 0; c < 128; ++c) {
      const char character = static_cast<char>(c);
      initial_[place][c] = token_of({&character, 1}, (place & 1) != 0, (place & 2) != 0, scratch);
    }
  }
}

void Bpe::read_bytes() {
  reads_bytes_ = true;
  Scratch scratch;
  for (std::size_t place = 0; place < 4; ++place) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      initial_[place][byte] = token_of(ByteLevelAlphabet::get().utf8(static_cast<unsigned char>(byte)),
                                       (place & 1) != 0, (place & 2) != 0, scratch);
    }
  }
}

std::unique_ptr<TokenModelScratch> Bpe::make_scratch() const { return std::make_unique<Scratch>(); }

Bpe::Found Bpe::find_merge(std::int32_t left, std::int32_t right) const {
  const auto l = static_cast<std::uint32_t>(left);
  const auto r = static_cast<std::uint32_t>(right);
  std::size_t slot = ((static_cast<std::uint64_t>(l) << 32 | r) * 0x9E3779B97F4A7C15ULL) >> shift_;
  for (;;) {
    const Slot& s = slots_[slot];
    if (s.left == l && s.right == r) return {s.rank, s.result};
    if (s.left == kEnd) return {kNoRank, -1};
    slot = (slot + 1) & (slots_.size() - 1);
  }
}

std::int32_t Bpe::token_of(std::string_view character, bool first, bool last, Scratch& scratch) const {
  if (!affixes_) return parts_.vocab.find(character);
  scratch.buffer.clear();
  if (!first) scratch.buffer += parts_.continuing_subword_prefix;
  scratch.buffer += character;
  if (last) scratch.buffer += parts_.end_of_word_suffix;
  return parts_.vocab.find(scratch.buffer);
}

// Reference: BPE::merge_word. Unknown characters wait, so that they can be fused, and byte tokens do not end the wait:
// they come out before it. A character that nothing stands for is dropped and leaves no gap.
void Bpe::symbols_of(std::string_view word, Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  std::uint32_t waiting = 0;  // bytes of unknown characters
  const auto flush = [&] {
    if (waiting > 0) symbols.push_back({unk_id_, waiting, 1});
    waiting = 0;
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t size = character_size(word[begin]);
    const bool first = begin == 0;
    const bool last = begin + size == word.size();
    const std::size_t place = (first ? 1U : 0U) + (last ? 2U : 0U);
    const std::int32_t id = size == 1 && !reads_bytes_ ? initial_[place][static_cast<unsigned char>(word[begin])]
                                                       : token_of(word.substr(begin, size), first, last, scratch);
    if (id >= 0) {
      flush();
      symbols.push_back({id, static_cast<std::uint32_t>(size), 1});
      begin += size;
      continue;
    }
    if (parts_.byte_fallback) {
      std::string& bytes = scratch.buffer;
      bytes.clear();
      if (!first) bytes += parts_.continuing_subword_prefix;
      bytes += word.substr(begin, size);
      if (last) bytes += parts_.end_of_word_suffix;
      const auto token = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)]; };
      if (std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return token(byte) >= 0; })) {
        for (const char byte : bytes) symbols.push_back({token(byte), 1, 1});
        begin += size;
        continue;
      }
    }
    if (parts_.unk_token) {
      if (unk_id_ < 0) {
        throw_input("tokenizer: unk_token: expected a token of the vocabulary for a character without one, got \"" +
                    *parts_.unk_token + "\"");
      }
      if (!parts_.fuse_unk) flush();
      waiting += static_cast<std::uint32_t>(size);
    }
    begin += size;
  }
  flush();
}

bool Bpe::symbols_of_bytes(std::string_view word, Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.resize(word.size());
  std::int32_t missing = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::size_t place = (i == 0 ? 1U : 0U) + (i + 1 == word.size() ? 2U : 0U);
    const std::int32_t id = initial_[place][static_cast<unsigned char>(word[i])];
    missing |= id;
    symbols[i] = {id, 1, 1};
  }
  return missing >= 0;
}

void Bpe::merge_few(std::span<const Symbol> symbols, std::vector<Symbol>& out) const {
  std::size_t n = symbols.size();
  std::array<Symbol, kFew> row;
  std::array<std::uint32_t, kFew> ranks;
  std::array<std::int32_t, kFew> results;
  std::copy(symbols.begin(), symbols.end(), row.begin());
  const auto look_up = [&](std::size_t i) {
    const Found found = find_merge(row[i].id, row[i + 1].id);
    ranks[i] = found.rank;
    results[i] = found.result;
  };
  for (std::size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNoRank) break;
    row[best] = {results[best], row[best].bytes + row[best + 1].bytes, row[best].count + row[best + 1].count};
    --n;
    for (std::size_t i = best + 1; i < n; ++i) row[i] = row[i + 1];
    for (std::size_t i = best + 1; i + 1 < n; ++i) {
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    if (best > 0) look_up(best - 1);
    if (best + 1 < n) look_up(best);
  }
  out.insert(out.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
}

void Bpe::merge_many(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const {
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  const auto n = static_cast<std::uint32_t>(symbols.size());
  nodes.resize(n);
  heap.clear();
  const auto entry = [&](std::uint32_t left, std::uint32_t right) -> std::uint64_t {
    return static_cast<std::uint64_t>(find_merge(nodes[left].symbol.id, nodes[right].symbol.id).rank) << 32 | left;
  };
  const auto has_rank = [](std::uint64_t e) { return e >> 32 != kNoRank; };
  for (std::uint32_t i = 0; i < n; ++i) nodes[i] = {symbols[i], i - 1, i + 1 < n ? i + 1 : kEnd};
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    if (const std::uint64_t e = entry(i, i + 1); has_rank(e)) heap.push_back(e);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](std::uint32_t left, std::uint32_t right) {
    const std::uint64_t e = entry(left, right);
    if (!has_rank(e)) return;
    heap.push_back(e);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint64_t top = heap.back();
    heap.pop_back();
    const auto left = static_cast<std::uint32_t>(top);
    Scratch::Node& node = nodes[left];
    if (node.symbol.bytes == 0 || node.next == kEnd) continue;
    Scratch::Node& right = nodes[node.next];
    const Found found = find_merge(node.symbol.id, right.symbol.id);
    if (found.rank != top >> 32) continue;  // the pair has changed since
    node.symbol = {found.result, node.symbol.bytes + right.symbol.bytes, node.symbol.count + right.symbol.count};
    right.symbol.bytes = 0;
    node.next = right.next;
    if (node.next != kEnd) nodes[node.next].previous = left;
    if (left != 0) push(node.previous, left);
    if (node.next != kEnd) push(left, node.next);
  }
  for (std::uint32_t i = 0; i != kEnd; i = nodes[i].next) out.push_back(nodes[i].symbol);
}

void Bpe::merge(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const {
  if (symbols.size() <= kFew) {
    merge_few(symbols, out);
  } else {
    merge_many(symbols, scratch, out);
  }
}

bool Bpe::stay_apart(const Symbol& left, const Symbol& right, std::span<const Symbol> symbols, Scratch& scratch) const {
  scratch.probe.clear();
  merge(symbols.first(left.count + right.count), scratch, scratch.probe);
  return scratch.probe.size() == 2 && scratch.probe[0].id == left.id && scratch.probe[0].count == left.count &&
         scratch.probe[1].id == right.id;
}

// A very long word, block by block, in linear time and with the heap in the cache. Two stretches may be merged apart
// from each other exactly when the last symbol of the one and the first of the other come out unchanged if only their
// own text is merged: inside each stretch merges happen in the same order with or without the other, so the first merge
// across the border would be the same one. Where they do not stay apart, the block takes back symbols from what is
// done.
void Bpe::merge_long(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const {
  std::vector<Symbol>& block = scratch.block;
  for (std::size_t position = 0; position < symbols.size();) {
    std::size_t begin = position;
    std::size_t end = std::min(symbols.size(), position + kBlock);
    block.clear();
    merge(symbols.subspan(begin, end - begin), scratch, block);
    for (std::size_t step = 1;
         !out.empty() && !stay_apart(out.back(), block.front(), symbols.subspan(begin - out.back().count), scratch);
         step *= 2) {
      for (std::size_t i = 0; i < step && !out.empty(); ++i) {
        begin -= out.back().count;
        out.pop_back();
      }
      if (position - begin > end - position) end = std::min(symbols.size(), end + (end - begin));
      block.clear();
      merge(symbols.subspan(begin, end - begin), scratch, block);
    }
    out.insert(out.end(), block.begin(), block.end());
    position = end;
  }
}

void Bpe::cut(std::string_view word, Scratch& scratch) const {
  scratch.parts.clear();
  scratch.cacheable = true;
  const auto size = static_cast<std::uint32_t>(word.size());
  if (parts_.ignore_merges) {
    std::string_view name = word;
    if (reads_bytes_) {
      scratch.written.clear();
      ByteLevelAlphabet::get().append(word, scratch.written);
      name = scratch.written;
    }
    if (const std::int32_t id = parts_.vocab.find(name); id >= 0) {
      scratch.parts.push_back({id, 0, size});
      return;
    }
  }

  bool written = false;  // whether the symbols count bytes of the word in ByteLevel's characters
  if (!reads_bytes_) {
    symbols_of(word, scratch);
  } else if (!symbols_of_bytes(word, scratch)) {
    written = true;
    scratch.written.clear();
    ByteLevelAlphabet::get().append(word, scratch.written);
    symbols_of(scratch.written, scratch);
  }
  std::vector<Symbol>& merged = scratch.merged;
  merged.clear();
  if (scratch.symbols.size() > kBlock) {
    merge_long(scratch.symbols, scratch, merged);
  } else {
    merge(scratch.symbols, scratch, merged);
  }

  // Bytes that the prefix or suffix was broken into (byte_fallback) count although the word has none of them.
  release_large(scratch.symbols);
  scratch.parts.reserve(merged.size());
  const std::uint32_t limit = written ? static_cast<std::uint32_t>(scratch.written.size()) : size;
  std::uint32_t position = 0;
  for (const Symbol& symbol : merged) {
    const std::uint32_t begin = std::min(position, limit - 1);
    position += symbol.bytes;
    scratch.parts.push_back({symbol.id, begin, std::min(position, limit)});
  }
  release_large(merged);
  scratch.cacheable = !written && position <= limit;
  if (!written) return;

  std::size_t byte = 0;
  std::uint32_t byte_end = 0;  // where the character of word[byte] ends in the written word
  const auto byte_at = [&](std::uint32_t place) {
    while (place >= byte_end && byte < word.size()) {
      byte_end +=
          static_cast<std::uint32_t>(ByteLevelAlphabet::get().utf8(static_cast<unsigned char>(word[byte++])).size());
    }
    return static_cast<std::uint32_t>(byte - 1);
  };
  for (Scratch::Part& part : scratch.parts) {
    part.begin = byte_at(part.begin);
    part.end = byte_at(part.end - 1) + 1;
  }
}

void Bpe::tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& any_scratch,
                   std::vector<Piece>& out) const {
  auto& scratch = static_cast<Scratch&>(any_scratch);
  const auto cut_word = [&](std::string_view word) -> std::pair<const std::vector<Scratch::Part>&, bool> {
    cut(word, scratch);
    return {scratch.parts, scratch.cacheable};
  };
  scratch.cache.tokenize(text, words, cut_word, out);
  release_large(scratch.parts);
}

std::shared_ptr<TokenModel> make_bpe(const JsonValue& value) {
  BpeOptions parts;
  parts.vocab = read_vocab(value.at("vocab"));
  if (value.find("unk_token")) parts.unk_token = value.at("unk_token").as_string();
  parts.continuing_subword_prefix = value.string_or("continuing_subword_prefix", "");
  parts.end_of_word_suffix = value.string_or("end_of_word_suffix", "");
  parts.fuse_unk = value.bool_or("fuse_unk", false);
  parts.byte_fallback = value.bool_or("byte_fallback", false);
  parts.ignore_merges = value.bool_or("ignore_merges", false);
  if (const auto dropout = value.find("dropout");
      dropout && !(dropout->as_double() >= 0 && dropout->as_double() <= 1)) {
    dropout->fail("a number from 0 to 1");
  }

  const JsonValue merges = value.at("merges");
  merges.expect_array();
  parts.merges.reserve(merges.size());
  // Merges wait for some others, so that the memory that their look-ups need is here in time.
  struct Waiting {
    std::optional<JsonValue> value;
    BpeOptions::NamedMerge merge;
  };
  std::array<Waiting, 16> waiting;
  std::size_t count = 0;
  const auto resolve = [&](const Waiting& w) {
    if (const std::string missing = parts.add_merge(w.merge); !missing.empty()) {
      w.value->error("expected tokens of the vocabulary, got \"" + missing + "\"");
    }
  };
  std::string left_buffer;
  std::string right_buffer;
  std::optional<bool> as_pairs;
  for (const JsonValue merge : merges.elements()) {
    if (!as_pairs) as_pairs = merge.is_array();
    std::string_view left;
    std::string_view right;
    if (*as_pairs) {
      merge.expect_array();
      if (merge.size() != 2)
        merge.error("expected a pair of tokens, got " + std::to_string(merge.size()) + " elements");
      auto element = merge.elements().begin();
      left = (*element).as_view(left_buffer);
      ++element;
      right = (*element).as_view(right_buffer);
    } else {
      const std::string_view line = merge.as_view(left_buffer);
      if (line.starts_with("#version")) continue;
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
        merge.error("expected two tokens with one space between them, got \"" + std::string(line) + "\"");
      }
      left = line.substr(0, space);
      right = line.substr(space + 1);
    }
    if (const std::size_t prefix = parts.continuing_subword_prefix.size(); right.size() < prefix) {
      merge.error("expected a right token of at least " + std::to_string(prefix) + " bytes (the prefix), got \"" +
                  std::string(right) + "\"");
    }
    Waiting& w = waiting[count % waiting.size()];
    if (count++ >= waiting.size()) resolve(w);
    w.value = merge;
    parts.name_merge(left, right, w.merge);
    if (parts.vocab.size() == 0) continue;
    for (const Vocab::Key& key : w.merge.keys) parts.vocab.prefetch(key);
  }
  for (std::size_t i = count - std::min(count, waiting.size()); i < count; ++i) resolve(waiting[i % waiting.size()]);
  return make_bpe(std::move(parts));
}

std::shared_ptr<TokenModel> make_bpe(BpeOptions parts) { return std::make_shared<Bpe>(std::move(parts)); }

}  // namespace mha::tokenizer
