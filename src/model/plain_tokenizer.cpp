#include "model/plain_tokenizer.hpp"

#include <utility>

#include "tokenizer/keep_tokens.hpp"

namespace mha {
namespace {

class PlainTokenizer final : public Tokenizer {
 public:
  PlainTokenizer(std::shared_ptr<const Tokenizer> inner, bool without_unknown)
      : inner_(std::move(inner)), without_unknown_(without_unknown) {}

  void encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options,
              TokenizerScratch& scratch, Encoding& out) const override {
    EncodeOptions plain = options;
    plain.add_special_tokens = false;
    inner_->encode(text, pair, plain, scratch, out);
    if (without_unknown_) drop_unknown(out);
  }
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override {
    return inner_->decode(ids, skip_special_tokens);
  }
  std::string join(std::vector<std::string> tokens) const override { return inner_->join(std::move(tokens)); }
  std::size_t vocab_size() const override { return inner_->vocab_size(); }
  std::string_view token(std::int32_t id) const override { return inner_->token(id); }
  std::optional<std::int32_t> id_of(std::string_view token) const override { return inner_->id_of(token); }
  bool is_special(std::int32_t id) const override { return inner_->is_special(id); }
  std::string_view continuing_prefix() const override { return inner_->continuing_prefix(); }
  std::size_t special_count(bool) const override { return 0; }
  std::optional<std::int32_t> role_id(std::string_view role) const override { return inner_->role_id(role); }
  TruncationSide kept_side() const override { return inner_->kept_side(); }
  const std::vector<std::string>& notes() const override { return inner_->notes(); }
  std::vector<std::pair<std::string, std::string>> summary() const override { return inner_->summary(); }
  std::shared_ptr<const Tokenizer> with_lowercase() const override {
    return std::make_shared<const PlainTokenizer>(inner_->with_lowercase(), without_unknown_);
  }

 private:
  void drop_unknown(Encoding& out) const {
    const auto unknown = inner_->role_id("unk_token");
    if (!unknown) return;
    keep_tokens(out, [&](std::size_t i) { return out.input_ids[i] != *unknown; });
  }

  std::shared_ptr<const Tokenizer> inner_;
  bool without_unknown_;
};

}  // namespace

std::shared_ptr<const Tokenizer> without_special_tokens(std::shared_ptr<const Tokenizer> tokenizer,
                                                        bool without_unknown) {
  return std::make_shared<const PlainTokenizer>(std::move(tokenizer), without_unknown);
}

}  // namespace mha
