#include "tokenizer/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

// Bytes that end the run of plain characters of a string.
struct Stops {
  bool stop[256] = {};
  constexpr Stops() {
    for (int c = 0; c < 0x20; ++c) stop[c] = true;
    stop[static_cast<unsigned char>('"')] = true;
    stop[static_cast<unsigned char>('\\')] = true;
  }
  constexpr bool operator[](unsigned char c) const { return stop[c]; }
};
constexpr Stops kStops{};

}  // namespace

/// Iterative, so that nesting costs no stack.
class JsonParser {
 public:
  JsonParser(std::string_view text, JsonDocument& document) : text_(text), document_(document) {}

  void parse() {
    if (text_.size() >= std::numeric_limits<std::uint32_t>::max()) fail("less than 4 GiB");
    if (const std::size_t bad = utf8::first_invalid(text_); bad != utf8::kValid) {
      position_ = bad;
      fail("valid UTF-8");
    }
    document_.nodes_.reserve(text_.size() / 8 + 16);
    skip_space();
    value();
    while (!open_.empty()) element();
    skip_space();
    if (position_ != text_.size()) fail("nothing behind the value");
  }

 private:
  using Kind = JsonDocument::Kind;

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string_view before = text_.substr(0, position_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_begin = before.find_last_of('\n') + 1;  // npos + 1 is 0
    throw_model("tokenizer: " + document_.origin_ + ": line " + std::to_string(line) + ", column " +
                std::to_string(position_ - line_begin + 1) + ": expected " + std::string(expected) + ", got " +
                (position_ < text_.size() ? "something else" : "the end of the file"));
  }

  int peek() const { return position_ < text_.size() ? static_cast<unsigned char>(text_[position_]) : -1; }

  void skip_space() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++position_;
    }
  }

  std::uint32_t push(Kind kind, std::size_t begin, std::size_t end, bool flag) {
    const auto index = static_cast<std::uint32_t>(document_.nodes_.size());
    document_.nodes_.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), index + 1, kind, flag});
    return index;
  }

  // One value; containers stay open.
  void value() {
    switch (peek()) {
      case '"':
        string();
        break;
      case '{':
        open(Kind::object);
        break;
      case '[':
        open(Kind::array);
        break;
      case 't':
        literal("true", Kind::boolean, true);
        break;
      case 'f':
        literal("false", Kind::boolean, false);
        break;
      case 'n':
        literal("null", Kind::null, false);
        break;
      default:
        number();
    }
  }

  void open(Kind kind) {
    if (open_.size() == JsonDocument::kMaxDepth) {
      fail("at most " + std::to_string(JsonDocument::kMaxDepth) + " levels of nesting");
    }
    open_.push_back(push(kind, position_, 0, false));
    ++position_;
  }

  // The next element of the innermost container, or its end.
  void element() {
    JsonDocument::Node& container = document_.nodes_[open_.back()];
    const bool object = container.kind == Kind::object;
    const char close = object ? '}' : ']';
    skip_space();
    if (peek() == close) {
      ++position_;
      container.next = static_cast<std::uint32_t>(document_.nodes_.size());
      open_.pop_back();
      return;
    }
    if (container.end > 0) {
      if (peek() != ',') fail(object ? "\",\" or \"}\"" : "\",\" or \"]\"");
      ++position_;
      skip_space();
    }
    ++container.end;
    if (object) {
      if (peek() != '"') fail("a key in quotes");
      string();
      skip_space();
      if (peek() != ':') fail("\":\"");
      ++position_;
      skip_space();
    }
    value();
  }

  void literal(std::string_view word, Kind kind, bool flag) {
    if (text_.substr(position_, word.size()) != word) fail("a value");
    push(kind, position_, position_ + word.size(), flag);
    position_ += word.size();
  }

  void number() {
    const std::size_t begin = position_;
    bool integer = true;
    if (peek() == '-') ++position_;
    if (peek() == '0') {
      ++position_;
    } else {
      digits();
    }
    if (peek() == '.') {
      integer = false;
      ++position_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      ++position_;
      if (peek() == '+' || peek() == '-') ++position_;
      digits();
    }
    push(Kind::number, begin, position_, integer);
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("a value");
    while (peek() >= '0' && peek() <= '9') ++position_;
  }

  void string() {
    const std::size_t begin = ++position_;
    bool escapes = false;
    for (;;) {
      while (position_ < text_.size() && !kStops[static_cast<unsigned char>(text_[position_])]) ++position_;
      const int c = peek();
      if (c == '"') break;
      if (c != '\\') fail("a closed string without control characters");
      escapes = true;
      escape();
    }
    push(Kind::string, begin, position_, escapes);
    ++position_;
  }

  void escape() {
    ++position_;
    const int c = peek();
    if (c == 'u') {
      const unsigned unit = hex4();
      if (unit >= 0xDC00 && unit <= 0xDFFF) fail("no lone surrogate");
      if (unit >= 0xD800 && unit <= 0xDBFF) {
        if (peek() != '\\') fail("a low surrogate");
        ++position_;
        if (peek() != 'u') fail("a low surrogate");
        const unsigned low = hex4();
        if (low < 0xDC00 || low > 0xDFFF) fail("a low surrogate");
      }
      return;
    }
    if (c < 0 || std::strchr("\"\\/bfnrt", c) == nullptr) fail("an escape");
    ++position_;
  }

  unsigned hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      ++position_;
      const int c = peek();
      unsigned digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<unsigned>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<unsigned>(c - 'A') + 10;
      } else {
        fail("four hexadecimal digits");
      }
      value = value << 4 | digit;
    }
    ++position_;
    return value;
  }

  std::string_view text_;
  JsonDocument& document_;
  std::size_t position_ = 0;
  std::vector<std::uint32_t> open_;
};

JsonDocument JsonDocument::parse(std::string_view text, std::string origin) {
  JsonDocument document;
  document.text_ = text;
  document.origin_ = std::move(origin);
  JsonParser(text, document).parse();
  return document;
}

JsonValue JsonDocument::root() const { return {this, 0}; }

namespace {

// The escapes were checked by the parser.
void unescape(std::string_view token, std::string& out) {
  const auto hex = [&](std::size_t at) {
    unsigned value = 0;
    std::from_chars(token.data() + at, token.data() + at + 4, value, 16);
    return value;
  };
  out.clear();
  for (std::size_t i = 0; i < token.size();) {
    if (token[i] != '\\') {
      const std::size_t end = std::min(token.find('\\', i), token.size());
      out.append(token, i, end - i);
      i = end;
      continue;
    }
    const char c = token[i + 1];
    i += 2;
    switch (c) {
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        char32_t unit = hex(i);
        i += 4;
        if (unit >= 0xD800 && unit <= 0xDBFF) {
          unit = 0x10000 + ((unit - 0xD800) << 10) + (hex(i + 2) - 0xDC00);
          i += 6;
        }
        utf8::append(out, unit);
        break;
      }
      default:
        out.push_back(c);
    }
  }
}

}  // namespace

std::string_view JsonValue::token() const { return document_->text_.substr(node().begin, node().end - node().begin); }

bool JsonValue::as_bool() const {
  if (!is_bool()) fail("true or false");
  return node().flag;
}

// As the reference's parser does (serde_json 1, f64_from_parts): digits into 64 bits as long as they fit, then one
// multiplication or division by a power of ten. The last bit may differ from the nearest double, and with it which of
// two equally good ways through a Unigram model wins.
double JsonValue::as_double() const {
  if (!is_number()) fail("a number");
  static const std::array<double, 309> kPowers = [] {
    std::array<double, 309> powers{};
    for (std::size_t i = 0; i < powers.size(); ++i) {
      const std::string text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), powers[i]);
    }
    return powers;
  }();
  const std::string_view text = token();
  std::size_t at = 0;
  const bool negative = text[at] == '-';
  if (negative) ++at;
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  bool full = false;
  const auto take = [&](bool fraction) {
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      const auto digit = static_cast<std::uint64_t>(text[at] - '0');
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      full = full || digits > kMost / 10 || (digits == kMost / 10 && digit > kMost % 10);
      if (!full) digits = digits * 10 + digit;
      if (full != fraction) exponent += fraction ? -1 : 1;
    }
  };
  take(false);
  if (at < text.size() && text[at] == '.') {
    ++at;
    take(true);
  }
  if (at < text.size()) {  // e
    ++at;
    const bool down = text[at] == '-';
    if (text[at] == '-' || text[at] == '+') ++at;
    std::int64_t value = 0;
    for (; at < text.size(); ++at) value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), 1 << 30);
    exponent += down ? -value : value;
  }
  auto value = static_cast<double>(digits);
  while (value != 0 && exponent < -308) {
    value /= 1e308;
    exponent += 308;
  }
  if (value != 0 && exponent > 308) fail("a number within the range of double");
  if (value != 0) {
    const double power = kPowers[static_cast<std::size_t>(std::abs(exponent))];
    value = exponent < 0 ? value / power : value * power;
  }
  if (!std::isfinite(value)) fail("a number within the range of double");
  return negative ? -value : value;
}

std::int64_t JsonValue::as_integer(std::int64_t low, std::int64_t high) const {
  std::int64_t value = 0;
  bool good = is_number() && node().flag;
  if (good) {
    const std::string_view text = token();
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    good = status == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
  }
  if (!good) fail("an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

std::string_view JsonValue::as_view(std::string& buffer) const {
  if (!is_string()) fail("a string");
  if (!node().flag) return token();
  unescape(token(), buffer);
  return buffer;
}

std::string JsonValue::as_string() const {
  std::string buffer;
  return std::string(as_view(buffer));
}

std::size_t JsonValue::size() const { return is_array() || is_object() ? node().end : 0; }

void JsonValue::expect_array() const {
  if (!is_array()) fail("an array");
}

void JsonValue::expect_object() const {
  if (!is_object()) fail("an object");
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  std::optional<JsonValue> found;
  std::string buffer;
  for (const auto& [name, value] : members()) {
    if (name.as_view(buffer) == key) found = value;
  }
  if (found && found->is_null()) found.reset();
  return found;
}

JsonValue JsonValue::at(std::string_view key) const {
  const auto found = find(key);
  if (!found) error("expected the key \"" + std::string(key) + "\", got none");
  return *found;
}

bool JsonValue::bool_or(std::string_view key, bool fallback) const {
  const auto found = find(key);
  return found ? found->as_bool() : fallback;
}

std::string JsonValue::string_or(std::string_view key, std::string_view fallback) const {
  const auto found = find(key);
  return found ? found->as_string() : std::string(fallback);
}

JsonValue::Elements JsonValue::elements() const {
  expect_array();
  return {Iterator(document_, index_ + 1), Iterator(document_, node().next)};
}

JsonValue::Members JsonValue::members() const {
  expect_object();
  return {MemberIterator(document_, index_ + 1), MemberIterator(document_, node().next)};
}

std::string JsonValue::where() const {
  std::string path = document_->origin_ + ":";
  const auto& nodes = document_->nodes_;
  std::string buffer;
  std::uint32_t at = 0;
  char separator = ' ';
  while (at != index_) {  // walk down to the child that holds the value
    const bool object = nodes[at].kind == JsonDocument::Kind::object;
    std::uint32_t child = at + 1;
    std::size_t number = 0;
    if (object) {
      while (nodes[child + 1].next <= index_) child = nodes[child + 1].next;
      path += separator;
      path += JsonValue(document_, child).as_view(buffer);
      if (child == index_) return path;  // the key itself
      at = child + 1;
    } else {
      for (; nodes[child].next <= index_; ++number) child = nodes[child].next;
      if (separator == ' ') path += ' ';
      path += '[' + std::to_string(number) + ']';
      at = child;
    }
    separator = '.';
  }
  if (path.back() == ':') path.pop_back();
  return path;
}

void JsonValue::fail(std::string_view expected) const {
  std::string got;
  switch (kind()) {
    case JsonDocument::Kind::null:
      got = "null";
      break;
    case JsonDocument::Kind::boolean:
      got = node().flag ? "true" : "false";
      break;
    case JsonDocument::Kind::number:
      got = std::string(token().substr(0, 40));
      break;
    case JsonDocument::Kind::string:
      got = "a string";
      break;
    case JsonDocument::Kind::array:
      got = "an array";
      break;
    case JsonDocument::Kind::object:
      got = "an object";
      break;
  }
  error("expected " + std::string(expected) + ", got " + got);
}

void JsonValue::error(const std::string& message) const { throw_model("tokenizer: " + where() + ": " + message); }

}  // namespace mha::tokenizer
