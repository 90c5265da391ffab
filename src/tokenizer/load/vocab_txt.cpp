#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/models/models.hpp"

namespace mha {
namespace tokenizer {
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

// The pieces of `[CLS]:0 $A:0`, and the special tokens among them.
std::string template_json(const std::string& text, const Stages& parts, const AddedTokens& added,
                          std::map<std::string, std::int32_t>& ids, const std::string& origin) {
  std::string json;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t colon = piece.rfind(':');
    const std::string name(piece.substr(0, colon));
    const std::string type(piece.substr(colon + 1));
    json += json.empty() ? "" : ",";
    if (name == "$A" || name == "$B") {
      json += R"({"Sequence":{"id":)" + json_string(name.substr(1)) + R"(,"type_id":)" + type + "}}";
      continue;
    }
    const auto id = added.id_of(name) ? added.id_of(name) : parts.model->vocab().id_of(name);
    if (!id)
      throw_model("tokenizer: " + origin + ": expected the special token \"" + name + "\" in the vocabulary, got none");
    ids[name] = *id;
    json += R"({"SpecialToken":{"id":)" + json_string(name) + R"(,"type_id":)" + type + "}}";
  }
  return "[" + json + "]";
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kDigits[] = "0123456789abcdef";
      json += "\\u00";
      json += kDigits[static_cast<unsigned char>(c) >> 4];
      json += kDigits[c & 15];
    } else {
      json += c;
    }
  }
  return json + '"';
}

namespace {

std::string template_processor_json(const std::string& single, const std::string& pair, const Stages& parts,
                                    const std::string& origin) {
  const AddedTokens added(parts.added_tokens, parts.model->vocab(), nullptr);
  std::map<std::string, std::int32_t> ids;
  const std::string single_json = template_json(single, parts, added, ids, origin);
  const std::string pair_json = template_json(pair, parts, added, ids, origin);
  std::string tokens;
  for (const auto& [name, id] : ids) {
    tokens += (tokens.empty() ? "" : ",") + json_string(name) + R"(:{"id":)" + json_string(name) + R"(,"ids":[)" +
              std::to_string(id) + R"(],"tokens":[)" + json_string(name) + "]}";
  }
  return R"({"type":"TemplateProcessing","single":)" + single_json + R"(,"pair":)" + pair_json +
         R"(,"special_tokens":{)" + tokens + "}}";
}

}  // namespace

PostProcessor template_processor(const std::string& single, const std::string& pair, const Stages& parts,
                                 const std::string& origin) {
  const std::string json = template_processor_json(single, pair, parts, origin);
  const auto document = JsonDocument::parse(json, origin);
  return PostProcessor(document.root(), [](std::int32_t) { return true; });
}

namespace {

constexpr const char* kBertPreTokenizer = R"({"type":"BertPreTokenizer"})";
constexpr const char* kWordPieceDecoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})";

/// What a vocab.txt and the files beside it say.
struct WordPieceFiles {
  std::string origin;
  Vocab vocab;
  TokenizerSettings settings;
  std::string normalizer;  ///< JSON
  std::string single;      ///< templates
  std::string pair;
};

// Source: transformers 5.24.0, models/{bert,mpnet,funnel}/tokenization_*.py.
WordPieceFiles read_word_piece_files(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes file = files.open("vocab.txt");
  WordPieceFiles read;
  read.origin = file.origin;
  std::int32_t line = 0;
  for_each_line(file.text(), [&](std::string_view token) { read.vocab.add_or_replace(token, line++); });
  const std::string kind = settings.tokenizer_class.empty() ? settings.model_type : settings.tokenizer_class;
  const bool mpnet = kind == "MPNetTokenizer" || kind == "mpnet";
  const bool funnel = kind == "FunnelTokenizer" || kind == "funnel";
  if (kind == "RoFormerTokenizer" || kind == "roformer" || kind == "BertJapaneseTokenizer" || kind == "EsmTokenizer" ||
      kind == "esm") {
    throw_model("tokenizer: " + file.origin + ": expected a plain WordPiece vocabulary, got one of " + kind +
                "; save the model's fast tokenizer as tokenizer.json");
  }
  TokenizerSettings& all = read.settings = settings;
  const bool angle = mpnet || funnel;
  const auto assume = [&](const char* role, const char* content) {
    AddedToken token;
    token.content = content;
    token.special = true;
    all.roles.emplace(role, token);
  };
  assume("unk_token", funnel ? "<unk>" : "[UNK]");
  assume("sep_token", mpnet ? "</s>" : funnel ? "<sep>" : "[SEP]");
  assume("pad_token", angle ? "<pad>" : "[PAD]");
  assume("cls_token", mpnet ? "<s>" : funnel ? "<cls>" : "[CLS]");
  assume("mask_token", angle ? "<mask>" : "[MASK]");

  if (mpnet) all.roles.at("mask_token").lstrip = true;  // like a normal word, it takes the space before it

  const auto json_bool = [](bool value) { return std::string(value ? "true" : "false"); };
  const bool lowercase = settings.do_lower_case.value_or(true);
  read.normalizer = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":)" +
                    json_bool(settings.tokenize_chinese_chars.value_or(true)) + R"(,"strip_accents":)" +
                    json_bool(settings.strip_accents.value_or(lowercase)) + R"(,"lowercase":)" + json_bool(lowercase) +
                    "}";
  const std::string cls = all.role_or("cls_token", "");
  const std::string sep = all.role_or("sep_token", "");
  read.single = cls + (funnel ? ":2 $A:0 " : ":0 $A:0 ") + sep + ":0";
  read.pair = read.single + (mpnet ? " " + sep + ":0 $B:0 " + sep + ":0" : " $B:1 " + sep + ":1");
  return read;
}

Stages parts_of_word_piece(const WordPieceFiles& read) {
  Stages parts;
  WordPieceOptions options;
  options.unk_token = read.settings.role_or("unk_token", "");
  parts.model = make_word_piece(read.vocab, std::move(options));
  parts.normalizer = component<Normalizer>(read.normalizer, read.origin);
  parts.pre_tokenizer = component<PreTokenizer>(kBertPreTokenizer, read.origin);
  parts.decoder = component<Decoder>(kWordPieceDecoder, read.origin);
  parts.added_tokens = read.settings.all_added();
  for (const auto& [role, token] : read.settings.roles) parts.roles[role] = token.content;
  parts.post_processor = template_processor(read.single, read.pair, parts, read.origin);
  return parts;
}

std::string added_tokens_json(const Stages& parts) {
  const AddedTokens added(parts.added_tokens, parts.model->vocab(), nullptr);
  std::string json;
  for (const AddedToken& token : parts.added_tokens) {
    const auto flag = [&](const char* name, bool value) {
      return std::string(",\"") + name + "\":" + (value ? "true" : "false");
    };
    (json += json.empty() ? "" : ",") += R"({"id":)" + std::to_string(*added.id_of(token.content)) + R"(,"content":)" +
                                         json_string(token.content) + flag("single_word", token.single_word) +
                                         flag("lstrip", token.lstrip) + flag("rstrip", token.rstrip) +
                                         flag("normalized", token.normalized) + flag("special", token.special) + "}";
  }
  return "[" + json + "]";
}

}  // namespace

Stages stages_from_vocab_txt(const FileSet& files, const TokenizerSettings& settings) {
  return parts_of_word_piece(read_word_piece_files(files, settings));
}

std::string json_from_vocab_txt(const FileSet& files) {
  const WordPieceFiles read = read_word_piece_files(files, read_settings(files));
  const Stages parts = parts_of_word_piece(read);
  std::string vocab;
  for (std::size_t i = 0; i < read.vocab.id_limit(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const std::string_view token = read.vocab.token(id);
    if (read.vocab.find(token) != id) continue;  // a later line has the same token
    if (utf8::first_invalid(token) != utf8::kValid) {
      throw_model("tokenizer: " + read.origin + ": line " + std::to_string(i + 1) +
                  ": expected valid UTF-8, got other bytes");
    }
    vocab += (vocab.empty() ? "" : ",") + json_string(token) + ":" + std::to_string(id);
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added_tokens_json(parts) +
         R"(,"normalizer":)" + read.normalizer + R"(,"pre_tokenizer":)" + kBertPreTokenizer + R"(,"post_processor":)" +
         template_processor_json(read.single, read.pair, parts, read.origin) + R"(,"decoder":)" + kWordPieceDecoder +
         R"(,"model":{"type":"WordPiece","unk_token":)" + json_string(read.settings.role_or("unk_token", "")) +
         R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" + vocab + "}}}";
}

namespace {

std::string sentencepiece_file(const FileSet& files) {
  for (const char* name :
       {"spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model", "sentencepiece.model"}) {
    if (files.has(name)) return name;
  }
  for (const FileSet::Entry& entry : files.list()) {
    if (entry.name.ends_with(".model") && entry.name.find('/') == entry.name.npos) return entry.name;
  }
  return {};
}

Stages parts_of(const FileSet& files, const TokenizerSettings& settings) {
  if (files.has("tokenizer.json")) {
    const FileBytes file = files.open("tokenizer.json");
    const auto document = JsonDocument::parse(file.text(), file.origin);
    return stages_from_json(document.root());
  }
  if (files.has("vocab.txt")) return stages_from_vocab_txt(files, settings);
  if (files.has("vocab.json") && files.has("merges.txt")) return stages_from_vocab_and_merges(files, settings);
  if (files.has("source.spm") && files.has("vocab.json")) return stages_from_marian(files, settings);
  if (const std::string model = sentencepiece_file(files); !model.empty()) {
    return stages_from_sentencepiece(files, model, settings);
  }
  throw_model("tokenizer: " + files.origin() +
              ": expected tokenizer.json, vocab.txt, vocab.json with merges.txt or source.spm, or a *.model of "
              "SentencePiece, got none");
}

}  // namespace
}  // namespace tokenizer

std::shared_ptr<const Tokenizer> Tokenizer::from_files(const FileSet& files) {
  const tokenizer::TokenizerSettings settings = tokenizer::read_settings(files);
  tokenizer::Stages parts = tokenizer::parts_of(files, settings);
  for (const auto& [role, token] : settings.roles) parts.roles[role] = token.content;
  return tokenizer::make_tokenizer(std::move(parts));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_folder(const std::string& folder) {
  return from_files(*folder_files(folder));
}

}  // namespace mha
