// A tokenizer.json beside a tokenizer_config.json. Many classes of the reference take only the vocabulary from the
// first and build the other stages from the second, so it wins where the two disagree. Source: transformers 5.24.0,
// tokenization_utils_tokenizers.py, convert_to_native_format, and the classes' __init__.
#include <algorithm>

#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/reference_class.hpp"
#include "tokenizer/load/role_template.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

const char* text_of(bool value) { return value ? "true" : "false"; }

std::string type_of(const std::optional<JsonValue>& stage) { return stage ? stage->string_or("type", "") : "none"; }

/// The first component of a type: the stage itself, or a step of its sequence.
std::optional<JsonValue> find_step(const std::optional<JsonValue>& stage, std::string_view type) {
  if (!stage) return std::nullopt;
  if (stage->string_or("type", "") == type) return stage;
  for (const char* list : {"normalizers", "pretokenizers"}) {
    const auto steps = stage->find(list);
    if (!steps) continue;
    for (const JsonValue step : steps->elements()) {
      if (const auto found = find_step(step, type)) return found;
    }
  }
  return std::nullopt;
}

class Follower {
 public:
  Follower(const JsonValue& root, const TokenizerSettings& settings, std::string name, Stages& stages)
      : root_(root),
        settings_(settings),
        name_(std::move(name)),
        normalizer_(root.find("normalizer")),
        pre_tokenizer_(root.find("pre_tokenizer")),
        stages_(stages) {}

  void follow(ClassKind kind) {
    switch (kind) {
      case ClassKind::bert:
      case ClassKind::mpnet:
      case ClassKind::funnel:
        if (has_model("WordPiece")) follow_bert();
        break;
      case ClassKind::byte_bpe:
        if (has_model("BPE")) follow_byte_bpe();
        break;
      case ClassKind::metaspace:
        if (has_model("Unigram")) follow_metaspace();
        break;
      case ClassKind::deberta_v2:
        if (has_model("Unigram")) follow_deberta_v2();
        break;
      case ClassKind::python:
        note(name_ + " cuts texts by code of its own; tokenizer.json is used, the reference may give other tokens");
        break;
      case ClassKind::unknown:
        note("unknown tokenizer class " + name_ + "; tokenizer.json is used as it is");
        break;
      case ClassKind::generic:
      case ClassKind::other:
        break;
    }
  }

 private:
  bool has_model(std::string_view type) {
    if (stages_.model->type() == type) return true;
    note("model.type is " + std::string(stages_.model->type()) + ", which the class " + name_ +
         " of tokenizer_config.json cannot use; tokenizer.json is used as it is");
    return false;
  }

  void note(const std::string& message) { stages_.notes.push_back(root_.document_origin() + ": " + message); }
  /// `is` in the tokenizer.json, `wanted` by the class or its configuration.
  void note_difference(const std::string& what, const std::string& is, const std::string& wanted) {
    note(what + " is " + is + ", but tokenizer_config.json or its class " + name_ + " says " + wanted +
         "; that is followed, as in the reference");
  }

  void follow_bert() {
    BertNormalizerOptions wanted;
    wanted.handle_chinese_chars = settings_.tokenize_chinese_chars.value_or(true);
    wanted.lowercase = settings_.do_lower_case.value_or(true);
    wanted.strip_accents = settings_.strip_accents;
    const bool strips = wanted.strip_accents.value_or(wanted.lowercase);
    if (type_of(normalizer_) != "BertNormalizer") {
      note_difference("normalizer", type_of(normalizer_), "BertNormalizer");
      stages_.normalizer = make_bert_normalizer(wanted);
    } else {
      const BertNormalizerOptions is = BertNormalizerOptions::from_json(*normalizer_);
      bool same = true;
      const auto compare = [&](const char* what, bool a, bool b) {
        if (a == b) return;
        note_difference(what, text_of(a), text_of(b));
        same = false;
      };
      compare("normalizer.lowercase", is.lowercase, wanted.lowercase);
      compare("normalizer.strip_accents", is.strip_accents.value_or(is.lowercase), strips);
      compare("normalizer.handle_chinese_chars", is.handle_chinese_chars, wanted.handle_chinese_chars);
      compare("normalizer.clean_text", is.clean_text, true);
      if (!same) stages_.normalizer = make_bert_normalizer(wanted);
    }
    if (type_of(pre_tokenizer_) != "BertPreTokenizer") {
      note_difference("pre_tokenizer", type_of(pre_tokenizer_), "BertPreTokenizer");
      stages_.pre_tokenizer = make_bert_pre_tokenizer();
    }
  }

  void follow_byte_bpe() {
    if (type_of(pre_tokenizer_) != "ByteLevel") return;
    const ByteLevelOptions is = ByteLevelOptions::from_json(*pre_tokenizer_);
    const bool prefix = settings_.add_prefix_space.value_or(false);
    if (is.add_prefix_space != prefix) {
      note_difference("pre_tokenizer.add_prefix_space", text_of(is.add_prefix_space), text_of(prefix));
      stages_.pre_tokenizer = make_byte_level({prefix, is.use_regex});
    }
  }

  void follow_metaspace() {
    if (!cuts_at_spaces()) return;
    const auto metaspace = find_step(pre_tokenizer_, "Metaspace");
    MetaspaceOptions options = metaspace ? MetaspaceOptions::from_json(*metaspace) : MetaspaceOptions();
    using Prepend = MetaspaceOptions::Prepend;
    const bool is = options.prepend != Prepend::never;
    const bool wanted = !has_prefix_option() || settings_.add_prefix_space.value_or(true);
    const bool cuts = find_step(pre_tokenizer_, "WhitespaceSplit").has_value();
    if (is != wanted) note_difference("pre_tokenizer: add_prefix_space", text_of(is), text_of(wanted));
    if (!cuts) note_difference("pre_tokenizer", type_of(pre_tokenizer_), "WhitespaceSplit, then Metaspace");
    if (is != wanted || !cuts || !metaspace) {
      options.prepend = wanted ? Prepend::always : Prepend::never;
      stages_.pre_tokenizer = make_pre_tokenizer_sequence({make_whitespace_split(), make_metaspace(options)});
    }
    if (name_ == "AlbertTokenizer" || name_ == "FNetTokenizer") follow_albert();
  }

  /// The others build Metaspace alone, as their tokenizer.json files do.
  bool cuts_at_spaces() const {
    constexpr std::string_view kNames[] = {"AlbertTokenizer", "CamembertTokenizer",  "FNetTokenizer", "MT5Tokenizer",
                                           "T5Tokenizer",     "XLMRobertaTokenizer", "XLNetTokenizer"};
    return std::find(std::begin(kNames), std::end(kNames), name_) != std::end(kNames);
  }

  /// T5's and XLNet's classes take no such option.
  bool has_prefix_option() const {
    return name_ != "T5Tokenizer" && name_ != "MT5Tokenizer" && name_ != "XLNetTokenizer";
  }

  void follow_albert() {
    const bool lower = settings_.do_lower_case.value_or(true);
    const bool keeps = settings_.keep_accents.value_or(false);
    const bool is_lower = find_step(normalizer_, "Lowercase").has_value();
    const bool is_keeping = !find_step(normalizer_, "StripAccents").has_value();
    if (lower == is_lower && keeps == is_keeping) return;
    if (lower != is_lower) note_difference("normalizer: lower case", text_of(is_lower), text_of(lower));
    if (keeps != is_keeping) note_difference("normalizer: keep_accents", text_of(is_keeping), text_of(keeps));
    std::vector<NormalizerPtr> steps = {make_replace({make_literal_pattern("``"), "\""}),
                                        make_replace({make_literal_pattern("''"), "\""})};
    if (!keeps) {
      steps.push_back(make_nfkd());
      steps.push_back(make_strip_accents());
    }
    if (lower) steps.push_back(make_lowercase());
    if (const auto map = find_step(normalizer_, "Precompiled")) steps.push_back(Normalizer::from_json(*map));
    stages_.normalizer = make_normalizer_sequence(std::move(steps));
  }

  void follow_deberta_v2() {
    const bool lower = settings_.do_lower_case.value_or(false);
    const bool is_lower = find_step(normalizer_, "Lowercase").has_value();
    const bool same = find_step(normalizer_, "NFC") && find_step(normalizer_, "Strip") &&
                      !find_step(normalizer_, "Precompiled") && !find_step(normalizer_, "NFKC");
    if (lower != is_lower) note_difference("normalizer: lower case", text_of(is_lower), text_of(lower));
    if (!same) note_difference("normalizer", type_of(normalizer_), "one space for white space, NFC, Strip");
    if (lower != is_lower || !same) {
      std::vector<NormalizerPtr> steps;
      if (lower) steps.push_back(make_lowercase());
      steps.push_back(make_replace({make_regex_pattern("\\s{2,}|[\\n\\r\\t]", root_.where()), " "}));
      steps.push_back(make_nfc());
      steps.push_back(make_strip({false, true}));
      stages_.normalizer = make_normalizer_sequence(std::move(steps));
    }
    const bool punct = settings_.split_by_punct.value_or(false);
    const bool is_punct = find_step(pre_tokenizer_, "Punctuation").has_value();
    const auto metaspace = find_step(pre_tokenizer_, "Metaspace");
    MetaspaceOptions options = metaspace ? MetaspaceOptions::from_json(*metaspace) : MetaspaceOptions();
    using Prepend = MetaspaceOptions::Prepend;
    const Prepend wanted = settings_.add_prefix_space.value_or(true) ? Prepend::always : Prepend::first;
    const bool cuts = find_step(pre_tokenizer_, "WhitespaceSplit").has_value();
    if (punct == is_punct && options.prepend == wanted && metaspace && !cuts) return;
    note_difference("pre_tokenizer", type_of(pre_tokenizer_),
                    std::string(punct ? "Punctuation, then " : "") + "Metaspace with add_prefix_space " +
                        text_of(wanted == Prepend::always));
    options.prepend = wanted;
    std::vector<PreTokenizerPtr> steps;
    if (punct) steps.push_back(make_punctuation(SplitBehavior::isolated));
    steps.push_back(make_metaspace(options));
    stages_.pre_tokenizer = make_pre_tokenizer_sequence(std::move(steps));
  }

  const JsonValue& root_;
  const TokenizerSettings& settings_;
  std::string name_;
  std::optional<JsonValue> normalizer_;
  std::optional<JsonValue> pre_tokenizer_;
  Stages& stages_;
};

/// Tokens of the settings beside those of the tokenizer.json; `rebuilds`: the class takes added_tokens_decoder alone,
/// if there is one.
void follow_added_tokens(const JsonValue& root, const TokenizerSettings& settings, bool rebuilds, Stages& stages) {
  std::vector<AddedToken> is = std::move(stages.added_tokens);
  std::vector<AddedToken> wanted = settings.all_added();
  const auto find = [](const std::vector<AddedToken>& tokens, const std::string& content) {
    return std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& t) { return t.content == content; });
  };
  if (!(rebuilds && settings.has_decoder)) {
    // The tokenizer.json comes first; what it has with the same content is not added again by a role alone.
    std::vector<AddedToken> all = is;
    for (const AddedToken& token : wanted) {
      const bool listed = settings.has_decoder && find(settings.added, token.content) != settings.added.end();
      const auto known = find(is, token.content);
      if (known == is.end() || (listed && !(*known == token))) all.push_back(token);
    }
    wanted = std::move(all);
  }
  std::string missing;
  std::string other;
  for (const AddedToken& token : wanted) {
    const auto known = find(is, token.content);
    std::string& names = known == is.end() ? missing : other;
    if (known == is.end() || !(*known == token)) (names += names.empty() ? "\"" : ", \"") += token.content + "\"";
  }
  std::string left;
  for (const AddedToken& token : is) {
    if (find(wanted, token.content) == wanted.end()) (left += left.empty() ? "\"" : ", \"") += token.content + "\"";
  }
  const auto note = [&](const std::string& what, const std::string& names) {
    if (!names.empty()) stages.notes.push_back(root.document_origin() + ": added_tokens: " + what + names);
  };
  note("tokenizer_config.json or special_tokens_map.json adds ", missing);
  note("tokenizer_config.json has other flags for ", other);
  note("tokenizer_config.json has no ", left);
  stages.added_tokens = std::move(wanted);
}

}  // namespace

Stages stages_from_json(const JsonValue& root, const TokenizerSettings& settings) {
  Stages stages = stages_from_json(root);
  const std::string name = reference_class(settings);
  const ClassKind kind = kind_of_class(name);
  const bool rebuilds = kind == ClassKind::bert || kind == ClassKind::mpnet || kind == ClassKind::funnel ||
                        kind == ClassKind::byte_bpe || kind == ClassKind::metaspace || kind == ClassKind::deberta_v2;
  Follower(root, settings, name, stages).follow(kind);
  follow_added_tokens(root, settings, rebuilds, stages);
  return stages;
}

}  // namespace mha::tokenizer
