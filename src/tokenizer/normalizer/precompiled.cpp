#include <array>

#include "mha/core/utf8.hpp"
#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/unicode/grapheme.hpp"

namespace mha::tokenizer {
namespace {

/// SentencePiece's character map, as the reference applies it: grapheme cluster by grapheme cluster, see trap 9.
/// Source: tokenizers 0.22.2, normalizers/precompiled.rs.
class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {
    for (unsigned char c = 0; c < 128; ++c) {
      const char character = static_cast<char>(c);
      // A carriage return may be one cluster with what follows, and other controls are few: only the rest is quick.
      plain_[c] = c >= 0x20 && c < 0x7F && !map_.find({&character, 1});
    }
  }

  void normalize(NormalizedText& text) const override;
  std::string_view type() const override { return "Precompiled"; }

 private:
  using Changes = std::vector<NormalizedText::Change>;
  static void replace(std::string_view old_part, std::string_view new_part, Changes& changes);
  /// Moves over ASCII characters that are a cluster of their own and that the map does not know.
  std::size_t skip_plain(std::string_view s, std::size_t position) const;

  Charsmap map_;
  std::array<bool, 128> plain_{};
};

// The reference's counting, also where it is odd: what is removed right after an insertion turns that into a replacement,
// and what is removed at the very start is not counted at all.
void Precompiled::replace(std::string_view old_part, std::string_view new_part, Changes& changes) {
  const auto old_count = static_cast<std::int32_t>(utf8::length(old_part));
  std::int32_t new_count = 0;
  for (std::size_t position = 0; position < new_part.size(); ++new_count) {
    changes.push_back({utf8::next(new_part, position), new_count < old_count ? 0 : 1});
  }
  if (new_count < old_count && !changes.empty()) changes.back().change += new_count - old_count;
}

std::size_t Precompiled::skip_plain(std::string_view s, std::size_t position) const {
  const auto plain = [&](std::size_t i) {
    const auto byte = static_cast<unsigned char>(s[i]);
    return byte < 0x80 && plain_[byte];
  };
  while (position < s.size() && plain(position)) ++position;
  // The last one may belong to a cluster with what is not ASCII behind it.
  if (position > 0 && position < s.size() && static_cast<unsigned char>(s[position]) >= 0x80 && plain(position - 1)) {
    --position;
  }
  return position;
}

void Precompiled::normalize(NormalizedText& text) const {
  if (map_.empty()) return;
  const std::string_view s = text.text();
  Changes& changes = text.change_buffer();
  changes.clear();
  bool modified = false;
  const auto keep = [&](std::size_t begin, std::size_t end) {
    while (begin < end) changes.push_back({utf8::next(s, begin), 0});
  };
  for (std::size_t position = 0; position < s.size();) {
    const std::size_t plain_end = skip_plain(s, position);
    if (plain_end > position) {
      keep(position, plain_end);
      position = plain_end;
      if (position == s.size()) break;
    }
    const std::size_t end = unicode::grapheme_end(s, position);
    const std::string_view cluster = s.substr(position, end - position);
    position = end;
    if (cluster.size() < 6) {
      if (const auto replacement = map_.find(cluster)) {
        modified = true;
        replace(cluster, *replacement, changes);
        continue;
      }
    }
    for (std::size_t begin = 0; begin < cluster.size();) {
      std::size_t next = begin;
      const char32_t character = utf8::next(cluster, next);
      const std::string_view part = cluster.substr(begin, next - begin);
      if (const auto replacement = map_.find(part)) {
        modified = true;
        replace(part, *replacement, changes);
      } else {
        changes.push_back({character, 0});
      }
      begin = next;
    }
  }
  if (modified) text.transform(changes);
}

}  // namespace

NormalizerPtr make_precompiled(std::string_view blob, const std::string& where) {
  return std::make_shared<Precompiled>(Charsmap(blob, where));
}

NormalizerPtr make_precompiled(const JsonValue& value) {
  // Absent and null mean an empty map, as in the files of models that were trained with none.
  const auto map = value.find("precompiled_charsmap");
  if (!map) return make_precompiled(std::string_view(), value.where());
  std::string buffer;
  return make_precompiled(decode_base64(map->as_view(buffer), map->where()), map->where());
}

}  // namespace mha::tokenizer
