#include <oniguruma.h>

#include <limits>
#include <memory>
#include <mutex>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/fast/known_patterns.hpp"
#include "tokenizer/pattern/pattern.hpp"
#include "tokenizer/pattern/regex_unicode.hpp"

namespace mha::tokenizer {
namespace {

// A hostile expression must not take all time or memory. The first limit is the reference's own (Oniguruma's default),
// after which it panics; the others stand where it would go on for hours or run out of memory.
constexpr unsigned long kRetriesOfMatch = 10'000'000;
constexpr unsigned long kRetriesOfSearch = 100'000'000;
constexpr unsigned int kStackEntries = 8'000'000;

std::string message_of(int code, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size = onig_error_code_to_str(text, code, info);
  return std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

/// A regular expression in Oniguruma's Ruby syntax, the reference's engine.
/// Source of the iteration: crate onig 6.5.1, find.rs, FindMatches.
class RegexPattern final : public Pattern {
 public:
  RegexPattern(const std::string& expression, const std::string& where) {
    static std::once_flag initialized;
    std::call_once(initialized, [] {
      OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
      onig_initialize(encodings, 1);
    });
    const std::string current = with_current_unicode(expression);
    const auto* begin = reinterpret_cast<const OnigUChar*>(current.data());
    OnigErrorInfo info;
    regex_t* regex = nullptr;
    const int code =
        onig_new(&regex, begin, begin + current.size(), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_RUBY, &info);
    if (code != ONIG_NORMAL) {
      throw_model("tokenizer: " + where + ": expected a regular expression of Oniguruma, got \"" + expression + "\" (" +
                  message_of(code, &info) + ")");
    }
    regex_.reset(regex);
  }

  void find(std::string_view text, std::vector<Span>& out) const override {
    const std::unique_ptr<OnigRegion, FreeRegion> region(onig_region_new());
    const std::unique_ptr<OnigMatchParam, FreeParam> param(onig_new_match_param());
    if (!region || !param) throw std::bad_alloc();
    onig_initialize_match_param(param.get());
    onig_set_retry_limit_in_match_of_match_param(param.get(), kRetriesOfMatch);
    onig_set_retry_limit_in_search_of_match_param(param.get(), kRetriesOfSearch);
    onig_set_match_stack_limit_size_of_match_param(param.get(), kStackEntries);

    const auto* begin = reinterpret_cast<const OnigUChar*>(text.data());
    const OnigUChar* end = begin + text.size();
    std::size_t position = 0;
    std::size_t last_end = std::numeric_limits<std::size_t>::max();
    while (position <= text.size()) {
      const int code = onig_search_with_param(regex_.get(), begin, end, begin + position, end, region.get(),
                                              ONIG_OPTION_NONE, param.get());
      if (code == ONIG_MISMATCH) return;
      if (code < 0)
        throw_input("tokenizer: regular expression: expected to be done within its limits, got " +
                    message_of(code, nullptr));
      const auto match_begin = static_cast<std::size_t>(region->beg[0]);
      const auto match_end = static_cast<std::size_t>(region->end[0]);
      if (match_begin == match_end && match_end == last_end) {
        if (position >= text.size()) return;
        utf8::next(text, position);
        continue;
      }
      position = last_end = match_end;
      out.push_back({static_cast<std::uint32_t>(match_begin), static_cast<std::uint32_t>(match_end)});
    }
  }

 private:
  struct FreeRegex {
    void operator()(regex_t* regex) const { onig_free(regex); }
  };
  struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  };
  struct FreeParam {
    void operator()(OnigMatchParam* param) const { onig_free_match_param(param); }
  };
  std::unique_ptr<regex_t, FreeRegex> regex_;
};

}  // namespace

std::shared_ptr<const Pattern> make_regex_pattern(const std::string& expression, const std::string& where) {
  if (auto known = find_known_pattern(expression)) return known;
  return std::make_shared<RegexPattern>(expression, where);
}

}  // namespace mha::tokenizer
