#include <algorithm>
#include <array>
#include <tuple>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/sentencepiece_file.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

// What transformers makes of a SentencePiece model: the vocabulary of each tokenizer class, its normalizer, special
// tokens and template. Source: transformers 4.57.1, convert_slow_tokenizer.py (SpmConverter and its heirs);
// pre-tokenizers as in the tokenizer.json files that were published with the models and in transformers 5.24.0
// (WhitespaceSplit before Metaspace), which give the same ids. A model of no known class is encoded as SentencePiece
// itself does (transformers 5.24.0, build_tokenizer_from_spm_proto).
namespace mha::tokenizer {
namespace {

using SpmPiece = SentencePieceModel::Piece;
using Type = SentencePieceModel::Type;

enum class Layout { plain, third_unknown, fairseq, camembert, extra_ids, penalised_commas };
enum class Text { words, albert, deberta };

struct Class {
  std::string_view name;
  std::string_view model_type;
  Layout layout;
  Text text;
  bool lower_case;                   ///< default of do_lower_case
  bool keep_accents;                 ///< default of keep_accents
  std::array<const char*, 7> roles;  ///< in the order of kRoles; empty: none
  bool mask_takes_space;             ///< the mask is a word of its own, with the space before it
  const char* single;                ///< template; roles in braces
  const char* pair;
};

constexpr std::array<const char*, 7> kRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};
constexpr std::array<const char*, 7> kFairseqRoles = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr std::array<const char*, 7> kAlbertRoles = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr std::array<const char*, 7> kBigBirdRoles = {"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr std::array<const char*, 7> kDebertaRoles = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr std::array<const char*, 7> kXlnetRoles = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"};
constexpr std::array<const char*, 7> kT5Roles = {"", "</s>", "<unk>", "", "<pad>", "", ""};

constexpr const char* kSquareSingle = "{cls}:0 $A:0 {sep}:0";
constexpr const char* kSquarePair = "{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1";
constexpr const char* kAngleSingle = "{bos}:0 $A:0 {eos}:0";
constexpr const char* kAnglePair = "{bos}:0 $A:0 {eos}:0 {eos}:0 $B:0 {eos}:0";

constexpr Class kClasses[] = {
    {"AlbertTokenizer", "albert", Layout::penalised_commas, Text::albert, true, false, kAlbertRoles, true,
     kSquareSingle, kSquarePair},
    {"BarthezTokenizer", "barthez", Layout::third_unknown, Text::words, false, true, kFairseqRoles, true, kAngleSingle,
     kAnglePair},
    {"BigBirdTokenizer", "big_bird", Layout::plain, Text::words, false, true, kBigBirdRoles, true, kSquareSingle,
     kSquarePair},
    {"CamembertTokenizer", "camembert", Layout::camembert, Text::words, false, true, kFairseqRoles, true, kAngleSingle,
     kAnglePair},
    {"DebertaV2Tokenizer", "deberta-v2", Layout::plain, Text::deberta, false, true, kDebertaRoles, false, kSquareSingle,
     kSquarePair},
    {"FNetTokenizer", "fnet", Layout::penalised_commas, Text::albert, false, true, kAlbertRoles, true, kSquareSingle,
     kSquarePair},
    {"LayoutXLMTokenizer", "layoutxlm", Layout::fairseq, Text::words, false, true, kFairseqRoles, true, kAngleSingle,
     kAnglePair},
    {"MT5Tokenizer", "mt5", Layout::extra_ids, Text::words, false, true, kT5Roles, false, "$A:0 {eos}:0",
     "$A:0 {eos}:0 $B:0 {eos}:0"},
    {"RemBertTokenizer", "rembert", Layout::plain, Text::albert, false, true, kAlbertRoles, true, kSquareSingle,
     kSquarePair},
    {"T5Tokenizer", "t5", Layout::extra_ids, Text::words, false, true, kT5Roles, false, "$A:0 {eos}:0",
     "$A:0 {eos}:0 $B:0 {eos}:0"},
    {"", "umt5", Layout::extra_ids, Text::words, false, true, kT5Roles, false, "$A:0 {eos}:0",
     "$A:0 {eos}:0 $B:0 {eos}:0"},
    {"XLMRobertaTokenizer", "xlm-roberta", Layout::fairseq, Text::words, false, true, kFairseqRoles, true, kAngleSingle,
     kAnglePair},
    {"", "xlm-roberta-xl", Layout::fairseq, Text::words, false, true, kFairseqRoles, true, kAngleSingle, kAnglePair},
    {"XLNetTokenizer", "xlnet", Layout::penalised_commas, Text::albert, false, false, kXlnetRoles, true,
     "$A:0 {sep}:0 {cls}:2", "$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2"},
};

const Class* class_of(const TokenizerSettings& settings) {
  for (const Class& c : kClasses) {
    if (!c.name.empty() && c.name == settings.tokenizer_class) return &c;
  }
  for (const Class& c : kClasses) {
    if (c.model_type == settings.model_type) return &c;
  }
  return nullptr;
}

void expect_pieces(const SentencePieceModel& model, std::size_t least, const std::string& origin) {
  if (model.pieces.size() >= least) return;
  throw_model("tokenizer: " + origin + ": expected at least " + std::to_string(least) + " pieces, got " +
              std::to_string(model.pieces.size()));
}

/// Tokens in the order of their ids, with scores, and the unknown one.
struct Vocabulary {
  std::vector<std::pair<std::string, double>> tokens;
  std::int32_t unk_id;
};

// "5," is left to "5" and ",": such pieces are hardly ever taken.
bool is_digit_comma(std::string_view piece) {
  return piece.size() >= 2 && piece.back() == ',' && piece[piece.size() - 2] >= '0' && piece[piece.size() - 2] <= '9';
}

Vocabulary vocabulary_of(const SentencePieceModel& model, Layout layout, const TokenizerSettings& settings,
                         const std::string& origin) {
  Vocabulary v{{}, model.unk_id};
  const auto append = [&](std::size_t first) {
    expect_pieces(model, first + 1, origin);
    for (std::size_t i = first; i < model.pieces.size(); ++i) {
      const SpmPiece& piece = model.pieces[i];
      const bool penalty = layout == Layout::penalised_commas && is_digit_comma(piece.text);
      v.tokens.emplace_back(piece.text, static_cast<double>(piece.score) - (penalty ? 100 : 0));
    }
  };
  switch (layout) {
    case Layout::plain:
    case Layout::penalised_commas:
      append(0);
      break;
    case Layout::third_unknown:
      append(0);
      v.unk_id = 3;
      break;
    case Layout::extra_ids:
      append(0);
      for (std::size_t i = settings.extra_ids.value_or(100); i-- > 0;) {
        v.tokens.emplace_back("<extra_id_" + std::to_string(i) + ">", 0);
      }
      break;
    case Layout::fairseq:
      for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) v.tokens.emplace_back(token, 0);
      append(3);
      v.tokens.emplace_back("<mask>", 0);
      v.unk_id = 3;
      break;
    case Layout::camembert:
      for (const char* token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) v.tokens.emplace_back(token, 0);
      v.tokens.emplace_back("<unk>NOTUSED", -100);
      append(1);
      v.tokens.emplace_back("<mask>", 0);
      v.unk_id = 3;
      break;
  }
  return v;
}

Vocab vocab_of(const std::vector<std::pair<std::string, double>>& tokens) {
  Vocab vocab;
  std::size_t bytes = 0;
  for (const auto& token : tokens) bytes += token.first.size();
  vocab.reserve(tokens.size(), bytes);
  for (std::size_t i = 0; i < tokens.size(); ++i) vocab.add_or_replace(tokens[i].first, static_cast<std::int32_t>(i));
  return vocab;
}

// SentencePiece joins any two pieces whose joint text is a piece, best score first: merges in that order, longer left
// parts first among equals. Source: convert_slow_tokenizer.py, generate_merges.
void add_merges(const SentencePieceModel& model, const std::vector<std::pair<std::string, double>>& tokens,
                const std::string& origin, BpeOptions& parts) {
  Vocab pieces;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) pieces.add(model.pieces[i].text, static_cast<std::int32_t>(i));
  struct Merge {
    double score;
    std::size_t left_length;
    std::size_t right_length;
    std::pair<std::int32_t, std::int32_t> ids;
    std::string_view left;
    std::string_view right;
  };
  std::vector<Merge> merges;
  for (const auto& [text, score] : tokens) {
    const std::size_t first = merges.size();
    const std::string_view whole = text;
    std::size_t position = 0;
    const std::size_t length = utf8::length(whole);
    for (std::size_t i = 1; i < length; ++i) {
      utf8::next(whole, position);
      const std::string_view left = whole.substr(0, position);
      const std::string_view right = whole.substr(position);
      const std::int32_t left_id = pieces.find(left);
      const std::int32_t right_id = left_id < 0 ? -1 : pieces.find(right);
      if (right_id >= 0) merges.push_back({score, i, length - i, {left_id, right_id}, left, right});
    }
    std::stable_sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
                     [](const Merge& a, const Merge& b) { return a.ids < b.ids; });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_length, a.right_length) > std::tie(b.score, b.left_length, b.right_length);
  });
  for (const Merge& merge : merges) {
    if (const std::string missing = parts.add_merge(merge.left, merge.right); !missing.empty()) {
      throw_model("tokenizer: " + origin + ": expected a piece \"" + missing + "\", got none");
    }
  }
}

// What is never merged with its neighbours, the longest first.
std::string user_defined_pattern(const SentencePieceModel& model) {
  std::vector<std::string_view> texts;
  for (const SpmPiece& piece : model.pieces) {
    if (piece.type == Type::user_defined) texts.push_back(piece.text);
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

/// `own`: as SentencePiece itself encodes, else as transformers converts it.
std::shared_ptr<TokenModel> model_of(const SentencePieceModel& model, Vocabulary v, bool own,
                                     const std::string& origin) {
  if (v.unk_id < 0 || static_cast<std::size_t>(v.unk_id) >= v.tokens.size()) {
    throw_model("tokenizer: " + origin + ": expected an unknown piece number below " + std::to_string(v.tokens.size()) +
                ", got " + std::to_string(v.unk_id));
  }
  if (model.kind == SentencePieceModel::Kind::unigram) {
    UnigramOptions parts;
    parts.vocab = vocab_of(v.tokens);
    std::vector<double> scores;
    for (const auto& token : v.tokens) scores.push_back(token.second);
    parts.add_pieces(scores);
    if (own) {  // a text that spells out "<s>" is not the control piece
      std::erase_if(parts.pieces, [&](const UnigramOptions::Piece& piece) {
        const Type type = model.pieces[static_cast<std::size_t>(piece.id)].type;
        return type == Type::control || type == Type::unknown || type == Type::byte;
      });
    }
    parts.unk_id = v.unk_id;
    parts.byte_fallback = own && model.byte_fallback;
    return make_unigram(std::move(parts));
  }
  if (model.kind != SentencePieceModel::Kind::bpe) {
    throw_model("tokenizer: " + origin + ": expected a Unigram or BPE model, got one of words or characters");
  }
  BpeOptions parts;
  parts.vocab = vocab_of(v.tokens);
  parts.unk_token = model.unk_piece;
  parts.fuse_unk = true;
  parts.byte_fallback = own && model.byte_fallback;
  parts.ignore_merges = own && !user_defined_pattern(model).empty();
  add_merges(model, v.tokens, origin, parts);
  return make_bpe(std::move(parts));
}

std::string list_of(const std::vector<std::string>& items) {
  std::string json;
  for (const std::string& item : items) json += (json.empty() ? "" : ",") + item;
  return "[" + json + "]";
}

std::string replace_json(const char* kind, const std::string& pattern, const std::string& content) {
  return R"({"type":"Replace","pattern":{")" + std::string(kind) + "\":" + json_string(pattern) + R"(},"content":)" +
         json_string(content) + "}";
}

std::string map_json(const SentencePieceModel& model) {
  return R"({"type":"Precompiled","precompiled_charsmap":")" + encode_base64(model.charsmap) + "\"}";
}

std::shared_ptr<const Normalizer> normalizer_of(const SentencePieceModel& model, const Class& c,
                                                const TokenizerSettings& settings, const std::string& origin) {
  std::vector<std::string> steps;
  if (c.text == Text::albert) {
    steps.push_back(replace_json("String", "``", "\""));
    steps.push_back(replace_json("String", "''", "\""));
    if (!settings.keep_accents.value_or(c.keep_accents)) {
      steps.push_back(R"({"type":"NFKD"})");
      steps.push_back(R"({"type":"StripAccents"})");
    }
  }
  if (settings.do_lower_case.value_or(c.lower_case) && c.text != Text::words)
    steps.push_back(R"({"type":"Lowercase"})");
  if (c.text == Text::deberta) steps.push_back(R"({"type":"Strip","strip_left":true,"strip_right":true})");
  if (!model.charsmap.empty()) steps.push_back(map_json(model));
  if (c.text != Text::words) steps.push_back(replace_json("Regex", " {2,}", " "));
  if (steps.empty()) return nullptr;
  return component<Normalizer>(R"({"type":"Sequence","normalizers":)" + list_of(steps) + "}", origin);
}

void add_pre_tokenizer(const Class& c, const TokenizerSettings& settings, const std::string& origin, Stages& parts) {
  const bool prefix = settings.add_prefix_space.value_or(true);
  const std::string metaspace =
      std::string(R"({"type":"Metaspace","replacement":"▁","split":true,"prepend_scheme":")") +
      (prefix ? "always" : "never") + "\"}";
  std::vector<std::string> steps;
  if (c.text == Text::deberta) {
    if (settings.split_by_punct.value_or(false)) steps.push_back(R"({"type":"Punctuation","behavior":"Isolated"})");
  } else {
    steps.push_back(R"({"type":"WhitespaceSplit"})");
  }
  steps.push_back(metaspace);
  parts.pre_tokenizer =
      component<PreTokenizer>(R"({"type":"Sequence","pretokenizers":)" + list_of(steps) + "}", origin);
  parts.decoder = component<Decoder>(metaspace, origin);
}

std::string with_roles(std::string text, const TokenizerSettings& settings) {
  for (const char* role : kRoles) {
    const std::string name(role, std::string_view(role).find('_'));
    const std::string place = "{" + name + "}";
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place)) {
      text.replace(at, place.size(), settings.role_or(role, ""));
    }
  }
  return text;
}

AddedToken special(const std::string& content) {
  AddedToken token;
  token.content = content;
  token.special = true;
  return token;
}

/// Control pieces are special tokens. User-defined ones have the best score, so a Unigram model finds them by itself
/// (in the tokenizer.json files that were published, too, they are no added tokens); in a BPE model no merge leads to
/// them.
void add_pieces(const SentencePieceModel& model, std::vector<AddedToken>& added) {
  const bool user_defined = model.kind == SentencePieceModel::Kind::bpe;
  for (const SpmPiece& piece : model.pieces) {
    if (!(user_defined && piece.type == Type::user_defined) && piece.type != Type::control) continue;
    const auto same = [&](const AddedToken& token) { return token.content == piece.text; };
    if (std::any_of(added.begin(), added.end(), same)) continue;
    AddedToken token = special(piece.text);
    token.special = piece.type == Type::control;
    added.push_back(std::move(token));
  }
}

// The normalizer specification of the file, followed to the letter.
void add_own_text_steps(const SentencePieceModel& model, bool byte_fallback, const std::string& origin, Stages& parts) {
  std::vector<std::string> steps;
  if (model.remove_extra_whitespaces) {
    steps.push_back(replace_json("Regex", "\\A +| +\\z", ""));
    steps.push_back(replace_json("Regex", " {2,}", " "));
  }
  if (model.escape_whitespaces) steps.push_back(replace_json("String", " ", "▁"));
  if (model.add_dummy_prefix) steps.push_back(replace_json("Regex", "\\A▁", "▁▁"));
  std::shared_ptr<const Normalizer> rest;
  if (!steps.empty()) {
    rest = component<Normalizer>(R"({"type":"Sequence","normalizers":)" + list_of(steps) + "}", origin);
  }
  parts.normalizer = make_sentencepiece_normalizer(Charsmap(model.charsmap, origin), std::move(rest));
  std::vector<std::string> cuts;
  if (model.add_dummy_prefix) {
    cuts.push_back(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false})");
  }
  if (const std::string pattern = user_defined_pattern(model); !pattern.empty()) {
    cuts.push_back(R"({"type":"Split","pattern":{"Regex":)" + json_string(pattern) +
                   R"(},"behavior":"Isolated","invert":false})");
  }
  if (!cuts.empty()) {
    parts.pre_tokenizer =
        component<PreTokenizer>(R"({"type":"Sequence","pretokenizers":)" + list_of(cuts) + "}", origin);
  }
  std::vector<std::string> decoders = {replace_json("String", "▁", " ")};
  if (byte_fallback) decoders.push_back(R"({"type":"ByteFallback"})");
  decoders.push_back(R"({"type":"Fuse"})");
  if (model.add_dummy_prefix) decoders.push_back(R"({"type":"Strip","content":" ","start":1,"stop":0})");
  parts.decoder = component<Decoder>(R"({"type":"Sequence","decoders":)" + list_of(decoders) + "}", origin);
}

}  // namespace

Stages stages_from_sentencepiece(const FileSet& files, const std::string& name, const TokenizerSettings& settings) {
  const FileBytes file = files.open(name);
  const SentencePieceModel model = read_sentencepiece(file.text(), file.origin);
  Stages parts;
  const Class* c = class_of(settings);
  if (c == nullptr) {
    parts.model = model_of(model, vocabulary_of(model, Layout::plain, settings, file.origin), true, file.origin);
    add_own_text_steps(model, model.byte_fallback, file.origin, parts);
    parts.added_tokens = settings.all_added();
    return parts;
  }

  TokenizerSettings all = settings;
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (*c->roles[i] != '\0') all.roles.emplace(kRoles[i], special(c->roles[i]));
  }
  if (c->mask_takes_space) all.roles.at("mask_token").lstrip = true;
  if (c->text == Text::deberta) all.roles.at("unk_token").normalized = true;
  const auto also = [&](const std::string& content) {
    if (settings.additional_specials.empty()) all.additional_specials.push_back(special(content));
  };
  if (c->layout == Layout::extra_ids) {
    for (std::size_t i = 0; i < settings.extra_ids.value_or(100); ++i) also("<extra_id_" + std::to_string(i) + ">");
  }
  if (c->layout == Layout::camembert) {
    for (const char* token : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) also(token);
  }
  if (c->name == "XLNetTokenizer") {
    for (const char* token : {"<eop>", "<eod>"}) also(token);
  }
  parts.model = model_of(model, vocabulary_of(model, c->layout, settings, file.origin), false, file.origin);
  parts.normalizer = normalizer_of(model, *c, settings, file.origin);
  add_pre_tokenizer(*c, settings, file.origin, parts);
  parts.added_tokens = all.all_added();
  add_pieces(model, parts.added_tokens);
  for (const auto& [role, token] : all.roles) parts.roles[role] = token.content;
  parts.post_processor = template_processor(with_roles(c->single, all), with_roles(c->pair, all), parts, file.origin);
  return parts;
}

Stages stages_from_marian(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes file = files.open("source.spm");
  const SentencePieceModel model = read_sentencepiece(file.text(), file.origin);
  if (model.kind != SentencePieceModel::Kind::unigram) {
    throw_model("tokenizer: " + file.origin + ": expected a Unigram model, got another kind");
  }
  const FileBytes vocab_file = files.open("vocab.json");
  const auto document = JsonDocument::parse(vocab_file.text(), vocab_file.origin);
  TokenizerSettings all = settings;
  all.roles.emplace("eos_token", special("</s>"));
  all.roles.emplace("unk_token", special("<unk>"));
  all.roles.emplace("pad_token", special("<pad>"));

  UnigramOptions unigram;
  unigram.vocab = read_vocab(document.root());
  const std::string unk = all.role_or("unk_token", "");
  unigram.unk_id = unigram.vocab.find(unk);
  if (unigram.unk_id < 0) throw_model("tokenizer: " + vocab_file.origin + ": expected \"" + unk + "\", got none");
  for (const SpmPiece& piece : model.pieces) {
    unigram.least_score = std::min(unigram.least_score, static_cast<double>(piece.score));
    if (piece.type != Type::normal && piece.type != Type::user_defined && piece.type != Type::unused) continue;
    const std::int32_t id = unigram.vocab.find(piece.text);
    unigram.pieces.push_back({id < 0 ? unigram.unk_id : id, piece.score, piece.text});
  }
  Stages parts;
  parts.model = make_unigram(std::move(unigram));
  add_own_text_steps(model, false, file.origin, parts);
  parts.added_tokens = all.all_added();
  for (const auto& [role, token] : all.roles) parts.roles[role] = token.content;
  parts.post_processor =
      template_processor(with_roles("$A:0 {eos}:0", all), with_roles("$A:0 $B:0 {eos}:0", all), parts, file.origin);
  return parts;
}

}  // namespace mha::tokenizer
