#include "unicode/properties.hpp"

#include <algorithm>
#include <optional>

#include "core/utf8.hpp"

namespace mha::unicode {
namespace {

constexpr char32_t kSyllableBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161, kTrailBase = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTrails = 28, kSyllables = kLeads * kVowels * kTrails;

std::basic_string_view<char32_t> mapped(const std::uint16_t* index, const std::uint16_t* blocks,
                                        const std::uint32_t* entries, const char32_t* pool, char32_t c) {
  const std::uint16_t at = two_stage(index, blocks, c);
  if (at == 0) return {};
  return {pool + (entries[at] >> 8), entries[at] & 0xFFU};
}

template <typename Sink>
void decompose(char32_t c, bool compatible, const Sink& sink) {
  if (c < 0x80) return sink(c);
  if (c - kSyllableBase < kSyllables) {  // Unicode 9.0, section 3.12
    const char32_t syllable = c - kSyllableBase;
    sink(kLeadBase + syllable / (kVowels * kTrails));
    sink(kVowelBase + syllable / kTrails % kVowels);
    if (syllable % kTrails != 0) sink(kTrailBase + syllable % kTrails);
    return;
  }
  const auto parts = compatible ? mapped(kNfkdIndex, kNfkdBlocks, kNfkdEntries, kNfkdPool, c)
                                : mapped(kNfdIndex, kNfdBlocks, kNfdEntries, kNfdPool, c);
  if (parts.empty()) return sink(c);
  for (const char32_t part : parts) sink(part);
}

std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (first - kLeadBase < kLeads && second - kVowelBase < kVowels) {
    return kSyllableBase + ((first - kLeadBase) * kVowels + second - kVowelBase) * kTrails;
  }
  if (first - kSyllableBase < kSyllables && (first - kSyllableBase) % kTrails == 0 && second > kTrailBase &&
      second < kTrailBase + kTrails) {
    return first + second - kTrailBase;
  }
  const std::uint64_t key = static_cast<std::uint64_t>(first) << 32 | second;
  const std::uint64_t* found = std::lower_bound(kPairs, kPairs + kPairCount, key);
  if (found == kPairs + kPairCount || *found != key) return std::nullopt;
  return kComposites[found - kPairs];
}

// Characters in canonical order: runs of combining characters are sorted by class, each keeping its own change.
void decompose(std::string_view text, bool compatible, std::vector<Mapped>& out) {
  std::size_t pending = 0;  // first of the run of combining characters at the end
  const auto sort_pending = [&] {
    if (out.size() - pending < 2) return;
    std::stable_sort(
        out.begin() + static_cast<std::ptrdiff_t>(pending), out.end(),
        [](const Mapped& a, const Mapped& b) { return combining_class(a.character) < combining_class(b.character); });
  };
  for (std::size_t at = 0; at < text.size();) {
    bool first = true;
    decompose(utf8::next(text, at), compatible, [&](char32_t part) {
      const bool starter = part < 0x80 || combining_class(part) == 0;
      if (starter) sort_pending();
      out.push_back({part, first ? 0 : 1});
      if (starter) pending = out.size();
      first = false;
    });
  }
  sort_pending();
}

// In place: each starter takes up what composes with it and is not blocked.
void recompose(std::vector<Mapped>& text) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone;
  int last_class = -1;  // of the last character that stayed between the starter and here; -1 when there is none
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Mapped here = text[i];
    const int here_class = combining_class(here.character);
    if (starter != kNone && last_class < here_class) {
      if (const auto composite = compose(text[starter].character, here.character)) {
        text[starter] = {*composite, text[starter].change + here.change - 1};
        continue;
      }
    }
    text[size] = here;
    if (here_class == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = here_class;
    }
    ++size;
  }
  text.resize(size);
}

}  // namespace

std::basic_string_view<char32_t> lowercase(char32_t c) {
  return mapped(kLowerIndex, kLowerBlocks, kLowerEntries, kLowerPool, c);
}

bool starts_anew(char32_t c) {
  static const std::vector<char32_t> kSeconds = [] {
    std::vector<char32_t> seconds;
    for (std::size_t i = 0; i < kPairCount; ++i) seconds.push_back(static_cast<char32_t>(kPairs[i] & 0xFFFFFFFF));
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  }();
  for (const bool compatible : {false, true}) {
    char32_t first = 0;
    decompose(c, compatible, [&](char32_t part) { first = first == 0 ? part : first; });
    const bool joins = first - kVowelBase < kVowels || first - kTrailBase < kTrails;
    if (joins || combining_class(first) != 0 || std::binary_search(kSeconds.begin(), kSeconds.end(), first))
      return false;
  }
  return true;
}

void normalize(std::string_view text, Form form, std::vector<Mapped>& out) {
  out.clear();
  decompose(text, form == Form::nfkd || form == Form::nfkc, out);
  if (form == Form::nfc || form == Form::nfkc) recompose(out);
}

}  // namespace mha::unicode
