#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

class JsonValue;

/// Last stage: where the special tokens go, which type ids the parts get, and whether offsets leave out the spaces that
/// byte-level tokens carry. Independent of the text, so it is worked out once, while loading. Immutable.
class PostProcessor {
 public:
  /// One step of the result, in order: a special token, or a whole sequence.
  struct Slot {
    std::int8_t sequence = -1;  ///< 0 text, 1 pair, −1 a special token
    std::int32_t id = -1;       ///< of the special token
    std::int32_t type_id = 0;
    std::int32_t overflow_type_id = 0;  ///< of a sequence's windows behind the first: the reference leaves theirs alone
  };
  using Layout = std::vector<Slot>;

  /// No post-processor: text, then pair.
  PostProcessor();
  /// `tokenizer.json: post_processor`. `has_token` tells which ids exist. Throws Error{model} that names an unknown
  /// type.
  PostProcessor(const JsonValue& value, const std::function<bool(std::int32_t)>& has_token);

  const Layout& layout(bool pair, bool specials) const { return layouts_[pair ? 1 : 0][specials ? 1 : 0]; }
  std::size_t special_count(bool pair) const;

  /// One for each time that offsets are trimmed: its add_prefix_space. Source: tokenizers 0.22.2,
  /// pre_tokenizers/byte_level.rs, process_offsets.
  const std::vector<bool>& trims() const { return trims_; }

  std::string_view type() const { return type_; }
  /// `cls_token`, `sep_token` where the processor names them.
  const std::map<std::string, std::string>& roles() const { return roles_; }

 private:
  using Encodings = std::vector<Layout>;
  void apply(const JsonValue& value, bool specials, Encodings& encodings) const;
  void note(const JsonValue& value);

  Layout layouts_[2][2];
  std::vector<bool> trims_;
  std::string type_;
  std::map<std::string, std::string> roles_;
};

}  // namespace mha::tokenizer
