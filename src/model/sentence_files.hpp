#pragma once

#include <functional>
#include <string>

#include "io/file_set.hpp"
#include "model/json_fields.hpp"
#include "model/sentence_modules.hpp"

// The files that sentence-transformers writes, one reader for each. All read keys with JsonFields; keys that are left
// become `SentenceModules::unknown_keys`.
namespace mha {

/// Calls `read` with the object of a JSON file, then notes the keys that it did not ask for. Errors: model.
void read_json_file(const FileSet& files, const std::string& name, const char* what, SentenceModules& out,
                    const std::function<void(const JsonFields&)>& read);
/// Notes the keys of an object inside a file ("modality_config.") that nobody asked for.
void note_unknown(const JsonFields& fields, const std::string& file, const std::string& path, SentenceModules& out);

/// config_sentence_transformers.json: kind, prompts, similarity, truncation. To be read first.
void read_sentence_settings(const FileSet& files, SentenceModules& out);

/// What the first module computes.
enum class TransformerTask { token_vectors, pair_scores, vocabulary_logits };
/// sentence_bert_config.json or one of its older names, in the transformer's folder.
TransformerTask read_transformer_settings(const FileSet& files, TransformerTask by_default, SentenceModules& out);

/// config.json of a Pooling module.
void read_pooling(const FileSet& files, const std::string& name, SentenceModules& out);
/// config.json of a SpladePooling module.
void read_splade_pooling(const FileSet& files, const std::string& name, SentenceModules& out);
/// config.json of a Dense module. `token_level` is set if it works on token vectors.
DenseModule read_dense(const FileSet& files, const std::string& folder, bool& token_level, SentenceModules& out);
/// config.json of a Normalize module; true if it works on token vectors. `folder` may hold no file.
bool reads_tokens(const FileSet& files, const std::string& folder, SentenceModules& out);
/// config.json of a MultiVectorMask module.
void read_token_mask(const FileSet& files, const std::string& folder, SentenceModules& out);

}  // namespace mha
