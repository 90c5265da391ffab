#include "tokenizer/load/load.hpp"

#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/reference_class.hpp"

namespace mha {
namespace tokenizer {
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

/// The older file sets say nothing about how their vocabulary cuts a text: the class must be one whose way is known.
void refuse_other_classes(const FileSet& files, const TokenizerSettings& settings) {
  const std::string name = reference_class(settings);
  const auto refuse = [&](const std::string& what) {
    throw_model("tokenizer: " + files.origin() + ": " + what +
                "; save the model's fast tokenizer as tokenizer.json, if it has one");
  };
  if (files.has("bpe.codes")) {
    refuse(
        "expected a vocabulary that its file describes, got bpe.codes (the BPE of PhoBERT and BERTweet), which is "
        "not implemented" +
        (name.empty() ? "" : ", of " + name));
  }
  const ClassKind kind = kind_of_class(name);
  const bool word_piece = kind == ClassKind::bert || kind == ClassKind::mpnet || kind == ClassKind::funnel;
  const bool generic = kind == ClassKind::generic;
  if (files.has("vocab.txt")) {
    if (!word_piece && !generic) refuse("vocab.txt: expected the class of a WordPiece tokenizer, got " + name);
  } else if (!files.has("vocab.json") && !sentencepiece_file(files).empty()) {
    const bool known = kind == ClassKind::metaspace || kind == ClassKind::deberta_v2;
    if (!known && !generic) refuse("expected a SentencePiece class whose conversion is known, got " + name);
  }
}

Stages stages_from(const FileSet& files, const TokenizerSettings& settings) {
  if (files.has("tokenizer.json")) {
    const FileBytes file = files.open("tokenizer.json");
    const auto document = JsonDocument::parse(file.text(), file.origin);
    return stages_from_json(document.root(), settings);
  }
  refuse_other_classes(files, settings);
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
  tokenizer::Stages stages = tokenizer::stages_from(files, settings);
  for (const auto& [role, token] : settings.roles) stages.roles[role] = token.content;
  stages.notes.insert(stages.notes.begin(), settings.notes.begin(), settings.notes.end());
  stages.split_special_tokens = settings.split_special_tokens;
  if (settings.kept_side) stages.kept_side = *settings.kept_side;
  if (!settings.has_type_ids) stages.post_processor.clear_type_ids();
  return tokenizer::make_tokenizer(std::move(stages));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_folder(const std::string& folder) {
  return from_files(*folder_files(folder));
}

}  // namespace mha
