#include "tokenizer/load/load.hpp"

#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"

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

Stages stages_from(const FileSet& files, const TokenizerSettings& settings) {
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
  tokenizer::Stages stages = tokenizer::stages_from(files, settings);
  for (const auto& [role, token] : settings.roles) stages.roles[role] = token.content;
  return tokenizer::make_tokenizer(std::move(stages));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_folder(const std::string& folder) {
  return from_files(*folder_files(folder));
}

}  // namespace mha
