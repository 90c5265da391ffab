#include "tokenizer/models/unigram.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "mha/core/error.hpp"
#include "tokenizer/fast/word_cache.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/release.hpp"

namespace mha::tokenizer {
namespace {

constexpr double kUnkPenalty = 10.0;
constexpr std::uint32_t kNowhere = 0xFFFFFFFF;
constexpr std::uint32_t kStretch = 4096;  // least bytes of a path before the search for its final part

std::size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

struct Unigram::Scratch final : TokenModelScratch {
  /// The best path that ends at a byte.
  struct Node {
    double score;
    std::uint32_t start;  ///< where its last piece starts; kNowhere: no path yet
    std::int32_t piece;
  };
  struct Part {
    std::int32_t id;  ///< of a piece in the path, of a token in the parts
    std::uint32_t begin;
    std::uint32_t end;
  };

  WordCache cache;
  std::vector<Node> nodes;
  std::vector<Part> path;
  std::vector<Part> parts;
};

void UnigramOptions::add_pieces(std::span<const double> scores) {
  least_score = std::numeric_limits<double>::infinity();
  pieces.reserve(scores.size());
  const bool distinct = vocab.size() == scores.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    least_score = std::min(least_score, scores[i]);
    if (distinct || vocab.find(vocab.token(id)) == id) pieces.push_back({id, scores[i]});
  }
}

Unigram::Unigram(UnigramOptions parts)
    : vocab_(std::move(parts.vocab)),
      unk_score_(parts.least_score - kUnkPenalty),
      unk_id_(parts.unk_id),
      byte_fallback_(parts.byte_fallback) {
  LargeVector<std::string_view> texts;
  texts.reserve(parts.pieces.size());
  scores_.reserve(parts.pieces.size());
  ids_.reserve(parts.pieces.size());
  for (const UnigramOptions::Piece& piece : parts.pieces) {
    const std::string_view token = vocab_.token(piece.id);
    const std::string_view text = piece.text.empty() ? token : piece.text;
    if (piece.id == unk_id_ && text == token) unk_piece_ = static_cast<std::int32_t>(texts.size());
    texts.push_back(text);
    scores_.push_back(piece.score);
    ids_.push_back(piece.id);
  }
  trie_ = ByteTrie(texts);

  constexpr char kHex[] = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
    fallback_[byte] = byte_fallback_ ? vocab_.find({name, sizeof(name)}) : -1;
  }
}

std::unique_ptr<TokenModelScratch> Unigram::make_scratch() const { return std::make_unique<Scratch>(); }

void Unigram::fail_without_unk() {
  throw_input("tokenizer: model.unk_id: expected an unknown token for a character without a piece, got none");
}

void Unigram::best_path(std::string_view word, Scratch& scratch) const {
  using Node = Scratch::Node;
  std::vector<Node>& nodes = scratch.nodes;
  std::vector<Scratch::Part>& path = scratch.path;
  path.clear();
  const auto size = static_cast<std::uint32_t>(word.size());

  std::uint32_t base = 0;   // node i is byte base + i of the word; the path up to base is final
  std::uint32_t reach = 0;  // the furthest byte that a path ends at
  const auto node_at = [&](std::uint32_t position) -> Node& {
    const std::uint32_t index = position - base;
    if (position > reach) {
      if (index >= nodes.size()) nodes.resize(std::max<std::size_t>(index + 1, nodes.size() * 2));
      for (std::uint32_t i = reach + 1 - base; i <= index; ++i) nodes[i].start = kNowhere;
      reach = position;
    }
    return nodes[index];
  };
  const auto write_out = [&](std::uint32_t end) {
    const std::size_t first = path.size();
    for (std::uint32_t position = end; position > base;) {
      const Node& node = nodes[position - base];
      path.push_back({node.piece, node.start, position});
      position = node.start;
    }
    std::reverse(path.begin() + static_cast<std::ptrdiff_t>(first), path.end());
  };

  // Last position that all candidate paths from `start` on share. The result up to there is
  // final.
  const auto common_start = [&](std::uint32_t start) {
    std::uint32_t common = start;
    for (std::uint32_t end = start + 1; end <= reach; ++end) {
      if (nodes[end - base].start == kNowhere) continue;
      for (std::uint32_t other = end; other != common;) {
        std::uint32_t& later = other > common ? other : common;
        later = nodes[later - base].start;
      }
    }
    return common;
  };
  std::uint32_t next_look = kStretch;  // bytes after base

  if (nodes.empty()) nodes.resize(64);
  nodes[0].score = 0;
  for (std::uint32_t start = 0; start < size;) {
    if (start - base >= next_look) {
      if (const std::uint32_t settled = common_start(start); settled > base) {
        write_out(settled);
        const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(settled - base);
        std::copy(first, nodes.begin() + static_cast<std::ptrdiff_t>(reach - base + 1), nodes.begin());
        base = settled;
      }
      next_look = std::max(kStretch, (start - base) * 2);
    }
    const double score = nodes[start - base].score;
    const auto character = static_cast<std::uint32_t>(character_size(word[start]));
    bool single = false;
    trie_.for_each_prefix(word.substr(start), [&](std::size_t length, std::int32_t piece) {
      const double candidate = scores_[static_cast<std::size_t>(piece)] + score;
      Node& target = node_at(start + static_cast<std::uint32_t>(length));
      if (target.start == kNowhere || candidate > target.score) target = {candidate, start, piece};
      single |= length == character;
    });
    if (!single) {
      const double candidate = unk_score_ + score;
      Node& target = node_at(start + character);
      if (target.start == kNowhere || candidate > target.score) {
        if (unk_id_ < 0) fail_without_unk();
        target = {candidate, start, kNoPiece};
      }
    }
    start += character;
  }
  write_out(size);
}

void Unigram::cut(std::string_view word, Scratch& scratch) const {
  best_path(word, scratch);
  auto& parts = scratch.parts;
  parts.clear();
  const auto is_unknown = [&](std::size_t i) {
    const std::int32_t piece = scratch.path[i].id;
    return piece == kNoPiece || piece == unk_piece_;
  };
  for (std::size_t i = 0; i < scratch.path.size();) {
    Scratch::Part part = scratch.path[i];
    if (!is_unknown(i++)) {
      part.id = ids_[static_cast<std::size_t>(part.id)];
      parts.push_back(part);
      continue;
    }
    part.id = unk_id_;
    while (i < scratch.path.size() && is_unknown(i)) part.end = scratch.path[i++].end;
    const std::string_view text = word.substr(part.begin, part.end - part.begin);
    if (const std::int32_t piece = trie_.find(text); piece >= 0) {
      parts.push_back({ids_[static_cast<std::size_t>(piece)], part.begin, part.end});
      continue;
    }
    const auto token = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)]; };
    if (byte_fallback_ && std::all_of(text.begin(), text.end(), [&](char byte) { return token(byte) >= 0; })) {
      for (const char byte : text) parts.push_back({token(byte), part.begin, part.end});
    } else {
      parts.push_back(part);
    }
  }
}

void Unigram::tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& any_scratch,
                       std::vector<Piece>& out) const {
  auto& scratch = static_cast<Scratch&>(any_scratch);
  const auto cut_word = [&](std::string_view word) -> std::pair<const std::vector<Scratch::Part>&, bool> {
    cut(word, scratch);
    std::uint32_t position = 0;
    bool contiguous = true;  // bytes of a fallback share one span
    for (const Scratch::Part& part : scratch.parts) {
      contiguous &= part.begin == position;
      position = part.end;
    }
    return {scratch.parts, contiguous};
  };
  scratch.cache.tokenize(text, words, cut_word, out);
  release_large(scratch.path);
  release_large(scratch.parts);
}

std::shared_ptr<TokenModel> make_unigram(const JsonValue& value) {
  UnigramOptions parts;
  parts.byte_fallback = value.bool_or("byte_fallback", false);
  const JsonValue vocab = value.at("vocab");
  vocab.expect_array();
  const std::size_t count = vocab.size();
  parts.vocab.reserve(count, count * 10);
  LargeVector<double> scores;
  LargeVector<std::string_view> pieces;
  std::deque<std::string> unescaped;  // pieces that differ from the text
  scores.reserve(count);
  pieces.reserve(count);
  std::string buffer;
  for (const JsonValue entry : vocab.elements()) {
    entry.expect_array();
    if (entry.size() != 2)
      entry.error("expected a piece and its score, got " + std::to_string(entry.size()) + " elements");
    auto element = entry.elements().begin();
    std::string_view piece = (*element).as_view(buffer);
    if (piece.data() == buffer.data()) piece = unescaped.emplace_back(piece);
    ++element;
    pieces.push_back(piece);
    scores.push_back((*element).as_double());
  }
  constexpr std::size_t kAhead = 12;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) parts.vocab.prefetch(Vocab::key_of(pieces[i + kAhead], pieces[i + kAhead].size()));
    if (!parts.vocab.add(pieces[i], static_cast<std::int32_t>(i))) {
      vocab.error("expected each piece once, got \"" + std::string(pieces[i]) + "\" twice (element " +
                  std::to_string(i) + ")");
    }
  }
  parts.add_pieces(scores);
  if (const auto unk = value.find("unk_id")) {
    if (count == 0) vocab.error("expected at least the unknown token, got no pieces");
    parts.unk_id = static_cast<std::int32_t>(unk->as_integer(0, static_cast<std::int64_t>(count) - 1));
  }
  return make_unigram(std::move(parts));
}

std::shared_ptr<TokenModel> make_unigram(UnigramOptions parts) { return std::make_shared<Unigram>(std::move(parts)); }

}  // namespace mha::tokenizer
