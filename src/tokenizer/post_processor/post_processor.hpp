#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mha::tokenizer {

class JsonValue;

/// A special token by name and id: `["[SEP]", 102]`.
struct NamedToken {
  std::string content;
  std::int32_t id = -1;
};

/// `[CLS] A [SEP]`, and `B [SEP]` with type 1.
struct BertProcessingOptions {
  NamedToken cls;
  NamedToken sep;
};

/// `<s> A </s>`, and `</s> B </s>`; all types are 0.
struct RobertaProcessingOptions {
  NamedToken cls;
  NamedToken sep;
  bool trim_offsets = true;
  bool add_prefix_space = true;
};

/// Trims offsets, adds no token.
struct ByteLevelProcessingOptions {
  bool trim_offsets = true;
  bool add_prefix_space = true;
};

struct TemplateOptions {
  struct Piece {
    enum class Kind { text, pair, special };
    Kind kind = Kind::text;
    std::int32_t type_id = 0;
    std::vector<std::int32_t> ids = {};  ///< of a special piece
  };
  std::vector<Piece> single;  ///< for one text
  std::vector<Piece> pair;    ///< for two texts
};

/// Last stage: where the special tokens go, which type ids the texts get, and whether offsets leave out the spaces that
/// byte-level tokens carry. Independent of the text, so it is computed once, while loading. Immutable.
class PostProcessor {
 public:
  using Step =
      std::variant<BertProcessingOptions, RobertaProcessingOptions, ByteLevelProcessingOptions, TemplateOptions>;
  using HasToken = std::function<bool(std::int32_t)>;

  /// One element of the result, in order: a special token, or a whole sequence.
  struct Slot {
    std::int8_t sequence = -1;  ///< 0 text, 1 pair, −1 a special token
    std::int32_t id = -1;       ///< of the special token
    std::int32_t type_id = 0;
    std::int32_t overflow_type_id = 0;  ///< of a sequence's windows after the first: the reference keeps their type
  };
  using Layout = std::vector<Slot>;

  /// No post-processor: text, then pair.
  PostProcessor();
  /// One step. `where` is its file and JSON path, for errors; `has_token` says which ids exist.
  /// Throws Error{model} for an id that does not exist.
  PostProcessor(Step step, const std::string& where, const HasToken& has_token);

  /// `tokenizer.json: post_processor`. Throws Error{model} that names an unknown type.
  static PostProcessor from_json(const JsonValue& value, const HasToken& has_token);

  const Layout& layout(bool pair, bool specials) const { return layouts_[pair ? 1 : 0][specials ? 1 : 0]; }
  std::size_t special_count(bool pair) const;
  /// Makes all type ids 0, for a model that is not given any.
  void clear_type_ids();

  /// One entry per trimming of offsets: its add_prefix_space. Source: tokenizers 0.22.2,
  /// pre_tokenizers/byte_level.rs, process_offsets.
  const std::vector<bool>& trims() const { return trims_; }

  std::string_view type() const { return type_; }
  /// `cls_token`, `sep_token`, if the processor names them.
  const std::map<std::string, std::string>& roles() const { return roles_; }

 private:
  /// A step with its place.
  struct PlacedStep {
    Step step;
    std::string where;
  };
  static void read_steps(const JsonValue& value, std::vector<PlacedStep>& steps);
  void set(std::string type, const std::vector<PlacedStep>& steps, const std::string& where, const HasToken& has_token);

  Layout layouts_[2][2];
  std::vector<bool> trims_;
  std::string type_;
  std::map<std::string, std::string> roles_;
};

}  // namespace mha::tokenizer
