#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/large_allocator.hpp"
#include "mha/tokenizer/encoding.hpp"

namespace mha::tokenizer {

class JsonValue;

/// A JSON text as a flat tape of nodes. Tokenizer files hold one array or object of up to a quarter of a million small
/// members; a tree of allocated nodes takes longer to build than everything else that loading does.
///
/// Strict (RFC 8259, valid UTF-8, no lone surrogates, nothing behind the value, at most kMaxDepth levels). The text
/// must outlive the document. Immutable after `parse`.
class JsonDocument {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  /// Throws Error{model} with `origin`, line and what was expected.
  static JsonDocument parse(std::string_view text, std::string origin);

  JsonValue root() const;
  const std::string& origin() const { return origin_; }

 private:
  friend class JsonValue;
  friend class JsonParser;

  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  /// Children of a container follow it in the tape, of an object as key, value, key, value…
  struct Node {
    std::uint32_t begin = 0;  ///< first byte of the token in the text; of a string, behind its quote
    std::uint32_t end = 0;    ///< behind its last byte; of a container, number of elements or members
    std::uint32_t next = 0;   ///< index of the node behind this one and all it holds
    Kind kind = Kind::null;
    bool flag = false;  ///< boolean: its value; string: it has escapes; number: it is an integer
  };

  std::string_view text_;
  std::string origin_;
  LargeVector<Node> nodes_;
};

/// A node of a JsonDocument, which must outlive it. All readers throw Error{model} that names file, JSON path, expected
/// and found when the value is of another kind.
class JsonValue {
 public:
  bool is_null() const { return kind() == JsonDocument::Kind::null; }
  bool is_bool() const { return kind() == JsonDocument::Kind::boolean; }
  bool is_number() const { return kind() == JsonDocument::Kind::number; }
  bool is_string() const { return kind() == JsonDocument::Kind::string; }
  bool is_array() const { return kind() == JsonDocument::Kind::array; }
  bool is_object() const { return kind() == JsonDocument::Kind::object; }

  bool as_bool() const;
  double as_double() const;
  /// An integer within [low, high].
  std::int64_t as_integer(std::int64_t low, std::int64_t high) const;
  std::string as_string() const;
  /// The same without a copy where the text has no escapes; else unescaped into `buffer`, which must live as long.
  std::string_view as_view(std::string& buffer) const;

  /// Elements of an array or members of an object.
  std::size_t size() const;
  void expect_array() const;
  void expect_object() const;

  /// The last member of that name; empty when there is none or it is null ("absent" and null mean the same in
  /// tokenizer files).
  std::optional<JsonValue> find(std::string_view key) const;
  /// The member; Error{model} when it is absent or null.
  JsonValue at(std::string_view key) const;

  /// Optional members with a default.
  bool bool_or(std::string_view key, bool fallback) const;
  std::string string_or(std::string_view key, std::string_view fallback) const;

  /// `for (JsonValue element : value.elements())`, an array; throws for other kinds.
  class Iterator {
   public:
    Iterator(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}
    JsonValue operator*() const { return {document_, index_}; }
    Iterator& operator++() {
      index_ = document_->nodes_[index_].next;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const JsonDocument* document_;
    std::uint32_t index_;
  };
  struct Elements {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
  };
  Elements elements() const;

  /// `for (auto [key, value] : value.members())`, an object; throws for other kinds. Keys are string values.
  struct Member;
  class MemberIterator {
   public:
    MemberIterator(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}
    Member operator*() const;
    MemberIterator& operator++() {
      index_ = document_->nodes_[index_ + 1].next;
      return *this;
    }
    bool operator!=(const MemberIterator& other) const { return index_ != other.index_; }

   private:
    const JsonDocument* document_;
    std::uint32_t index_;
  };
  struct Members {
    MemberIterator first, last;
    MemberIterator begin() const { return first; }
    MemberIterator end() const { return last; }
  };
  Members members() const;

  /// The file alone, for messages.
  const std::string& document_origin() const { return document_->origin(); }
  /// `tokenizer.json: model.vocab[17]`: file and path, for messages.
  std::string where() const;
  /// Throws Error{model}: `tokenizer: <where>: expected <expected>, got <what it is>`.
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws Error{model}: `tokenizer: <where>: <message>`.
  [[noreturn]] void error(const std::string& message) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index) : document_(document), index_(index) {}
  const JsonDocument::Node& node() const { return document_->nodes_[index_]; }
  JsonDocument::Kind kind() const { return node().kind; }
  std::string_view token() const;

  const JsonDocument* document_;
  std::uint32_t index_;
};

struct JsonValue::Member {
  JsonValue key;
  JsonValue value;
};

inline JsonValue::Member JsonValue::MemberIterator::operator*() const {
  return {JsonValue(document_, index_), JsonValue(document_, index_ + 1)};
}

}  // namespace mha::tokenizer
