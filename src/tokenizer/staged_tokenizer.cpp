#include "tokenizer/staged_tokenizer.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "tokenizer/normalizer/lowercase.hpp"

namespace mha {

TokenizerScratch::TokenizerScratch() : impl(std::make_unique<Impl>()) {}
TokenizerScratch::~TokenizerScratch() = default;
TokenizerScratch::TokenizerScratch(TokenizerScratch&&) noexcept = default;
TokenizerScratch& TokenizerScratch::operator=(TokenizerScratch&&) noexcept = default;

namespace tokenizer {
namespace {

class LowercaseFirst final : public Normalizer {
 public:
  explicit LowercaseFirst(std::shared_ptr<const Normalizer> then) : then_(std::move(then)) {}
  void normalize(NormalizedText& text) const override {
    to_lowercase(text);
    if (then_) then_->normalize(text);
  }
  std::string_view type() const override { return then_ ? then_->type() : "Lowercase"; }

 private:
  std::shared_ptr<const Normalizer> then_;
};

}  // namespace

StagedTokenizer::StagedTokenizer(Stages stages)
    : stages_(std::move(stages)), added_(stages_.added_tokens, stages_.model->vocab(), stages_.normalizer.get()) {
  if (!stages_.post_processor.trims().empty()) trimmer_ = OffsetTrimmer(stages_.model->vocab());
}

std::string StagedTokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) {
    if (!has_token(id)) {
      throw_input("tokenizer: id: expected one of the vocabulary (0 to " + std::to_string(vocab_limit() - 1) +
                  "), got " + std::to_string(id));
    }
    const std::string_view content = token(id);
    if (skip_special_tokens && added_.is_special(content)) continue;
    tokens.emplace_back(content);
  }
  return join(std::move(tokens));
}

std::string StagedTokenizer::join(std::vector<std::string> tokens) const {
  std::string text;
  if (stages_.decoder) {
    stages_.decoder->decode(tokens);
    for (const std::string& token : tokens) text += token;
    return text;
  }
  for (const std::string& token : tokens) {
    if (&token != tokens.data()) text += ' ';
    text += token;
  }
  return text;
}

std::size_t StagedTokenizer::vocab_size() const { return stages_.model->vocab().size() + added_.beyond_vocab(); }

std::string_view StagedTokenizer::token(std::int32_t id) const {
  if (const AddedToken* added = added_.token(id)) return added->content;
  return stages_.model->vocab().token(id);
}

std::optional<std::int32_t> StagedTokenizer::id_of(std::string_view token) const {
  if (const auto id = added_.id_of(token)) return id;
  return stages_.model->vocab().id_of(token);
}

bool StagedTokenizer::is_special(std::int32_t id) const {
  const AddedToken* added = added_.token(id);
  return added != nullptr && added_.is_special(added->content);
}

std::optional<std::int32_t> StagedTokenizer::role_id(std::string_view role) const {
  const auto found = stages_.roles.find(std::string(role));
  return found == stages_.roles.end() ? std::nullopt : id_of(found->second);
}

std::vector<std::pair<std::string, std::string>> StagedTokenizer::summary() const {
  std::vector<std::pair<std::string, std::string>> facts{{"type", std::string(stages_.model->type())}};
  if (stages_.normalizer) facts.emplace_back("normalizer", stages_.normalizer->type());
  if (stages_.pre_tokenizer) facts.emplace_back("pre_tokenizer", stages_.pre_tokenizer->type());
  if (!stages_.post_processor.type().empty()) facts.emplace_back("post_processor", stages_.post_processor.type());
  if (stages_.decoder) facts.emplace_back("decoder", stages_.decoder->type());
  facts.emplace_back("vocab_size", std::to_string(vocab_size()));
  return facts;
}

std::shared_ptr<const Tokenizer> StagedTokenizer::with_lowercase() const {
  Stages stages = stages_;
  stages.normalizer = std::make_shared<LowercaseFirst>(stages_.normalizer);
  return std::make_shared<StagedTokenizer>(std::move(stages));
}

std::size_t StagedTokenizer::vocab_limit() const {
  return std::max(stages_.model->vocab().id_limit(), added_.id_limit());
}

bool StagedTokenizer::has_token(std::int32_t id) const {
  return added_.token(id) != nullptr || stages_.model->vocab().has(id);
}

std::shared_ptr<const Tokenizer> make_tokenizer(Stages stages) {
  if (stages.pre_tokenizer && stages.model->can_read_bytes() && stages.pre_tokenizer->leave_bytes()) {
    stages.model->read_bytes();
  }
  return std::make_shared<StagedTokenizer>(std::move(stages));
}

}  // namespace tokenizer
}  // namespace mha
