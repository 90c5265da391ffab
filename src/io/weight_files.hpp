#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"
#include "mha/core/tensor.hpp"

namespace mha {

/// The tensors of a model, from one safetensors file or from the shards that an index lists.
///
/// Opened from a `.safetensors` file, a `*.safetensors.index.json`, or a folder that holds `model.safetensors` or
/// `model.safetensors.index.json` (in this order). Of a sharded model only the shards that the index lists are opened;
/// they must be in the index's folder. Owns the mappings; views live as long as the object and survive its move.
/// Errors: model. A missing shard is named. If the folder has weights in an unsupported format (pickle, ONNX, …), the
/// message says which and how to convert them.
class WeightFiles {
 public:
  explicit WeightFiles(const std::filesystem::path& path);
  /// The same from the files of a model; `name` is a file among them, or empty for the usual ones.
  explicit WeightFiles(const FileSet& files, const std::string& name = "");

  /// The tensor, or nullptr.
  const TensorView* find(std::string_view name) const;
  /// All names, in byte order.
  const std::vector<std::string>& names() const { return names_; }
  /// The file that holds a tensor, for messages; the first file for an unknown name.
  const std::filesystem::path& file_of(std::string_view name) const;
  /// The safetensors files sorted by name, without the index.
  const std::vector<SafetensorsFile>& files() const { return files_; }

 private:
  struct Place {
    const TensorView* view;
    std::size_t file;
  };

  void open_index(const FileSet& files, const std::string& index);
  const Place* place_of(std::string_view name) const;

  std::vector<SafetensorsFile> files_;
  std::vector<std::string> names_;  // sorted
  std::vector<Place> places_;       // beside names_
};

}  // namespace mha
