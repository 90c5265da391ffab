#include "tokenizer/pattern/pattern.hpp"

#include "core/utf8.hpp"
#include "tokenizer/json.hpp"

namespace mha::tokenizer {
namespace {

class Literal final : public Pattern {
 public:
  explicit Literal(std::string literal) : literal_(std::move(literal)) {}

  void find(std::string_view text, std::vector<Span>& out) const override {
    if (text.empty()) return;
    if (literal_.empty()) {
      for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at == text.size() || !utf8::is_continuation(text[at])) add(at, out);
      }
      return;
    }
    for (std::size_t at = text.find(literal_); at != text.npos; at = text.find(literal_, at + literal_.size())) {
      add(at, out);
    }
  }

 private:
  void add(std::size_t at, std::vector<Span>& out) const {
    out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + literal_.size())});
  }
  std::string literal_;
};

}  // namespace

std::shared_ptr<const Pattern> make_literal_pattern(std::string literal) {
  return std::make_shared<Literal>(std::move(literal));
}

std::shared_ptr<const Pattern> Pattern::from_json(const JsonValue& value) {
  if (const auto literal = value.find("String")) return make_literal_pattern(literal->as_string());
  if (const auto regex = value.find("Regex")) return make_regex_pattern(regex->as_string(), regex->where());
  value.error("expected {\"String\": …} or {\"Regex\": …}");
}

}  // namespace mha::tokenizer
