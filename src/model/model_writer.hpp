#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/ops/weights.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// A folder that appears under its name when it is complete, or not at all. The name must be new, or an empty folder.
/// Errors: output.
class NewFolder {
 public:
  explicit NewFolder(const std::filesystem::path& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// The path of a file in it; folders on the way are made.
  std::filesystem::path file(const std::string& name) const;
  void write(const std::string& name, std::string_view content) const;
  /// Gives the folder its name.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
};

/// The number type of arrays that are written; empty: as they are.
struct ArrayTypes {
  std::optional<DType> dtype;       ///< f32, f16, bf16 or i8
  std::set<std::string> quantized;  ///< i8: names of the arrays that get a scale a row; all others become f32
};

/// "f32", "f16", "bf16", "int8" or "" (as they are). Throws Error{usage} for others.
std::optional<DType> dtype_named(const std::string& name);

/// Writes all arrays of a source; `NAME.scale` goes with its I8 array. Arrays of types that are no float stay as they
/// are. Errors: model for a value that the type cannot hold, naming the array; output.
void write_arrays(const WeightSource& source, const ArrayTypes& types, const std::filesystem::path& path);

/// Writes an mha-json file. Errors: output; model for a value that is not finite.
void write_json_model(const nlohmann::json& config, const std::string& tokenizer_json,
                      const std::vector<std::pair<std::string, const Weight*>>& arrays,
                      const std::filesystem::path& path);

/// The `tokenizer.json` that splits and looks up as a `words` tokenizer of an mha-json file does.
std::string words_tokenizer_json(const std::vector<std::string>& vocab, bool lowercase, const std::string& unk);

}  // namespace mha
