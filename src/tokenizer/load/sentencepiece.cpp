// What transformers makes of a SentencePiece model: the vocabulary of each tokenizer class, its normalizer, special
// tokens and template. Source: transformers 4.57.1, convert_slow_tokenizer.py (SpmConverter and its heirs);
// pre-tokenizers as in the tokenizer.json files that were published with the models and in transformers 5.24.0
// (WhitespaceSplit before Metaspace), which give the same ids. A model of no known class is encoded as SentencePiece
// itself does (transformers 5.24.0, build_tokenizer_from_spm_proto).
#include <algorithm>

#include "tokenizer/decoder/decoders.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/sentencepiece_stages.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

using Type = SentencePieceModel::Type;

std::shared_ptr<const Normalizer> normalizer_of(const SentencePieceModel& file, const SentencePieceClass& c,
                                                const TokenizerSettings& settings, const std::string& origin) {
  std::vector<NormalizerPtr> steps;
  if (c.text == TextRules::albert) {
    steps.push_back(make_replace({make_literal_pattern("``"), "\""}));
    steps.push_back(make_replace({make_literal_pattern("''"), "\""}));
    if (!settings.keep_accents.value_or(c.keep_accents)) {
      steps.push_back(make_nfkd());
      steps.push_back(make_strip_accents());
    }
  }
  if (settings.do_lower_case.value_or(c.lower_case) && c.text != TextRules::words) steps.push_back(make_lowercase());
  if (c.text == TextRules::deberta) steps.push_back(make_strip({true, true}));
  if (!file.charsmap.empty()) steps.push_back(make_precompiled(Charsmap(file.charsmap, origin)));
  if (c.text != TextRules::words) steps.push_back(make_replace({make_regex_pattern(" {2,}", origin), " "}));
  return steps.empty() ? nullptr : make_normalizer_sequence(std::move(steps));
}

void add_pre_tokenizer(const SentencePieceClass& c, const TokenizerSettings& settings, Stages& stages) {
  MetaspaceOptions metaspace;
  using Prepend = MetaspaceOptions::Prepend;
  metaspace.prepend = settings.add_prefix_space.value_or(true) ? Prepend::always : Prepend::never;
  std::vector<PreTokenizerPtr> steps;
  if (c.text != TextRules::deberta) {
    steps.push_back(make_whitespace_split());
  } else if (settings.split_by_punct.value_or(false)) {
    steps.push_back(make_punctuation(SplitBehavior::isolated));
  }
  steps.push_back(make_metaspace(metaspace));
  stages.pre_tokenizer = make_pre_tokenizer_sequence(std::move(steps));
  stages.decoder = make_metaspace_decoder(metaspace);
}

/// Control pieces are special tokens. User-defined ones have the best score, so a Unigram model finds them by itself
/// (in the tokenizer.json files that were published, too, they are no added tokens); in a BPE model no merge leads to
/// them.
void add_pieces(const SentencePieceModel& model, std::vector<AddedToken>& added) {
  const bool user_defined = model.kind == SentencePieceModel::Kind::bpe;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (!(user_defined && piece.type == Type::user_defined) && piece.type != Type::control) continue;
    const auto same = [&](const AddedToken& token) { return token.content == piece.text; };
    if (std::any_of(added.begin(), added.end(), same)) continue;
    AddedToken token = special_token(piece.text);
    token.special = piece.type == Type::control;
    added.push_back(std::move(token));
  }
}

/// The settings with the special tokens that the class has by default.
TokenizerSettings with_class_specials(const TokenizerSettings& settings, const SentencePieceClass& c) {
  TokenizerSettings all = settings;
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (*c.roles[i] != '\0') all.assume(kRoles[i], c.roles[i]);
  }
  if (c.mask_takes_space) all.roles.at("mask_token").lstrip = true;
  if (c.text == TextRules::deberta) all.roles.at("unk_token").normalized = true;
  const auto also = [&](const std::string& content) {
    if (settings.additional_specials.empty()) all.additional_specials.push_back(special_token(content));
  };
  if (c.order == PieceOrder::extra_ids) {
    for (std::size_t i = 0; i < settings.extra_ids.value_or(100); ++i) also("<extra_id_" + std::to_string(i) + ">");
  }
  if (c.order == PieceOrder::camembert) {
    for (const char* token : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) also(token);
  }
  if (c.name == "XLNetTokenizer") {
    for (const char* token : {"<eop>", "<eod>"}) also(token);
  }
  return all;
}

}  // namespace

Stages stages_from_sentencepiece(const FileSet& files, const std::string& name, const TokenizerSettings& settings) {
  const FileBytes bytes = files.open(name);
  const SentencePieceModel file = read_sentencepiece(bytes.text(), bytes.origin);
  const SentencePieceClass* c = sentencepiece_class_of(settings);
  Stages stages;
  stages.model = sentencepiece_model(file, c, settings, bytes.origin);
  if (c == nullptr) {
    add_sentencepiece_text_stages(file, file.byte_fallback, bytes.origin, stages);
    stages.added_tokens = settings.all_added();
    return stages;
  }
  const TokenizerSettings all = with_class_specials(settings, *c);
  stages.normalizer = normalizer_of(file, *c, settings, bytes.origin);
  add_pre_tokenizer(*c, settings, stages);
  stages.added_tokens = all.all_added();
  add_pieces(file, stages.added_tokens);
  add_roles(c->specials, all, bytes.origin, stages);
  return stages;
}

}  // namespace mha::tokenizer
