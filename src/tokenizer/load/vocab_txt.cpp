// WordPiece from vocab.txt. Source: transformers 5.24.0, models/{bert,mpnet,funnel}/tokenization_*.py.
#include <algorithm>

#include "mha/core/error.hpp"
#include "tokenizer/decoder/decoders.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/reference_class.hpp"
#include "tokenizer/load/word_piece_files.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

// Lines end at \n, \r\n or \r, as Python reads text files; the last one may end with the file.
template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    use(text.substr(0, end));
    const bool both = text.substr(end, 2) == "\r\n";
    text.remove_prefix(std::min(text.size(), end + (both ? 2 : 1)));
  }
}

constexpr RolePiece kSingle[] = {{"cls_token"}, {kText}, {"sep_token"}};
constexpr RolePiece kBertPair[] = {{"cls_token"}, {kText}, {"sep_token"}, {kPair, 1}, {"sep_token", 1}};
constexpr RolePiece kMpnetPair[] = {{"cls_token"}, {kText}, {"sep_token"}, {"sep_token"}, {kPair}, {"sep_token"}};
constexpr RolePiece kFunnelSingle[] = {{"cls_token", 2}, {kText}, {"sep_token"}};
constexpr RolePiece kFunnelPair[] = {{"cls_token", 2}, {kText}, {"sep_token"}, {kPair, 1}, {"sep_token", 1}};

}  // namespace

WordPieceFiles read_word_piece_files(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes file = files.open("vocab.txt");
  WordPieceFiles read;
  read.origin = file.origin;
  std::int32_t line = 0;
  for_each_line(file.text(), [&](std::string_view token) { read.vocab.add_or_replace(token, line++); });
  const ClassKind kind = kind_of_class(reference_class(settings));
  const bool mpnet = kind == ClassKind::mpnet;
  const bool funnel = kind == ClassKind::funnel;
  TokenizerSettings& all = read.settings = settings;
  const bool angle = mpnet || funnel;
  all.assume("unk_token", funnel ? "<unk>" : "[UNK]");
  all.assume("sep_token", mpnet ? "</s>" : funnel ? "<sep>" : "[SEP]");
  all.assume("pad_token", angle ? "<pad>" : "[PAD]");
  all.assume("cls_token", mpnet ? "<s>" : funnel ? "<cls>" : "[CLS]");
  all.assume("mask_token", angle ? "<mask>" : "[MASK]");
  if (mpnet) all.roles.at("mask_token").lstrip = true;  // like a normal word, it takes the space before it

  read.normalizer.handle_chinese_chars = settings.tokenize_chinese_chars.value_or(true);
  read.normalizer.lowercase = settings.do_lower_case.value_or(true);
  read.normalizer.strip_accents = settings.strip_accents;
  read.roles = mpnet    ? RoleTemplate{kSingle, kMpnetPair}
               : funnel ? RoleTemplate{kFunnelSingle, kFunnelPair}
                        : RoleTemplate{kSingle, kBertPair};
  return read;
}

Stages stages_of(const WordPieceFiles& files) {
  Stages stages;
  WordPieceOptions options;
  options.unk_token = files.settings.role_or("unk_token", "");
  stages.model = make_word_piece(files.vocab, std::move(options));
  stages.normalizer = make_bert_normalizer(files.normalizer);
  stages.pre_tokenizer = make_bert_pre_tokenizer();
  stages.decoder = make_word_piece_decoder({});
  add_special_tokens(files.roles, files.settings, files.origin, stages);
  return stages;
}

Stages stages_from_vocab_txt(const FileSet& files, const TokenizerSettings& settings) {
  return stages_of(read_word_piece_files(files, settings));
}

}  // namespace mha::tokenizer
