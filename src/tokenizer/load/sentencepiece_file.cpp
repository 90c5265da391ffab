#include "tokenizer/load/sentencepiece_file.hpp"

#include <bit>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// The fields of one protocol buffer message, in the order they stand.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& origin) : rest_(bytes), origin_(origin) {}

  /// Moves to the next field; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number_ = tag >> 3;
    if (number_ == 0 || number_ > 536'870'911) fail("a field numbered " + std::to_string(number_));
    wire_ = static_cast<Wire>(tag & 7);
    switch (wire_) {
      case Wire::varint:
        value_ = varint();
        break;
      case Wire::fixed64:
        bytes_ = take(8);
        break;
      case Wire::bytes:
        bytes_ = take(varint());
        break;
      case Wire::fixed32:
        bytes_ = take(4);
        break;
      default:
        fail("a field of wire type " + std::to_string(tag & 7));
    }
    return true;
  }

  std::uint64_t number() const { return number_; }
  std::string_view bytes() const { return expect(Wire::bytes), bytes_; }
  std::uint64_t integer() const { return expect(Wire::varint), value_; }
  std::int32_t int32() const { return static_cast<std::int32_t>(static_cast<std::uint32_t>(integer())); }
  bool boolean() const { return integer() != 0; }
  float number32() const {
    expect(Wire::fixed32);
    std::uint32_t bits = 0;
    for (std::size_t i = 4; i-- > 0;) bits = bits << 8 | static_cast<unsigned char>(bytes_[i]);
    return std::bit_cast<float>(bits);
  }
  std::string text() const {
    const std::string_view value = bytes();
    if (utf8::first_invalid(value) != utf8::kValid) fail("text that is not valid UTF-8");
    return std::string(value);
  }

  [[noreturn]] void fail(const std::string& found) const {
    throw_model("tokenizer: " + origin_ + ": expected a SentencePiece model, got " + found);
  }

 private:
  void expect(Wire wire) const {
    if (wire_ != wire)
      fail("field " + std::to_string(number_) + " of wire type " + std::to_string(static_cast<unsigned>(wire_)));
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (rest_.empty()) fail("a number that the end of the message cuts");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than ten bytes");
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      fail("a field of " + std::to_string(size) + " bytes where " + std::to_string(rest_.size()) + " are left");
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  const std::string& origin_;
  std::uint64_t number_ = 0;
  Wire wire_ = Wire::varint;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
};

SentencePieceModel::Piece read_piece(std::string_view bytes, const std::string& origin) {
  SentencePieceModel::Piece piece;
  std::optional<float> score;
  Fields fields(bytes, origin);
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        piece.text = fields.text();
        break;
      case 2:
        score = fields.number32();
        break;
      case 3: {
        const std::uint64_t type = fields.integer();
        if (type < 1 || type > 6) fields.fail("a piece of type " + std::to_string(type));
        piece.type = static_cast<SentencePieceModel::Type>(type);
        break;
      }
      default:
        break;
    }
  }
  if (piece.text.empty()) fields.fail("an empty piece");
  if (!score && piece.type == SentencePieceModel::Type::normal)
    fields.fail("the piece \"" + piece.text + "\" without a score");
  piece.score = score.value_or(0);
  if (!std::isfinite(piece.score)) fields.fail("the piece \"" + piece.text + "\" with a score that is not finite");
  return piece;
}

void read_trainer(std::string_view bytes, const std::string& origin, SentencePieceModel& model) {
  Fields fields(bytes, origin);
  while (fields.next()) {
    switch (fields.number()) {
      case 3: {
        const std::uint64_t kind = fields.integer();
        if (kind < 1 || kind > 4) fields.fail("a model of type " + std::to_string(kind));
        model.kind = static_cast<SentencePieceModel::Kind>(kind);
        break;
      }
      case 35:
        model.byte_fallback = fields.boolean();
        break;
      case 40:
        model.unk_id = fields.int32();
        break;
      case 45:
        model.unk_piece = fields.text();
        break;
      default:
        break;
    }
  }
}

void read_normalizer(std::string_view bytes, const std::string& origin, SentencePieceModel& model) {
  Fields fields(bytes, origin);
  while (fields.next()) {
    switch (fields.number()) {
      case 2:
        model.charsmap = fields.bytes();
        break;
      case 3:
        model.add_dummy_prefix = fields.boolean();
        break;
      case 4:
        model.remove_extra_whitespaces = fields.boolean();
        break;
      case 5:
        model.escape_whitespaces = fields.boolean();
        break;
      default:
        break;
    }
  }
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& origin) {
  SentencePieceModel model;
  Fields fields(bytes, origin);
  while (fields.next()) {
    switch (fields.number()) {
      case 1:
        model.pieces.push_back(read_piece(fields.bytes(), origin));
        break;
      case 2:
        read_trainer(fields.bytes(), origin, model);
        break;
      case 3:
        read_normalizer(fields.bytes(), origin, model);
        break;
      default:
        break;
    }
  }
  if (model.pieces.empty()) fields.fail("no pieces");
  std::unordered_set<std::string_view> seen;
  seen.reserve(model.pieces.size());
  for (const auto& piece : model.pieces) {
    if (!seen.insert(piece.text).second) fields.fail("the piece \"" + piece.text + "\" twice");
  }
  if (model.unk_id < 0 || static_cast<std::size_t>(model.unk_id) >= model.pieces.size()) {
    fields.fail("unknown piece number " + std::to_string(model.unk_id) + " of " + std::to_string(model.pieces.size()));
  }
  const auto& unknown = model.pieces[static_cast<std::size_t>(model.unk_id)];
  if (unknown.type != SentencePieceModel::Type::unknown) {
    fields.fail("\"" + unknown.text + "\", which is none, as the unknown piece");
  }
  return model;
}

}  // namespace mha::tokenizer
