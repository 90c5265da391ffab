#include "io/json_record.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_text.hpp"
#include "core/utf8.hpp"
#include "io/json.hpp"
#include "io/json_position.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonSpace = " \t\r\n";
constexpr std::string_view kNumber = "+-.0123456789eE";
constexpr std::size_t kNone = std::string_view::npos;
constexpr int kNumberOverflow = 406;  // of nlohmann/json
constexpr const char* kHint = "; each line must be one whole record; the input format json reads records over lines";

// The code unit of the escape `\uXXXX` at `position`, or -1 if there is none.
int unicode_escape(std::string_view text, std::size_t position) {
  if (position + 6 > text.size() || text[position] != '\\' || text[position + 1] != 'u') return -1;
  int unit = 0;
  for (std::size_t i = position + 2; i < position + 6; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// The first escape, from `position` on, of a surrogate without its other half. Backslashes occur only in strings.
std::size_t lone_surrogate(std::string_view text, std::size_t position) {
  for (position = text.find('\\', position); position != kNone; position = text.find('\\', position)) {
    const int unit = unicode_escape(text, position);
    if (is_high_surrogate(unit)) {
      if (!is_low_surrogate(unicode_escape(text, position + 6))) return position;
      position += 12;
    } else if (is_low_surrogate(unit)) {
      return position;
    } else {
      position += 2;
    }
  }
  return kNone;
}

// Picks the wanted members of one record. An error is noted and reading continues, so that the id of a bad record is
// found even after the error.
class RecordReader {
 public:
  RecordReader(std::string_view text, const TextReaderOptions& options, Input& record)
      : text_(text), options_(options), record_(record) {}

  std::string problem;       // the first one; empty: none
  std::size_t byte = kNone;  // where in the text, if that is known
  bool seen_text = false;

  void read() {
    const std::size_t start = text_.find_first_not_of(kJsonSpace);
    if (text_[start] != '{') {
      const std::string hint = text_[start] == '[' ? kHint : "";
      return note("expected a JSON object, got " + utf8::quoted(text_.substr(start, 20)) + hint, start);
    }
    // The library reads a NUL byte as the end of the text.
    if (const std::size_t nul = text_.find('\0'); nul != kNone) return note("not valid JSON: a NUL byte", nul);
    parse(text_);
    if (overflow_) {
      // Read once more, with a short number in place of each that is larger than a double: those that nobody reads
      // are no fault, and the others are copied as they were written.
      forget();
      parse(without_overflow());
    }
    if (problem.empty() && !seen_text) note("expected a key " + utf8::quoted(options_.text_key) + ", got none");
  }

  bool null() { return member("null", member_ == Member::pair); }
  bool boolean(bool) { return member("a boolean"); }
  // Only integers with a minus sign come to number_integer: a zero there was written `-0`.
  bool number_integer(json::number_integer_t value) { return number(value == 0 ? 2 : std::to_string(value).size()); }
  bool number_unsigned(json::number_unsigned_t value) { return number(std::to_string(value).size()); }
  bool number_float(json::number_float_t, const std::string& text) { return number(text.size()); }
  bool binary(json::binary_t&) { return member("binary data"); }

  bool string(std::string& value) {
    if (depth_ == 1 && member_ == Member::text) record_.text = std::move(value);
    if (depth_ == 1 && member_ == Member::pair) record_.text_pair = std::move(value);
    return member("a string", true);
  }

  bool start_object(std::size_t) { return descend(); }
  bool start_array(std::size_t) { return descend(); }
  bool end_object() { return ascend("an object"); }
  bool end_array() { return ascend("an array"); }

  bool key(std::string& name) {
    if (depth_ != 1) return true;
    key_ = std::move(name);
    key_end_ = position_;
    if (std::find(keys_.begin(), keys_.end(), key_) != keys_.end())
      note("duplicate key " + utf8::quoted(key_), position_ - 1);
    keys_.push_back(key_);
    if (key_ == options_.text_key) {
      member_ = Member::text;
      seen_text = true;
    } else if (key_ == options_.pair_key) {
      member_ = Member::pair;
    } else if (key_ == options_.id_key) {
      member_ = Member::id;
    } else {
      const auto& reserved = options_.reserved_keys;
      const bool wanted = options_.pass_through && std::find(reserved.begin(), reserved.end(), key_) == reserved.end();
      member_ = wanted ? Member::extra : Member::ignored;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    if (error.id == kNumberOverflow && !std::exchange(overflow_, true)) return false;
    const bool open = text_.find_first_not_of(kJsonSpace, text_.find('{') + 1) == kNone;
    note("not valid JSON: " + json_error_text(error) + (open ? kHint : ""),
         std::min(position > 0 ? position - 1 : 0, text_.size()));
    return false;
  }

 private:
  enum class Member { text, pair, id, extra, ignored };

  void parse(std::string_view text) {
    json::sax_parse(JsonIterator(text, 0, position_), JsonIterator(text, text.size(), position_), this);
  }

  void forget() {
    seen_text = false;
    record_.text.clear();
    record_.text_pair.reset();
    record_.id_json.clear();
    record_.extra_json.clear();
    position_ = depth_ = key_end_ = 0;
    member_ = Member::ignored;
    keys_.clear();
  }

  // The text with `1` and blanks in place of each number that a double cannot hold.
  std::string without_overflow() {
    std::string text(text_);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') {
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1U : 0U;
      } else if (kNumber.find(text[i]) != kNone) {
        const std::size_t end = std::min(text.find_first_not_of(kNumber, i), text.size());
        double value = 0;
        const auto [stop, error] = std::from_chars(text.data() + i, text.data() + end, value);
        if (error == std::errc::result_out_of_range && stop == text.data() + end) {
          shortened_.emplace_back(i, end - i);
          text.replace(i, end - i, std::string(end - i, ' ')).replace(i, 1, 1, '1');
        }
        i = end - 1;
      }
    }
    return text;
  }

  void note(const std::string& what, std::size_t where = kNone) {
    if (!problem.empty()) return;
    problem = what;
    byte = where;
  }

  bool descend() {
    if (++depth_ <= kJsonDepth) return true;
    note("nested deeper than " + std::to_string(kJsonDepth) + " levels", position_ - 1);
    return false;
  }

  bool ascend(const char* kind) {
    --depth_;
    return depth_ == 0 || member(kind);
  }

  // The parser finds the end of a number by the byte after it, and may or may not have consumed that byte. Only the
  // number's length is certain.
  bool number(std::size_t length) {
    number_length_ = length;
    if (!shortened_.empty() && depth_ == 1) {
      for (const auto& [begin, written] : shortened_) {
        if (begin == value_begin()) number_length_ = written;
      }
    }
    member("a number");
    number_length_ = 0;
    return true;
  }

  // A value has just ended; `fits`: a text or pair may be of its kind.
  bool member(const char* kind, bool fits = false) {
    if (depth_ != 1) return true;
    switch (member_) {
      case Member::text:
      case Member::pair:
        if (!fits) note("key " + utf8::quoted(key_) + ": expected a string, got " + kind, value_begin());
        break;
      case Member::id:
        if (number_length_ == 0 || number_is_whole()) record_.id_json = written_value();
        break;
      case Member::extra:
        if (!record_.extra_json.empty()) record_.extra_json += ',';
        append_json_string(record_.extra_json, key_);
        record_.extra_json += ':';
        record_.extra_json += written_value();
        break;
      case Member::ignored:
        break;
    }
    return true;
  }

  std::size_t value_begin() const { return text_.find_first_not_of(kJsonSpace, text_.find(':', key_end_) + 1); }

  // The parser reads the first digits of `01` or `1-` as a number and fails at the rest. No id is better than a wrong
  // one.
  bool number_is_whole() const {
    const std::size_t end = value_begin() + number_length_;
    return end >= text_.size() || text_[end] == ',' || text_[end] == '}' || kJsonSpace.find(text_[end]) != kNone;
  }

  std::string_view written_value() const {
    const std::size_t begin = value_begin();
    return text_.substr(begin, number_length_ > 0 ? number_length_ : position_ - begin);
  }

  std::string_view text_;
  const TextReaderOptions& options_;
  Input& record_;
  std::size_t position_ = 0;
  std::size_t depth_ = 0;
  Member member_ = Member::ignored;
  std::string key_;
  std::size_t key_end_ = 0;
  std::size_t number_length_ = 0;  // of the value that has just ended, if it is a number
  std::vector<std::string> keys_;
  bool overflow_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> shortened_;  // begin and length of numbers that are too large
};

}  // namespace

bool is_blank_json(std::string_view line) { return line.find_first_not_of(kJsonSpace) == kNone; }

std::string invalid_utf8_text(const Input& record, std::string_view bytes, std::size_t invalid) {
  std::string text = record.place_at(record.begin + invalid) + ": expected valid UTF-8, got byte " +
                     utf8::printable(bytes.substr(invalid, 1));
  if (record.begin + invalid == 0 && (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))) {
    text += "; a UTF-16 file? convert it to UTF-8 first";
  }
  return text;
}

void parse_json_record(std::string_view line, const TextReaderOptions& options, Input& record) {
  std::string repaired;
  std::optional<std::uint64_t> replaced;
  std::string_view text = line;
  if (const std::size_t invalid = utf8::first_invalid(line); invalid != utf8::kValid) {
    if (!options.replace_invalid) record.error = invalid_utf8_text(record, line, invalid);
    repaired = utf8::replace_invalid(line);
    replaced = record.begin + invalid;
    text = repaired;
  }
  if (std::size_t lone = lone_surrogate(text, 0); lone != kNone) {
    if (!options.replace_invalid && record.error.empty()) {
      record.error = record.place_at(record.begin + lone) + ": expected valid UTF-8, got the lone surrogate escape " +
                     std::string(text.substr(lone, 6));
    }
    if (!replaced) replaced = record.begin + lone;
    if (repaired.empty()) repaired = line;
    for (; lone != kNone; lone = lone_surrogate(repaired, lone + 6)) repaired.replace(lone, 6, "\\ufffd");
    text = repaired;
  }
  const bool changed = replaced.has_value();
  RecordReader reader(text, options, record);
  reader.read();
  if (record.error.empty() && !reader.problem.empty()) {
    const bool known = reader.byte != kNone && !changed;
    record.error = (known ? record.place_at(record.begin + reader.byte) : record.place()) + ": " + reader.problem;
  }
  if (record.error.empty()) {
    record.replaced = replaced;
    return;
  }
  record.text.clear();
  record.text_pair.reset();
  record.extra_json.clear();
  if (changed && line.find(record.id_json) == kNone) record.id_json.clear();  // the id itself was damaged
}

}  // namespace mha
