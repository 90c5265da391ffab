#include "tokenizer/post_processor/post_processor.hpp"

#include <algorithm>

#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

using Slot = PostProcessor::Slot;
using Layout = PostProcessor::Layout;

// Far above what any tokenizer has; a hostile file must not make each text long.
constexpr std::size_t kMaxSlots = 4096;

Slot special(std::int32_t id, std::int32_t type_id) { return {-1, id, type_id, type_id}; }

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw_model("tokenizer: " + where + ": " + message);
}

/// Adds what one step adds to the encodings: one per text, or, behind a template, one per piece.
/// Source: tokenizers 0.22.2, processors/*.rs.
class Applier {
 public:
  Applier(const std::string& where, bool specials, std::vector<Layout>& encodings)
      : where_(where), specials_(specials), encodings_(encodings) {}

  void operator()(const BertProcessingOptions& step) const { surround(step.cls.id, step.sep.id, false); }

  void operator()(const RobertaProcessingOptions& step) const {
    for (Layout& encoding : encodings_) {
      for (Slot& slot : encoding) {
        slot.type_id = 0;
        if (specials_) slot.overflow_type_id = 0;
      }
    }
    surround(step.cls.id, step.sep.id, true);
  }

  void operator()(const ByteLevelProcessingOptions&) const {}

  void operator()(const TemplateOptions& step) const {
    if (encodings_.size() > 2) fail(where_, "expected at most two sequences, got a template behind a template");
    std::vector<Layout> filled;
    for (const TemplateOptions::Piece& piece : encodings_.size() == 2 ? step.pair : step.single) {
      if (piece.kind == TemplateOptions::Piece::Kind::special) {
        if (!specials_) continue;
        filled.emplace_back();
        for (const std::int32_t id : piece.ids) filled.back().push_back(special(id, piece.type_id));
        continue;
      }
      const std::size_t index = piece.kind == TemplateOptions::Piece::Kind::text ? 0 : 1;
      if (index >= encodings_.size()) fail(where_, "expected only \"A\" in a template for one sequence, got \"B\"");
      filled.push_back(encodings_[index]);
      for (Slot& slot : filled.back()) slot.type_id = piece.type_id;
    }
    encodings_ = std::move(filled);
  }

 private:
  // The first sequence between cls and sep, each further one (after a sep of its own, for Roberta) before a sep.
  void surround(std::int32_t cls, std::int32_t sep, bool roberta) const {
    if (!specials_) return;
    for (std::size_t i = 0; i < encodings_.size(); ++i) {
      Layout& encoding = encodings_[i];
      if (i == 0) encoding.insert(encoding.begin(), special(cls, 0));
      if (i > 0 && roberta) encoding.insert(encoding.begin(), special(sep, 0));
      encoding.push_back(special(sep, i > 0 && !roberta ? 1 : 0));
    }
  }

  const std::string& where_;
  bool specials_;
  std::vector<Layout>& encodings_;
};

const char* type_of(const PostProcessor::Step& step) {
  constexpr const char* kTypes[] = {"BertProcessing", "RobertaProcessing", "ByteLevel", "TemplateProcessing"};
  return kTypes[step.index()];
}

}  // namespace

PostProcessor::PostProcessor() {
  const Slot text{0, -1, 0, 0};
  const Slot pair{1, -1, 1, 1};
  for (const int specials : {0, 1}) {
    layouts_[0][specials] = {text};
    layouts_[1][specials] = {text, pair};
  }
}

PostProcessor::PostProcessor(Step step, const std::string& where, const HasToken& has_token) : PostProcessor() {
  const std::string type = type_of(step);
  set(type, {{std::move(step), where}}, where, has_token);
}

void PostProcessor::set(std::string type, const std::vector<PlacedStep>& steps, const std::string& where,
                        const HasToken& has_token) {
  type_ = std::move(type);
  for (const PlacedStep& placed : steps) {
    if (const auto* bert = std::get_if<BertProcessingOptions>(&placed.step)) {
      roles_["cls_token"] = bert->cls.content;
      roles_["sep_token"] = bert->sep.content;
    } else if (const auto* roberta = std::get_if<RobertaProcessingOptions>(&placed.step)) {
      roles_["cls_token"] = roberta->cls.content;
      roles_["sep_token"] = roberta->sep.content;
      if (roberta->trim_offsets) trims_.push_back(roberta->add_prefix_space);
    } else if (const auto* bytes = std::get_if<ByteLevelProcessingOptions>(&placed.step)) {
      if (bytes->trim_offsets) trims_.push_back(bytes->add_prefix_space);
    }
  }
  for (const int pair : {0, 1}) {
    for (const int specials : {0, 1}) {
      std::vector<Layout> encodings;
      for (const Slot& slot : layouts_[pair][specials]) encodings.push_back({slot});
      for (const PlacedStep& placed : steps) {
        std::visit(Applier(placed.where, specials == 1, encodings), placed.step);
        std::size_t slots = 0;
        for (const Layout& encoding : encodings) slots += encoding.size();
        if (slots > kMaxSlots) {
          fail(placed.where, "expected at most " + std::to_string(kMaxSlots) + " special tokens, got more");
        }
      }
      Layout& layout = layouts_[pair][specials];
      layout.clear();
      for (const Layout& encoding : encodings) layout.insert(layout.end(), encoding.begin(), encoding.end());
      for (const Slot& slot : layout) {
        if (slot.sequence < 0 && !has_token(slot.id)) {
          fail(where, "expected ids of the vocabulary, got " + std::to_string(slot.id));
        }
      }
    }
  }
}

void PostProcessor::clear_type_ids() {
  for (auto& layouts : layouts_) {
    for (Layout& layout : layouts) {
      for (Slot& slot : layout) slot.type_id = slot.overflow_type_id = 0;
    }
  }
}

std::size_t PostProcessor::special_count(bool pair) const {
  const Layout& slots = layout(pair, true);
  return static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.sequence < 0; }));
}

}  // namespace mha::tokenizer
