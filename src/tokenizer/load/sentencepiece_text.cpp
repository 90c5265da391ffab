// How SentencePiece itself rewrites and cuts a text. Source: google/sentencepiece, src/normalizer.cc.
#include <algorithm>

#include "tokenizer/decoder/decoders.hpp"
#include "tokenizer/load/sentencepiece_stages.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {

std::string user_defined_pattern(const SentencePieceModel& model) {
  std::vector<std::string_view> texts;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type == SentencePieceModel::Type::user_defined) texts.push_back(piece.text);
  }
  std::stable_sort(texts.begin(), texts.end(), [](auto a, auto b) { return a.size() > b.size(); });
  std::string pattern;
  for (const std::string_view text : texts) {
    if (!pattern.empty()) pattern += '|';
    for (const char c : text) {
      if (std::string_view("\\^$.|?*+()[]{}-#&~/ ").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return pattern;
}

void add_sentencepiece_text_stages(const SentencePieceModel& file, bool byte_fallback, const std::string& origin,
                                   Stages& stages) {
  const auto replace_regex = [&](const char* expression, const char* content) {
    return make_replace({make_regex_pattern(expression, origin), content});
  };
  std::vector<NormalizerPtr> steps;
  if (file.remove_extra_whitespaces) {
    steps.push_back(replace_regex("\\A +| +\\z", ""));
    steps.push_back(replace_regex(" {2,}", " "));
  }
  if (file.escape_whitespaces) steps.push_back(make_replace({make_literal_pattern(" "), "▁"}));
  if (file.add_dummy_prefix) steps.push_back(replace_regex("\\A▁", "▁▁"));
  stages.normalizer = make_sentencepiece_normalizer(
      Charsmap(file.charsmap, origin), steps.empty() ? nullptr : make_normalizer_sequence(std::move(steps)));

  std::vector<PreTokenizerPtr> cuts;
  if (file.add_dummy_prefix) {
    MetaspaceOptions metaspace;
    metaspace.split = false;
    cuts.push_back(make_metaspace(metaspace));
  }
  if (const std::string pattern = user_defined_pattern(file); !pattern.empty()) {
    cuts.push_back(make_split({make_regex_pattern(pattern, origin), SplitBehavior::isolated, false}));
  }
  if (!cuts.empty()) stages.pre_tokenizer = make_pre_tokenizer_sequence(std::move(cuts));

  std::vector<DecoderPtr> decoders = {make_replace_decoder(make_literal_pattern("▁"), " ")};
  if (byte_fallback) decoders.push_back(make_byte_fallback());
  decoders.push_back(make_fuse());
  if (file.add_dummy_prefix) decoders.push_back(make_strip_decoder({" ", 1, 0}));
  stages.decoder = make_decoder_sequence(std::move(decoders));
}

}  // namespace mha::tokenizer
