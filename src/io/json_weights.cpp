#include "io/json_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/json_text.hpp"
#include "core/numbers.hpp"
#include "core/utf8.hpp"
#include "io/json.hpp"
#include "io/json_position.hpp"
#include "io/mapped_file.hpp"
#include "io/output_stream.hpp"

namespace mha {

using nlohmann::json;

/// The event handler that fills a JsonModel. `config` and `tokenizer` are kept as text; arrays under `weights` are
/// counted level by level, so that the first row of another length is reported with its path.
class JsonModelReader {
 public:
  JsonModelReader(std::string_view text, const std::string& subject) : text_(text), subject_(subject) {}

  JsonModel read() {
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
      fail("not valid JSON: a NUL byte at byte " + std::to_string(nul));
    }
    json::sax_parse(JsonIterator(text_, 0, position_), JsonIterator(text_, text_.size(), position_), this);
    for (const char* key : {"format", "version", "config", "weights"}) {
      if (!top_keys_.contains(key)) fail("expected an mha-json model, got no key \"" + std::string(key) + "\"");
    }
    std::sort(model_.entries_.begin(), model_.entries_.end(),
              [](const JsonModel::Entry& a, const JsonModel::Entry& b) { return a.name < b.name; });
    for (JsonModel::Entry& entry : model_.entries_) {
      entry.view.data = reinterpret_cast<const std::byte*>(entry.values.data());
    }
    return std::move(model_);
  }

  bool null() { return other("null"); }
  bool boolean(bool) { return other("a boolean"); }
  bool binary(json::binary_t&) { return other("binary data"); }
  // Only numbers with a minus sign come here: `-0` is the negative zero.
  bool number_integer(json::number_integer_t value) { return number(value == 0 ? -0.0F : static_cast<float>(value)); }
  bool number_unsigned(json::number_unsigned_t value) {
    if (place_ == Place::top && key_ == "version") {
      if (value != 1) fail("version: expected 1, got " + std::to_string(value));
      return true;
    }
    return number(static_cast<float>(value));
  }
  bool number_float(json::number_float_t value, const std::string& text) {
    float narrow = 0;
    // parse_float also refuses values too small for float32; here they become zero or subnormal.
    if (!parse_float(text, narrow)) narrow = static_cast<float>(value);
    return number(narrow);
  }

  bool string(std::string& value) {
    if (place_ == Place::top && key_ == "format") {
      if (value != "mha-json") fail("format: expected \"mha-json\", got " + utf8::quoted(value));
      return true;
    }
    return other("a string");
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::raw) {
      descend();
    } else if (place_ == Place::top && (key_ == "config" || key_ == "tokenizer")) {
      place_ = Place::raw;
      raw_depth_ = 1;
      raw_begin_ = position_ - 1;
    } else if (place_ == Place::top && key_ == "weights") {
      place_ = Place::weights;
    } else {
      return other("an object");
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::raw) {
      ascend();
    } else {
      place_ = place_ == Place::weights ? Place::top : Place::outside;
    }
    return true;
  }

  bool key(std::string& name) {
    if (place_ == Place::raw) return true;
    if (!(place_ == Place::top ? top_keys_ : weight_names_).insert(name).second) {
      fail((place_ == Place::top ? "" : "weights: ") + ("duplicate key " + utf8::quoted(name)));
    }
    if (place_ == Place::top) {
      for (const char* known : {"format", "version", "config", "tokenizer", "weights"}) {
        if (name == known) {
          key_ = std::move(name);
          return true;
        }
      }
      fail("unknown key " + utf8::quoted(name) + "; expected format, version, config, tokenizer, weights");
    }
    key_ = std::move(name);
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::raw) return descend();
    if (place_ == Place::weights) {
      place_ = Place::tensor;
      model_.entries_.push_back({key_, {}, {}});
      counts_.clear();
      rank_known_ = false;
    } else if (place_ != Place::tensor) {
      return other("an array");
    } else if (rank_known_ && counts_.size() == shape().size()) {
      fail(tensor_path() + ": expected a number, got an array");
    }
    if (!counts_.empty()) ++counts_.back();
    counts_.push_back(0);
    if (counts_.size() > kMaxRank) fail(tensor_path() + ": nested deeper than " + std::to_string(kMaxRank) + " levels");
    if (!rank_known_) shape().push_back(kUnknown);
    return true;
  }

  bool end_array() {
    if (place_ == Place::raw) {
      ascend();
      return true;
    }
    const std::size_t count = counts_.back();
    counts_.pop_back();
    std::size_t& extent = shape()[counts_.size()];
    rank_known_ = true;  // the first array that ends is one of the innermost
    if (extent == kUnknown) extent = count;
    if (extent != count) {
      fail(array_path() + ": ragged: expected " + std::to_string(extent) + " values as in the arrays before, got " +
           std::to_string(count));
    }
    if (counts_.empty()) place_ = Place::weights;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    fail((place_ == Place::tensor ? tensor_path() + ": " : "") + "not valid JSON: " + json_error_text(error));
  }

 private:
  enum class Place { outside, top, raw, weights, tensor };

  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  static constexpr std::size_t kMaxRank = 8;

  [[noreturn]] void fail(const std::string& why) const { throw_model(subject_ + ": " + why); }

  std::vector<std::size_t>& shape() { return model_.entries_.back().view.shape; }

  // The path of the open array, or of the one that just ended.
  std::string array_path() const {
    std::string path = "weights[" + utf8::quoted(key_) + "]";
    for (const std::size_t count : counts_) path += "[" + std::to_string(count - 1) + "]";
    return path;
  }
  // The path of the next value in the innermost open array.
  std::string tensor_path() const {
    std::string path = "weights[" + utf8::quoted(key_) + "]";
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      path += "[" + std::to_string(i + 1 < counts_.size() ? counts_[i] - 1 : counts_[i]) + "]";
    }
    return path;
  }

  bool number(float value) {
    if (place_ != Place::tensor) return other("a number");
    if (rank_known_ && counts_.size() != shape().size()) fail(tensor_path() + ": expected an array, got a number");
    if (!std::isfinite(value)) fail(tensor_path() + ": expected a finite float32, got a number that is too large");
    rank_known_ = true;
    ++counts_.back();
    model_.entries_.back().values.push_back(value);
    return true;
  }

  // A value of a kind that is not allowed here.
  bool other(const std::string& found) const {
    switch (place_) {
      case Place::raw:
        return true;
      case Place::outside:
        fail("expected an mha-json object, got " + found);
      case Place::weights:
        fail("weights[" + utf8::quoted(key_) + "]: expected nested arrays of numbers, got " + found);
      case Place::tensor:
        fail(tensor_path() + ": expected a number, got " + found);
      case Place::top:
        break;
    }
    const std::string expected = key_ == "format" ? "\"mha-json\"" : key_ == "version" ? "1" : "an object";
    fail(key_ + ": expected " + expected + ", got " + found);
  }

  bool descend() {
    if (++raw_depth_ > kJsonDepth) fail(key_ + ": nested deeper than " + std::to_string(kJsonDepth) + " levels");
    return true;
  }

  void ascend() {
    if (--raw_depth_ > 0) return;
    (key_ == "config" ? model_.config_json_ : model_.tokenizer_json_) =
        text_.substr(raw_begin_, position_ - raw_begin_);
    place_ = Place::top;
  }

  std::string_view text_;
  std::string subject_;
  std::size_t position_ = 0;
  JsonModel model_;
  Place place_ = Place::outside;
  std::string key_;
  std::size_t raw_depth_ = 0;
  std::size_t raw_begin_ = 0;
  std::vector<std::size_t> counts_;  // values seen in each open array
  bool rank_known_ = false;
  std::unordered_set<std::string> top_keys_;
  std::unordered_set<std::string> weight_names_;
};

JsonModel JsonModel::read(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse(file.text(), path_text(path));
}

JsonModel JsonModel::parse(std::string_view text, const std::string& subject) {
  return JsonModelReader(text, subject).read();
}

const TensorView* JsonModel::find(std::string_view name) const {
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), name,
                                      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return place != entries_.end() && place->name == name ? &place->view : nullptr;
}

std::vector<std::string> JsonModel::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

JsonModelWriter::JsonModelWriter(OutputStream& out, std::string_view config_json, std::string_view tokenizer_json)
    : out_(out) {
  out_.write("{\"format\": \"mha-json\", \"version\": 1,\n\"config\": ");
  out_.write(config_json);
  if (!tokenizer_json.empty()) {
    out_.write(",\n\"tokenizer\": ");
    out_.write(tokenizer_json);
  }
  out_.write(",\n\"weights\": {");
}

void JsonModelWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value))
      throw_model("tensor " + utf8::quoted(name) + ": a value that is not finite has no JSON form");
  }
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  if (shape.empty() || count != values.size()) {
    throw_internal("tensor " + utf8::quoted(name) + ": " + std::to_string(values.size()) + " values for shape " +
                   shape_text(shape));
  }
  std::string text = first_ ? "\n" : ",\n";
  first_ = false;
  append_json_string(text, name);
  text += ": ";
  // Writes the array that starts at `begin` and has the extents `shape[level…]`, one row per line.
  const auto write = [&](const auto& self, std::size_t level, std::size_t begin, std::size_t size) -> void {
    if (level + 1 == shape.size()) {
      append_json_array(text, values.subspan(begin, size));
      if (text.size() > std::size_t{1} << 16) {
        out_.write(text);
        text.clear();
      }
      return;
    }
    const std::size_t part = shape[level] == 0 ? 0 : size / shape[level];
    text += '[';
    for (std::size_t i = 0; i < shape[level]; ++i) {
      text += i == 0 ? "\n" : ",\n";
      self(self, level + 1, begin + i * part, part);
    }
    text += ']';
  };
  write(write, 0, 0, values.size());
  out_.write(text);
}

void JsonModelWriter::finish() { out_.write("}}\n"); }

}  // namespace mha
