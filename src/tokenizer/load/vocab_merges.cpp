#include <algorithm>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/decoder/decoders.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/role_template.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

// Source: transformers 4.57.1, convert_slow_tokenizer.py (GPT2Converter, RobertaConverter, DebertaConverter,
// CLIPConverter) and the classes' own defaults; tokenizers 0.22.2, models/bpe/model.rs, read_file.
namespace mha::tokenizer {
namespace {

enum class Family { gpt2, roberta, deberta, clip };

struct Row {
  std::string_view name;  ///< tokenizer class or model type
  Family family;
};

constexpr Row kFamilies[] = {
    {"BartTokenizer", Family::roberta},
    {"bart", Family::roberta},
    {"CLIPTokenizer", Family::clip},
    {"clip", Family::clip},
    {"clip_text_model", Family::clip},
    {"CodeGenTokenizer", Family::gpt2},
    {"DebertaTokenizer", Family::deberta},
    {"deberta", Family::deberta},
    {"GPT2Tokenizer", Family::gpt2},
    {"gpt2", Family::gpt2},
    {"LEDTokenizer", Family::roberta},
    {"LayoutLMv3Tokenizer", Family::roberta},
    {"LongformerTokenizer", Family::roberta},
    {"longformer", Family::roberta},
    {"MvpTokenizer", Family::roberta},
    {"RobertaTokenizer", Family::roberta},
    {"roberta", Family::roberta},
    {"roberta-prelayernorm", Family::roberta},
};

Family family_of(const TokenizerSettings& settings, const std::string& origin) {
  for (const std::string& name : {settings.tokenizer_class, settings.model_type}) {
    for (const Row& row : kFamilies) {
      if (row.name == name) return row.family;
    }
  }
  throw_model(
      "tokenizer: " + origin + ": expected the tokenizer of GPT-2, RoBERTa, DeBERTa or CLIP beside merges.txt, got " +
      (settings.tokenizer_class.empty() && settings.model_type.empty()
           ? "no tokenizer_class and no model_type"
           : "tokenizer_class \"" + settings.tokenizer_class + "\", model_type \"" + settings.model_type + "\"") +
      "; save the model's fast tokenizer as tokenizer.json");
}

void read_merges(const FileBytes& file, BpeOptions& bpe) {
  std::string_view rest = file.text();
  if (const std::size_t bad = utf8::first_invalid(rest); bad != utf8::kValid) {
    throw_model("tokenizer: " + file.origin + ": expected valid UTF-8, got an invalid byte at " + std::to_string(bad));
  }
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version")) continue;
    const auto fail = [&](const std::string& message) {
      throw_model("tokenizer: " + file.origin + ": line " + std::to_string(number) + ": " + message);
    };
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      fail("expected two tokens with one space between them, got \"" + std::string(line) + "\"");
    }
    const std::string missing = bpe.add_merge(line.substr(0, space), line.substr(space + 1));
    if (!missing.empty()) fail("expected tokens of the vocabulary, got \"" + missing + "\"");
  }
}

constexpr RolePiece kDebertaSingle[] = {{"cls_token"}, {kText}, {"sep_token"}};
constexpr RolePiece kDebertaPair[] = {{"cls_token"}, {kText}, {"sep_token"}, {kPair, 1}, {"sep_token", 1}};

void assume_roles(Family family, TokenizerSettings& all) {
  if (family == Family::gpt2 || family == Family::clip) {
    all.assume("bos_token", family == Family::clip ? "<|startoftext|>" : "<|endoftext|>");
    all.assume("eos_token", "<|endoftext|>");
    all.assume("unk_token", "<|endoftext|>");
    if (family == Family::clip) all.assume("pad_token", "<|endoftext|>");
    return;
  }
  const bool squares = family == Family::deberta;
  all.assume("bos_token", squares ? "[CLS]" : "<s>");
  all.assume("eos_token", squares ? "[SEP]" : "</s>");
  all.assume("unk_token", squares ? "[UNK]" : "<unk>");
  all.assume("sep_token", squares ? "[SEP]" : "</s>");
  all.assume("pad_token", squares ? "[PAD]" : "<pad>");
  all.assume("cls_token", squares ? "[CLS]" : "<s>");
  all.assume("mask_token", squares ? "[MASK]" : "<mask>");
  all.roles.at("mask_token").lstrip = true;  // like a normal word, it takes the space before it
}

PreTokenizerPtr pre_tokenizer_of(Family family, bool prefix_space, const std::string& origin) {
  if (family != Family::clip) return make_byte_level({prefix_space, true});
  const char* const words = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";
  return make_pre_tokenizer_sequence(
      {make_split({make_regex_pattern(words, origin), SplitBehavior::removed, true}), make_byte_level({false, true})});
}

PostProcessor::Step post_processor_of(Family family, bool prefix_space, const TokenizerSettings& settings,
                                      const Stages& stages, const std::string& origin) {
  const auto token = [&](const char* role) {
    return NamedToken{settings.role_or(role, ""), role_id(role, settings, stages, origin)};
  };
  switch (family) {
    case Family::deberta:
      return template_of({kDebertaSingle, kDebertaPair}, settings, stages, origin);
    case Family::gpt2:
      return ByteLevelProcessingOptions{false, true};
    case Family::clip:
      return RobertaProcessingOptions{token("bos_token"), token("eos_token"), false, false};
    case Family::roberta:
      break;
  }
  return RobertaProcessingOptions{token("cls_token"), token("sep_token"), true, prefix_space};
}

}  // namespace

Stages stages_from_vocab_and_merges(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes vocab_file = files.open("vocab.json");
  const Family family = family_of(settings, vocab_file.origin);
  const auto document = JsonDocument::parse(vocab_file.text(), vocab_file.origin);
  BpeOptions bpe;
  bpe.vocab = read_vocab(document.root());

  TokenizerSettings all = settings;
  assume_roles(family, all);
  if (family == Family::clip) {
    bpe.unk_token = all.roles.at("unk_token").content;
    bpe.end_of_word_suffix = "</w>";
  }
  read_merges(files.open("merges.txt"), bpe);

  const std::string origin = vocab_file.origin;
  const bool prefix_space = settings.add_prefix_space.value_or(false);
  Stages stages;
  stages.model = make_bpe(std::move(bpe));
  if (family == Family::clip) {
    stages.normalizer = make_normalizer_sequence(
        {make_nfc(), make_replace({make_regex_pattern("\\s+", origin), " "}), make_lowercase()});
  }
  stages.pre_tokenizer = pre_tokenizer_of(family, prefix_space, origin);
  stages.decoder = make_byte_level_decoder();
  stages.added_tokens = all.all_added();
  for (const auto& [role, token] : all.roles) stages.roles[role] = token.content;
  stages.post_processor = PostProcessor(post_processor_of(family, prefix_space, all, stages, origin), origin,
                                        [](std::int32_t) { return true; });
  return stages;
}

}  // namespace mha::tokenizer
