#include "io/safetensors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "core/utf8.hpp"
#include "io/json.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadataKey = "__metadata__";

// One tensor as the header states it; `begin` and `end` count from the start of the data.
struct HeaderEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<std::size_t>> shape;
  std::optional<std::vector<std::size_t>> offsets;
};

// Reads the header event by event, so that a repeated key is found and nothing unexpected is stored. Wrong structure
// throws at once; numbers are checked when the header is complete.
class HeaderReader {
 public:
  explicit HeaderReader(std::string file) : file_(std::move(file)) {}

  std::vector<HeaderEntry> entries;
  SafetensorsMetadata metadata;

  bool null() {
    // Some writers say so if there is no metadata; the reference reads such files.
    if (place_ == Place::root && key_ == kMetadataKey) return true;
    return scalar("null");
  }
  bool boolean(bool) { return scalar("a boolean"); }
  bool number_integer(json::number_integer_t) { return scalar("a negative number"); }
  bool number_float(json::number_float_t, const std::string&) { return scalar("a number that is no plain integer"); }
  bool binary(json::binary_t&) { return scalar("binary data"); }

  bool number_unsigned(json::number_unsigned_t value) {
    if (list_ == nullptr) return scalar("a number");
    list_->push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      metadata.emplace_back(key_, std::move(value));
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return scalar("a string");
    entries.back().dtype = dtype_from_name(value);
    if (!entries.back().dtype) fail_tensor("unknown dtype " + utf8::quoted(value));
    return true;
  }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::outside:
        place_ = Place::root;
        return true;
      case Place::root:
        place_ = key_ == kMetadataKey ? Place::metadata : Place::tensor;
        if (place_ == Place::tensor) entries.push_back({key_, {}, {}, {}});
        fields_.clear();
        return true;
      case Place::tensor:
        return enter_unknown("an object");
      case Place::metadata:
        return scalar("an object");
      case Place::list:
        return scalar("an object");
      case Place::unknown:
        return descend();
    }
    return false;
  }

  bool end_object() {
    switch (place_) {
      case Place::unknown:
        leave_unknown();
        break;
      case Place::tensor:
        check_complete();
        place_ = Place::root;
        break;
      case Place::metadata:
        place_ = Place::root;
        break;
      default:
        place_ = Place::outside;
    }
    return true;
  }

  bool key(std::string& name) {
    if (place_ == Place::unknown) return true;
    std::unordered_set<std::string>& seen = place_ == Place::root ? names_ : fields_;
    if (!seen.insert(name).second) {
      const std::string twice = "duplicate key " + utf8::quoted(name);
      if (place_ == Place::tensor) fail_tensor(twice);
      fail(place_ == Place::metadata ? "header: __metadata__: " + twice : "header: " + twice);
    }
    key_ = std::move(name);
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::unknown) return descend();
    if (place_ != Place::tensor) return scalar("an array");
    if (key_ == "shape") {
      list_ = &entries.back().shape.emplace();
    } else if (key_ == "data_offsets") {
      list_ = &entries.back().offsets.emplace();
    } else {
      return enter_unknown("an array");
    }
    place_ = Place::list;
    return true;
  }

  bool end_array() {
    if (place_ == Place::unknown) {
      leave_unknown();
    } else {
      list_ = nullptr;
      place_ = Place::tensor;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    fail("header is not valid JSON at byte " + std::to_string(kLengthBytes + position) +
         " of the file: " + json_error_text(error));
  }

 private:
  enum class Place { outside, root, metadata, tensor, list, unknown };

  [[noreturn]] void fail(const std::string& why) const { throw_model(file_ + ": " + why); }
  [[noreturn]] void fail_tensor(const std::string& why) const {
    fail("tensor " + utf8::quoted(entries.back().name) + ": " + why);
  }

  // A value of a kind that its key does not allow. Keys that the format does not name may hold anything.
  bool scalar(const char* found) const {
    switch (place_) {
      case Place::outside:
        fail("header: expected an object, got " + std::string(found));
      case Place::root:
        if (key_ == kMetadataKey) fail("header: __metadata__: expected an object, got " + std::string(found));
        fail("tensor " + utf8::quoted(key_) + ": expected an object, got " + found);
      case Place::metadata:
        fail("header: __metadata__: " + utf8::quoted(key_) + ": expected a string, got " + found);
      case Place::list:
        fail_tensor(key_ + ": expected integers from 0, got " + found);
      case Place::tensor:
        if (key_ == "dtype") fail_tensor("dtype: expected a string, got " + std::string(found));
        if (key_ == "shape" || key_ == "data_offsets") fail_tensor(key_ + ": expected an array, got " + found);
        return true;
      case Place::unknown:
        return true;
    }
    return false;
  }

  bool enter_unknown(const char* found) {
    scalar(found);
    place_ = Place::unknown;
    unknown_depth_ = 1;
    return true;
  }

  bool descend() {
    if (++unknown_depth_ > kJsonDepth) fail("header: nested deeper than " + std::to_string(kJsonDepth) + " levels");
    return true;
  }

  void leave_unknown() {
    if (--unknown_depth_ == 0) place_ = Place::tensor;
  }

  void check_complete() const {
    const HeaderEntry& entry = entries.back();
    if (!entry.dtype) fail_tensor("dtype is missing");
    if (!entry.shape) fail_tensor("shape is missing");
    if (!entry.offsets) fail_tensor("data_offsets is missing");
  }

  std::string file_;
  Place place_ = Place::outside;
  std::string key_;
  std::vector<std::size_t>* list_ = nullptr;
  std::size_t unknown_depth_ = 0;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> fields_;
};

bool multiply(std::size_t& product, std::size_t factor) { return !__builtin_mul_overflow(product, factor, &product); }

// The likely kind of a file that is not a safetensors file; nothing if it may be one.
std::string other_kind(std::string_view text) {
  std::string start(text.substr(0, 64));
  for (char& c : start) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  if (start.starts_with("version https://git-lfs")) {
    return "a Git LFS pointer, not the weights themselves; fetch them with `git lfs pull`";
  }
  if (start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<?xml")) {
    return "an HTML or XML page, not a safetensors file; download it again from the right address";
  }
  if (start.starts_with("pk\x03\x04")) return "a zip file (PyTorch?), not a safetensors file";
  if (start.starts_with("gguf")) return "a GGUF file, not a safetensors file";
  if (start.starts_with("{")) return "a JSON text, not a safetensors file";
  return {};
}

std::string_view header_of(const FileBytes& file, const std::string& name) {
  const std::string_view text = file.text();
  const auto fail = [&](const std::string& why) { throw_model(name + ": " + why); };
  if (text.empty()) fail("expected a safetensors file, got an empty file; incomplete download?");
  if (const std::string kind = other_kind(text); !kind.empty()) fail(kind);
  if (text.size() < kLengthBytes) {
    fail("safetensors header: expected at least 8 bytes, got " + std::to_string(text.size()) +
         "; incomplete download?");
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[i]);
  if (length > kMaxHeaderBytes) {
    fail("safetensors header: expected at most " + std::to_string(kMaxHeaderBytes) + " bytes, got a length of " +
         std::to_string(length) + "; not a safetensors file?");
  }
  if (length > text.size() - kLengthBytes) {
    fail("safetensors header: expected " + std::to_string(length) + " bytes, the file has " +
         std::to_string(text.size() - kLengthBytes) + " after the length; incomplete download?");
  }
  const std::string_view header = text.substr(kLengthBytes, length);
  if (header.empty() || header.front() != '{') fail("safetensors header: expected a JSON object that starts with '{'");
  // The JSON library reads a NUL byte as the end of the text.
  if (const std::size_t nul = header.find('\0'); nul != std::string_view::npos) {
    fail("safetensors header: a NUL byte at byte " + std::to_string(kLengthBytes + nul) +
         " of the file; only white space may stand there");
  }
  if (header[header.find_last_not_of(" \t\r\n")] != '}') {
    fail("safetensors header: expected it to end with '}' and nothing but white space as padding");
  }
  return header;
}

// Checks shape × element of one entry against its span; returns the view without data.
TensorView check_entry(const HeaderEntry& entry, const std::string& file) {
  const auto fail = [&](const std::string& why) {
    throw_model(file + ": tensor " + utf8::quoted(entry.name) + ": " + why);
  };
  TensorView view;
  view.dtype = *entry.dtype;
  view.shape = *entry.shape;
  if (entry.offsets->size() != 2) {
    fail("data_offsets: expected 2 numbers, got " + std::to_string(entry.offsets->size()));
  }
  const std::size_t begin = (*entry.offsets)[0];
  const std::size_t end = (*entry.offsets)[1];
  const std::string span = "[" + std::to_string(begin) + "," + std::to_string(end) + "]";
  if (begin > end) fail("data_offsets: expected begin <= end, got " + span);
  std::size_t bits = 1;
  bool fits = true;
  for (const std::size_t extent : view.shape) fits = fits && multiply(bits, extent);
  fits = fits && multiply(bits, bits_of(view.dtype));
  if (!fits) fail("shape " + shape_text(view.shape) + " is larger than any file");
  if (bits % 8 != 0 || bits / 8 != end - begin) {
    fail("shape " + shape_text(view.shape) + " of " + std::string(name_of(view.dtype)) + ": expected " +
         std::to_string((bits + 7) / 8) + " bytes, data_offsets " + span + " hold " + std::to_string(end - begin));
  }
  return view;
}

// Tensors must cover the data exactly: each byte belongs to one tensor.
void check_layout(const std::vector<HeaderEntry>& entries, std::size_t header_bytes, std::size_t file_bytes,
                  const std::string& file) {
  std::vector<const HeaderEntry*> order;
  order.reserve(entries.size());
  for (const HeaderEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const HeaderEntry* a, const HeaderEntry* b) { return *a->offsets < *b->offsets; });
  std::size_t covered = 0;
  const HeaderEntry* last = nullptr;
  for (const HeaderEntry* entry : order) {
    const std::size_t begin = (*entry->offsets)[0];
    if (begin < covered) {
      throw_model(file + ": tensor " + utf8::quoted(entry->name) + ": data_offsets overlap with tensor " +
                  utf8::quoted(last->name) + ": expected begin " + std::to_string(covered) + ", got " +
                  std::to_string(begin));
    }
    if (begin > covered) {
      throw_model(file + ": tensor " + utf8::quoted(entry->name) + ": a hole before its data_offsets: expected begin " +
                  std::to_string(covered) + ", got " + std::to_string(begin));
    }
    covered = (*entry->offsets)[1];
    last = entry;
  }
  const std::size_t data_bytes = file_bytes - kLengthBytes - header_bytes;
  if (covered > data_bytes) {
    std::size_t expected = kLengthBytes + header_bytes;
    const bool representable = !__builtin_add_overflow(expected, covered, &expected);
    throw_model(file + ": truncated: expected " + (representable ? std::to_string(expected) : "more than 2^64") +
                " bytes (tensor " + utf8::quoted(last->name) + " ends there), the file has " +
                std::to_string(file_bytes) + "; incomplete download?");
  }
  if (covered < data_bytes) {
    throw_model(file + ": trailing bytes: expected " + std::to_string(file_bytes - (data_bytes - covered)) +
                " bytes, the file has " + std::to_string(file_bytes) + "; " + std::to_string(data_bytes - covered) +
                " bytes belong to no tensor");
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : SafetensorsFile(map_file(path)) {}

SafetensorsFile::SafetensorsFile(FileBytes file) : file_(std::move(file)), path_(file_.path) {
  const std::string& name = file_.origin;
  const std::string_view header = header_of(file_, name);
  HeaderReader reader(name);
  json::sax_parse(header.begin(), header.end(), &reader);
  entries_.reserve(reader.entries.size());
  for (const HeaderEntry& entry : reader.entries) entries_.push_back({entry.name, check_entry(entry, name)});
  check_layout(reader.entries, header.size(), file_.bytes.size(), name);
  const std::byte* data = file_.bytes.data() + kLengthBytes + header.size();
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].view.data = data + (*reader.entries[i].offsets)[0];
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  metadata_ = std::move(reader.metadata);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), name,
                                      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return place != entries_.end() && place->name == name ? &place->view : nullptr;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

}  // namespace mha
