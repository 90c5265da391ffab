#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha::serve {

/// Deepest nesting of a body. No route reads more than five levels.
constexpr std::size_t kBodyDepth = 16;
/// Bytes of memory that parsing takes for one byte of body, at most: an empty array of two bytes and a comma.
constexpr std::size_t kParsedBytesPerByte = 16;

/// Parses a body: one JSON value, valid UTF-8, no key twice in an object, nesting at most `kBodyDepth`, finite numbers.
/// Throws ApiError 400.
nlohmann::json parse_body(std::string_view text);

/// "a string", "an array", …
std::string kind_of(const nlohmann::json& value);

/// The members of an object of a body, each read once. Throws ApiError 422 that names the place. Keys that no route
/// reads are counted, so that the answer can name them.
class Fields {
 public:
  /// `value` must outlive this. `place` stands before keys in messages: `parameters.`.
  explicit Fields(const nlohmann::json& value, std::string place = {});

  /// The member, or nullptr if it is absent or null.
  const nlohmann::json* find(const char* key);
  const nlohmann::json& require(const char* key, const char* expected);

  std::optional<std::string> text(const char* key);
  std::optional<bool> flag(const char* key);
  /// A whole number from `least` to `most`.
  std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most);
  std::optional<double> number(const char* key);
  /// The index of the word among `choices`.
  std::optional<std::size_t> choice(const char* key, std::initializer_list<const char*> choices);
  std::vector<std::string> texts(const char* key);

  std::string place_of(const char* key) const { return place_ + key; }
  /// Keys that were not read.
  std::vector<std::string> unread() const;
  /// Throws ApiError 422 that names the first of them.
  void require_all_read() const;

 private:
  const nlohmann::json& value_;
  std::string place_;
  std::vector<std::string> read_;
};

/// One input of a request: a text, or token ids.
struct Input {
  std::string text;
  std::vector<std::int32_t> ids;
  bool is_ids = false;
  std::string place;  ///< `inputs[3]`
};
struct Inputs {
  std::vector<Input> list;
  bool single = false;  ///< a text or a list of ids, not a list of such
};

/// A text, a list of ids, or a list of these. Throws ApiError: 400 for an empty list or text, 422 for another shape and
/// for more than `most` inputs.
Inputs read_inputs(nlohmann::json& value, const std::string& place, std::size_t most);

/// Throws ApiError 422, in the words of text-embeddings-inference.
void check_batch_size(std::size_t size, std::size_t most);

}  // namespace mha::serve
