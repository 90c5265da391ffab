#include "pipeline/window_plan.hpp"

#include <algorithm>

namespace mha {

TokenRange text_tokens(const Encoding& encoding, std::size_t prompt) {
  const std::size_t size = encoding.size();
  const auto of_text = [&](std::size_t i) { return encoding.sequence_ids[i] == 0 && encoding.offsets[i].end > prompt; };
  TokenRange text{0, size};
  while (text.first < size && !of_text(text.first)) ++text.first;
  while (text.last > text.first && encoding.sequence_ids[text.last - 1] != 0) --text.last;
  return text;
}

std::vector<TokenRange> cut_evenly(TokenRange text, std::size_t most, std::size_t overlap,
                                   const std::vector<bool>& may_begin) {
  // The last token in (low, high] at which a window may begin, else `high`.
  const auto border = [&](std::size_t low, std::size_t high) {
    if (may_begin.empty()) return high;
    for (std::size_t token = high; token > low; --token) {
      if (may_begin[token]) return token;
    }
    return high;
  };
  std::vector<TokenRange> windows;
  for (std::size_t first = text.first;;) {
    if (text.last - first <= most) {
      windows.push_back({first, text.last});
      return windows;
    }
    // Each window begins behind the one before it and ends behind its end, so it has more tokens than it shares.
    const std::size_t last = border(std::max(first, windows.empty() ? first : windows.back().last), first + most);
    windows.push_back({first, last});
    const std::size_t shared = std::max(last, overlap) - overlap;
    first = border(first, std::max(first + 1, shared));
  }
}

std::vector<TokenRange> cut_by_sentences(const Encoding& encoding, TokenRange text,
                                         const std::vector<std::size_t>& starts, std::size_t most, std::size_t longest,
                                         const std::vector<bool>& may_begin) {
  const auto sentence_of = [&](std::size_t token) {
    const Span span = encoding.offsets[token];
    const std::size_t last_byte = span.end > span.begin ? span.end - 1 : span.begin;
    return std::upper_bound(starts.begin(), starts.end(), last_byte) - starts.begin();
  };
  const std::size_t whole = most == 0 ? longest : std::min(most, longest);
  std::vector<TokenRange> windows;
  bool joins = false;  // the last window is of whole sentences
  for (std::size_t first = text.first, last = first; first < text.last; first = last) {
    const auto sentence = sentence_of(first);
    for (last = first + 1; last < text.last && sentence_of(last) == sentence;) ++last;
    if (last - first > whole) {
      for (const TokenRange piece : cut_evenly({first, last}, whole, 0, may_begin)) windows.push_back(piece);
      joins = false;
    } else if (joins && most > 0 && last - windows.back().first <= whole) {
      windows.back().last = last;
    } else {
      windows.push_back({first, last});
      joins = true;
    }
  }
  if (windows.empty()) windows.push_back(text);
  return windows;
}

std::vector<TextPass> plan_passes(const std::vector<TokenRange>& windows, std::size_t room, std::size_t overlap) {
  std::vector<TextPass> passes;
  for (std::size_t first = 0, last = 0; first < windows.size(); first = last) {
    const std::size_t context = first == 0 ? 0 : std::min(overlap, room - windows[first].size());
    const std::size_t begin = std::max(windows[first].first - context, windows[0].first);
    for (last = first + 1; last < windows.size() && windows[last].last - begin <= room;) ++last;
    passes.push_back({{begin, windows[last - 1].last}, first, last});
  }
  return passes;
}

}  // namespace mha
