#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/file_set.hpp"
#include "mha/model/model.hpp"
#include "model/families/family.hpp"
#include "model/sentence_modules.hpp"
#include "model/weight_source.hpp"

namespace mha {

class JsonModel;

/// A FileSet that remembers which files were opened through it.
class RecordingFiles final : public FileSet {
 public:
  explicit RecordingFiles(std::shared_ptr<const FileSet> files) : files_(std::move(files)) {}

  std::string origin() const override { return files_->origin(); }
  bool has(std::string_view name) const override { return files_->has(name); }
  FileBytes open(std::string_view name) const override;
  std::vector<Entry> list() const override { return files_->list(); }

  /// Sorted by name.
  std::vector<ModelFile> opened() const;

 private:
  std::shared_ptr<const FileSet> files_;
  mutable std::mutex mutex_;
  mutable std::vector<ModelFile> opened_;
};

/// The files of a location: a folder, the folder of a JSON file, or what is in the binary. Errors: model.
std::shared_ptr<const RecordingFiles> files_of(const ModelLocation& location);

/// A model whose configuration and modules are read, but neither tokenizer nor weights (a JSON file is read whole).
struct OpenedModel {
  ModelLocation location;
  std::shared_ptr<const RecordingFiles> files;
  std::shared_ptr<const FileSet>
      encoder_files;                      ///< where config.json, weights and tokenizer lie: `files` or a folder in it
  std::shared_ptr<const JsonModel> json;  ///< of an mha-json file, else nullptr
  std::string config_name;                ///< for decisions: "config.json", "model.json"
  FamilyModel family;
  std::shared_ptr<const WeightSource> source;  ///< arrays that are not those of the files as they are, else nullptr
  SentenceModules sentence;
  bool json_dense = false;  ///< dense modules lie beside the encoder's arrays, named as in mha-json
  std::optional<std::size_t> max_length;
  std::string max_length_from;      ///< the file and key, or the option, that names it
  std::vector<Decision> decisions;  ///< of everything read so far
  std::vector<std::string> notes;
};

/// What is computed with: the precision that `--dtype` means on the backend. Throws Error{usage} for one it has not.
Precision load_precision(const LoadOptions& options);

/// Errors: model; usage where `--max-length` is 0.
std::shared_ptr<const OpenedModel> open_model(const ModelLocation& location, const LoadOptions& options);

/// The tokenizer of an opened model, lower-casing when its files ask for that. Errors: model; usage where the maximum
/// length leaves no room for special tokens.
std::shared_ptr<const Tokenizer> open_tokenizer(const OpenedModel& model, const LoadOptions& options);

/// The arrays of an opened model. Errors: model.
std::shared_ptr<const WeightSource> open_weights(const OpenedModel& model);

/// Finds the arrays of the dense modules and takes their names off `unused`. Errors: model.
void bind_dense_modules(const OpenedModel& model, const WeightSource& source, SentenceConfig& config,
                        std::vector<std::string>& unused);

/// The longest input of `tokenizer_config.json` and the key that names it.
struct TokenizerLength {
  std::size_t length = 0;
  std::string key;
};
/// Nothing if there is none, or a sentinel above 10^6.
std::optional<TokenizerLength> tokenizer_max_length(const FileSet& files);

}  // namespace mha
