#include <algorithm>

#include "tokenizer/json.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

namespace mha::tokenizer {

SplitBehavior split_behavior_from_json(const JsonValue& value) {
  const std::string name = value.as_string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  value.error("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got \"" + name + "\"");
}

namespace {

// Takes the pieces of a word in order, each a delimiter or not, and joins them as the behavior says.
class Joiner {
 public:
  Joiner(SplitBehavior behavior, std::vector<Span>& out) : behavior_(behavior), out_(out), first_(out.size()) {}

  void piece(Span span, bool delimiter) {
    const bool after_delimiter = after_delimiter_;
    after_delimiter_ = delimiter;
    switch (behavior_) {
      case SplitBehavior::removed:
        if (!delimiter) push(span);
        return;
      case SplitBehavior::isolated:
        return push(span);
      case SplitBehavior::contiguous:
        return delimiter == after_delimiter ? extend(span) : push(span);
      case SplitBehavior::merged_with_previous:
        return delimiter && !after_delimiter ? extend(span) : push(span);
      case SplitBehavior::merged_with_next:
        return !delimiter && after_delimiter ? extend(span) : push(span);
    }
  }

 private:
  void push(Span span) { out_.push_back(span); }
  void extend(Span span) {
    if (out_.size() == first_) {
      push(span);
    } else {
      out_.back().end = span.end;
    }
  }

  SplitBehavior behavior_;
  std::vector<Span>& out_;
  std::size_t first_;
  bool after_delimiter_ = false;
};

}  // namespace

void split_word(Span word, const std::vector<Span>& matches, SplitBehavior behavior, bool invert,
                std::vector<Span>& out) {
  const std::size_t first = out.size();
  Joiner joiner(behavior, out);
  std::uint32_t at = word.begin;
  for (const Span& match : matches) {
    if (at != match.begin) joiner.piece({at, match.begin}, invert);
    joiner.piece(match, !invert);
    at = match.end;
  }
  if (at != word.end) joiner.piece({at, word.end}, invert);
  const auto is_empty = [](const Span& span) { return span.begin == span.end; };
  out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), is_empty), out.end());
}

}  // namespace mha::tokenizer
