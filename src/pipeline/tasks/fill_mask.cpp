#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/scores.hpp"
#include "pipeline/tasks.hpp"

namespace mha {
namespace {

constexpr std::size_t kMostLogits = std::size_t{1} << 26U;  // floats held for one input

class FillMask : public TaskReader {
 public:
  FillMask(const ModelWork& work, const FillMaskSettings& settings) : work_(work), settings_(settings) {
    const auto mask = work.tokenizer->role_id("mask_token");
    if (!mask) throw_model("fill-mask: tokenizer: expected a mask token, got none");
    mask_ = *mask;
    pad_ = work.tokenizer->role_id("pad_token");
  }

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    const auto pair = record.input.text_pair ? std::optional<std::string_view>(*record.input.text_pair) : std::nullopt;
    work_.tokenizer->encode(text, pair, work_.encode, scratch, record.encoding);
    const auto& ids = record.encoding.input_ids;
    const auto masks = static_cast<std::size_t>(std::count(ids.begin(), ids.end(), mask_));
    if (masks == 0) {
      throw_input("no mask: expected " + std::string(work_.tokenizer->token(mask_)) + " in the text");
    }
    const std::size_t most = std::max<std::size_t>(kMostLogits / settings_.outputs, 1);
    if (masks > most) {
      throw_input("masks: expected at most " + std::to_string(most) + " in a text, got " + std::to_string(masks));
    }
  }

  void choose_tokens(const Encoding& encoding, std::vector<std::size_t>& tokens) const override {
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.input_ids[i] == mask_) tokens.push_back(i);
    }
  }

  void read(const Encoding& encoding, std::size_t, ConstMatrix logits, Record& record) const override {
    std::vector<std::size_t> masks;
    choose_tokens(encoding, masks);
    Fills result;
    for (std::size_t m = 0; m < masks.size(); ++m) {
      std::vector<Fill>& fills = result.masks.emplace_back();
      const std::vector<float> scores = softmax_of({logits.row(m), logits.cols});
      for (const std::int32_t id : best(scores)) {
        std::vector<std::int32_t> filled = encoding.input_ids;
        filled[masks[m]] = id;
        if (pad_) std::erase(filled, *pad_);
        fills.push_back({double{scores[static_cast<std::size_t>(id)]}, id, text_of({id}, false),
                         text_of(std::move(filled), masks.size() == 1)});
      }
    }
    record.result = std::move(result);
  }

  ResultLayout layout() const override {
    return {ResultLayout::Shape::lists, "fills", "mask", {"score", "token", "token_str", "sequence"}};
  }

 private:
  std::vector<std::int32_t> best(const std::vector<float>& scores) const {
    std::vector<std::int32_t> ids;
    if (settings_.targets.empty()) {
      for (const std::size_t i : largest(scores, settings_.top_k)) ids.push_back(static_cast<std::int32_t>(i));
      return ids;
    }
    std::vector<float> of_targets;
    for (const std::int32_t id : settings_.targets) of_targets.push_back(scores[static_cast<std::size_t>(id)]);
    for (const std::size_t i : largest(of_targets, settings_.top_k)) ids.push_back(settings_.targets[i]);
    return ids;
  }

  // Heads may score more entries than the tokenizer has (rows that pad the table): those have no text.
  std::string text_of(std::vector<std::int32_t> ids, bool skip_specials) const {
    std::erase_if(ids, [&](std::int32_t id) { return work_.tokenizer->token(id).empty(); });
    return work_.tokenizer->decode(ids, skip_specials);
  }

  const ModelWork& work_;
  FillMaskSettings settings_;
  std::int32_t mask_ = 0;
  std::optional<std::int32_t> pad_;
};

}  // namespace

std::unique_ptr<TaskReader> fill_mask_reader(const ModelWork& work, const FillMaskSettings& settings) {
  return std::make_unique<FillMask>(work, settings);
}

}  // namespace mha
