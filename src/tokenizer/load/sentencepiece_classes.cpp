#include "tokenizer/load/sentencepiece_classes.hpp"

// Source: transformers 4.57.1, convert_slow_tokenizer.py (SpmConverter and its heirs) and the classes' own defaults.
namespace mha::tokenizer {
namespace {

constexpr std::array<const char*, kRoles.size()> kFairseqRoles = {"<s>",   "</s>", "<unk>", "</s>",
                                                                  "<pad>", "<s>",  "<mask>"};
constexpr std::array<const char*, kRoles.size()> kAlbertRoles = {"[CLS]", "[SEP]", "<unk>", "[SEP]",
                                                                 "<pad>", "[CLS]", "[MASK]"};
constexpr std::array<const char*, kRoles.size()> kBigBirdRoles = {"<s>",   "</s>",  "<unk>", "[SEP]",
                                                                  "<pad>", "[CLS]", "[MASK]"};
constexpr std::array<const char*, kRoles.size()> kDebertaRoles = {"[CLS]", "[SEP]", "[UNK]", "[SEP]",
                                                                  "[PAD]", "[CLS]", "[MASK]"};
constexpr std::array<const char*, kRoles.size()> kXlnetRoles = {"<s>",   "</s>",  "<unk>", "<sep>",
                                                                "<pad>", "<cls>", "<mask>"};
constexpr std::array<const char*, kRoles.size()> kT5Roles = {"", "</s>", "<unk>", "", "<pad>", "", ""};

constexpr RolePiece kSquareSingle[] = {{"cls_token"}, {kText}, {"sep_token"}};
constexpr RolePiece kSquarePair[] = {{"cls_token"}, {kText}, {"sep_token"}, {kPair, 1}, {"sep_token", 1}};
constexpr RoleTemplate kSquare = {kSquareSingle, kSquarePair};
constexpr RolePiece kAngleSingle[] = {{"bos_token"}, {kText}, {"eos_token"}};
constexpr RolePiece kAnglePair[] = {{"bos_token"}, {kText}, {"eos_token"}, {"eos_token"}, {kPair}, {"eos_token"}};
constexpr RoleTemplate kAngle = {kAngleSingle, kAnglePair};
constexpr RolePiece kT5Single[] = {{kText}, {"eos_token"}};
constexpr RolePiece kT5Pair[] = {{kText}, {"eos_token"}, {kPair}, {"eos_token"}};
constexpr RoleTemplate kT5 = {kT5Single, kT5Pair};
constexpr RolePiece kXlnetSingle[] = {{kText}, {"sep_token"}, {"cls_token", 2}};
constexpr RolePiece kXlnetPair[] = {{kText}, {"sep_token"}, {kPair, 1}, {"sep_token", 1}, {"cls_token", 2}};
constexpr RoleTemplate kXlnet = {kXlnetSingle, kXlnetPair};

constexpr SentencePieceClass kClasses[] = {
    {"AlbertTokenizer", "albert", PieceOrder::penalised_commas, TextRules::albert, true, false, kAlbertRoles, true,
     kSquare},
    {"BarthezTokenizer", "barthez", PieceOrder::third_unknown, TextRules::words, false, true, kFairseqRoles, true,
     kAngle},
    {"BigBirdTokenizer", "big_bird", PieceOrder::plain, TextRules::words, false, true, kBigBirdRoles, true, kSquare},
    {"CamembertTokenizer", "camembert", PieceOrder::camembert, TextRules::words, false, true, kFairseqRoles, true,
     kAngle},
    {"DebertaV2Tokenizer", "deberta-v2", PieceOrder::plain, TextRules::deberta, false, true, kDebertaRoles, false,
     kSquare},
    {"FNetTokenizer", "fnet", PieceOrder::penalised_commas, TextRules::albert, false, true, kAlbertRoles, true,
     kSquare},
    {"LayoutXLMTokenizer", "layoutxlm", PieceOrder::fairseq, TextRules::words, false, true, kFairseqRoles, true,
     kAngle},
    {"MT5Tokenizer", "mt5", PieceOrder::extra_ids, TextRules::words, false, true, kT5Roles, false, kT5},
    {"RemBertTokenizer", "rembert", PieceOrder::plain, TextRules::albert, false, true, kAlbertRoles, true, kSquare},
    {"T5Tokenizer", "t5", PieceOrder::extra_ids, TextRules::words, false, true, kT5Roles, false, kT5},
    {"", "umt5", PieceOrder::extra_ids, TextRules::words, false, true, kT5Roles, false, kT5},
    {"XLMRobertaTokenizer", "xlm-roberta", PieceOrder::fairseq, TextRules::words, false, true, kFairseqRoles, true,
     kAngle},
    {"", "xlm-roberta-xl", PieceOrder::fairseq, TextRules::words, false, true, kFairseqRoles, true, kAngle},
    {"XLNetTokenizer", "xlnet", PieceOrder::penalised_commas, TextRules::albert, false, false, kXlnetRoles, true,
     kXlnet},
};

}  // namespace

const SentencePieceClass* sentencepiece_class_of(const TokenizerSettings& settings) {
  for (const SentencePieceClass& c : kClasses) {
    if (!c.name.empty() && c.name == settings.tokenizer_class) return &c;
  }
  for (const SentencePieceClass& c : kClasses) {
    if (c.model_type == settings.model_type) return &c;
  }
  return nullptr;
}

}  // namespace mha::tokenizer
