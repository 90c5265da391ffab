#include <algorithm>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/models/models.hpp"

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

void read_merges(const FileBytes& file, BpeOptions& parts) {
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
    const std::string missing = parts.add_merge(line.substr(0, space), line.substr(space + 1));
    if (!missing.empty()) fail("expected tokens of the vocabulary, got \"" + missing + "\"");
  }
}

}  // namespace

Stages stages_from_vocab_and_merges(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes vocab_file = files.open("vocab.json");
  const Family family = family_of(settings, vocab_file.origin);
  const auto document = JsonDocument::parse(vocab_file.text(), vocab_file.origin);
  BpeOptions bpe;
  bpe.vocab = read_vocab(document.root());

  TokenizerSettings all = settings;
  const auto assume = [&](const char* role, const char* content) {
    AddedToken token;
    token.content = content;
    token.special = true;
    all.roles.emplace(role, token);
  };
  const bool squares = family == Family::deberta;
  if (family == Family::gpt2 || family == Family::clip) {
    assume("bos_token", family == Family::clip ? "<|startoftext|>" : "<|endoftext|>");
    assume("eos_token", "<|endoftext|>");
    assume("unk_token", "<|endoftext|>");
    if (family == Family::clip) assume("pad_token", "<|endoftext|>");
  } else {
    assume("bos_token", squares ? "[CLS]" : "<s>");
    assume("eos_token", squares ? "[SEP]" : "</s>");
    assume("unk_token", squares ? "[UNK]" : "<unk>");
    assume("sep_token", squares ? "[SEP]" : "</s>");
    assume("pad_token", squares ? "[PAD]" : "<pad>");
    assume("cls_token", squares ? "[CLS]" : "<s>");
    assume("mask_token", squares ? "[MASK]" : "<mask>");
    all.roles.at("mask_token").lstrip = true;  // like a normal word, it takes the space before it
  }
  if (family == Family::clip) {
    bpe.unk_token = all.roles.at("unk_token").content;
    bpe.end_of_word_suffix = "</w>";
  }
  read_merges(files.open("merges.txt"), bpe);

  const std::string origin = vocab_file.origin;
  const bool prefix_space = settings.add_prefix_space.value_or(false);
  const std::string prefix = prefix_space ? "true" : "false";
  Stages parts;
  parts.model = make_bpe(std::move(bpe));
  const std::string byte_level =
      R"({"type":"ByteLevel","add_prefix_space":)" + prefix + R"(,"trim_offsets":true,"use_regex":true})";
  if (family == Family::clip) {
    parts.normalizer = component<Normalizer>(
        R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},)"
        R"({"type":"Lowercase"}]})",
        origin);
    parts.pre_tokenizer = component<PreTokenizer>(
        R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)"
        R"("'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"},"behavior":"Removed","invert":true},)"
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})",
        origin);
  } else {
    parts.pre_tokenizer = component<PreTokenizer>(byte_level, origin);
  }
  parts.decoder = component<Decoder>(byte_level, origin);
  parts.added_tokens = all.all_added();
  for (const auto& [role, token] : all.roles) parts.roles[role] = token.content;

  const auto processor = [&](const std::string& json) {
    const auto json_document = JsonDocument::parse(json, origin);
    parts.post_processor = PostProcessor(json_document.root(), [](std::int32_t) { return true; });
  };
  if (family == Family::deberta) {
    const std::string cls = all.role_or("cls_token", "");
    const std::string sep = all.role_or("sep_token", "");
    const std::string single = cls + ":0 $A:0 " + sep + ":0";
    parts.post_processor = template_processor(single, single + " $B:1 " + sep + ":1", parts, origin);
  } else if (family == Family::gpt2) {
    processor(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})");
  } else {
    const AddedTokens added(parts.added_tokens, parts.model->vocab(), nullptr);
    const auto pair = [&](const char* role) {
      const std::string content = all.role_or(role, "");
      const auto id = added.id_of(content);
      if (!id) throw_model("tokenizer: " + origin + ": expected the special token \"" + content + "\", got none");
      return "[" + json_string(content) + "," + std::to_string(*id) + "]";
    };
    const bool clip = family == Family::clip;
    processor(R"({"type":"RobertaProcessing","sep":)" + pair(clip ? "eos_token" : "sep_token") + R"(,"cls":)" +
              pair(clip ? "bos_token" : "cls_token") + R"(,"trim_offsets":)" + (clip ? "false" : "true") +
              R"(,"add_prefix_space":)" + (clip ? "false" : prefix) + "}");
  }
  return parts;
}

}  // namespace mha::tokenizer
