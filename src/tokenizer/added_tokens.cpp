#include "tokenizer/added_tokens.hpp"

#include <algorithm>
#include <cstring>

#include "core/utf8.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "unicode/properties.hpp"

namespace mha::tokenizer {
namespace {

std::size_t character_before(std::string_view text, std::size_t at) {
  do --at;
  while (utf8::is_continuation(text[at]));
  return at;
}

bool word_before(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  std::size_t position = character_before(text, at);
  return unicode::is(utf8::next(text, position), unicode::kWord);
}

bool word_at(std::string_view text, std::size_t at) {
  return at < text.size() && unicode::is(utf8::next(text, at), unicode::kWord);
}

}  // namespace

void LiteralSearch::add(std::string literal, std::int32_t id) {
  // An empty literal (a token whose normalized form is nothing) can take no text.
  if (!literal.empty()) literals_.push_back({std::move(literal), id});
}

void LiteralSearch::build() {
  std::stable_sort(literals_.begin(), literals_.end(),
                   [](const Literal& a, const Literal& b) { return a.bytes < b.bytes; });
  std::uint32_t at = 0;
  for (unsigned byte = 0; byte <= 256; ++byte) {
    while (at < literals_.size() && static_cast<unsigned char>(literals_[at].bytes[0]) < byte) ++at;
    bucket_[byte] = at;
  }
  for (const Literal& literal : literals_) {
    const auto byte = [&](std::size_t i) -> std::size_t { return static_cast<unsigned char>(literal.bytes[i]); };
    first_bytes_[byte(0)] = 1;
    if (literal.bytes.size() > 1) {
      first_pairs_.set(byte(0) * 256 + byte(1));
    } else {
      for (std::size_t second = 0; second < 256; ++second) first_pairs_.set(byte(0) * 256 + second);
    }
  }
  only_first_ = -1;
  if (!literals_.empty() && literals_.front().bytes[0] == literals_.back().bytes[0]) {
    only_first_ = static_cast<unsigned char>(literals_.front().bytes[0]);
  }
}

std::optional<LiteralSearch::Match> LiteralSearch::match_at(std::string_view text, std::size_t at) const {
  const auto first = static_cast<unsigned char>(text[at]);
  std::size_t low = bucket_[first];
  std::size_t high = bucket_[first + 1];
  std::optional<Match> found;
  // literals_[low, high) are those that agree with the text in the first `depth` bytes.
  for (std::size_t depth = 1; low < high; ++depth) {
    if (literals_[low].bytes.size() == depth) {
      found = Match{at, at + depth, literals_[low].id};
      while (low < high && literals_[low].bytes.size() == depth) ++low;
    }
    if (at + depth >= text.size()) break;
    const char next = text[at + depth];
    const auto less = [depth](const Literal& literal, char byte) {
      return static_cast<unsigned char>(literal.bytes[depth]) < static_cast<unsigned char>(byte);
    };
    const auto greater = [depth](char byte, const Literal& literal) {
      return static_cast<unsigned char>(byte) < static_cast<unsigned char>(literal.bytes[depth]);
    };
    const auto begin = literals_.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = literals_.begin() + static_cast<std::ptrdiff_t>(high);
    const auto lower = std::lower_bound(begin, end, next, less);
    const auto upper = std::upper_bound(lower, end, next, greater);
    low = static_cast<std::size_t>(lower - literals_.begin());
    high = static_cast<std::size_t>(upper - literals_.begin());
  }
  return found;
}

std::optional<LiteralSearch::Match> LiteralSearch::find(std::string_view text, std::size_t from) const {
  if (literals_.empty()) return std::nullopt;
  while (from < text.size()) {
    if (only_first_ >= 0) {
      const void* hit = std::memchr(text.data() + from, only_first_, text.size() - from);
      if (hit == nullptr) return std::nullopt;
      from = static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
    } else {
      const auto byte = [&](std::size_t at) -> std::size_t { return static_cast<unsigned char>(text[at]); };
      const auto none = [&](std::size_t at) {
        if (first_bytes_[byte(at)] == 0) return true;
        return at + 1 < text.size() && !first_pairs_[byte(at) * 256 + byte(at + 1)];
      };
      while (from < text.size() && none(from)) ++from;
      if (from == text.size()) return std::nullopt;
    }
    if (const auto match = match_at(text, from)) return match;
    ++from;
  }
  return std::nullopt;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Vocab& vocab, const Normalizer* normalizer) {
  for (const AddedToken& token : tokens) {
    if (token.special && !token.content.empty() && special_contents_.emplace(token.content, true).second) {
      specials_.push_back(token);
    }
  }
  std::int32_t next = static_cast<std::int32_t>(vocab.size());
  std::vector<AddedToken> others;
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    const auto known = ids_.find(token.content);
    if (known != ids_.end() && by_id_.at(known->second) == token) continue;
    std::int32_t id = known != ids_.end() ? known->second : vocab.find(token.content);
    if (id < 0) {
      id = next++;
      ++beyond_vocab_;
    } else {
      next = std::max(next, id + 1);  // only where the vocabulary has holes: one more than the greatest added id
    }
    ids_.emplace(token.content, id);
    by_id_.insert_or_assign(id, token);
    id_limit_ = std::max(id_limit_, static_cast<std::size_t>(id) + 1);
    if (!special_contents_.contains(token.content)) others.push_back(token);
  }
  const auto add = [&](const AddedToken& token) {
    const std::int32_t id = ids_.at(token.content);
    if (!token.normalized) return raw_.add(token.content, id);
    NormalizedText text;
    text.assign(token.content, 0, static_cast<std::uint32_t>(token.content.size()));
    if (normalizer != nullptr) normalizer->normalize(text);
    normalized_.add(std::string(text.text()), id);
  };
  for (const AddedToken& token : specials_) add(token);
  for (const AddedToken& token : others) add(token);
  raw_.build();
  normalized_.build();
}

void AddedTokens::split(std::string_view text, Pass pass, bool plain_specials, std::vector<Segment>& out) const {
  const LiteralSearch& search = pass == Pass::raw ? raw_ : normalized_;
  const auto push = [&](std::int32_t id, std::size_t begin, std::size_t end) {
    out.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  };
  std::size_t done = 0;  // where the last token, with its spaces, ended
  std::size_t from = 0;  // where the search goes on: right behind the literal itself
  while (const auto match = search.find(text, from)) {
    from = match->end;
    const AddedToken& token = by_id_.at(match->id);
    if (plain_specials && special_contents_.contains(token.content)) continue;
    if (token.single_word && (word_before(text, match->begin) || word_at(text, match->end))) continue;
    std::size_t begin = match->begin;
    std::size_t end = match->end;
    if (token.lstrip) {
      std::size_t least = begin;
      while (least > done) {
        const std::size_t before = character_before(text, least);
        std::size_t position = before;
        if (!unicode::is(utf8::next(text, position), unicode::kWhiteSpace)) break;
        least = before;
      }
      begin = std::max(least, done);
    }
    while (token.rstrip && end < text.size()) {
      std::size_t position = end;
      if (!unicode::is(utf8::next(text, position), unicode::kWhiteSpace)) break;
      end = position;
    }
    if (begin >= end) continue;  // the token before took all of it with its spaces
    if (done < begin) push(-1, done, begin);
    push(match->id, begin, end);
    done = end;
  }
  if (done != text.size()) push(-1, done, text.size());
}

std::optional<std::int32_t> AddedTokens::id_of(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? std::nullopt : std::optional<std::int32_t>(found->second);
}

const AddedToken* AddedTokens::token(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

bool AddedTokens::is_special(std::string_view content) const {
  return special_contents_.contains(std::string(content));
}

}  // namespace mha::tokenizer
