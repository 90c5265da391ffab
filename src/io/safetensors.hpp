#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/file_set.hpp"
#include "mha/core/tensor.hpp"

namespace mha {

/// Key and value texts of a safetensors file's `__metadata__`.
using SafetensorsMetadata = std::vector<std::pair<std::string, std::string>>;

/// A safetensors file, mapped, and checked as a whole before any of it is used.
///
/// Format: https://github.com/huggingface/safetensors#format: 8 bytes header length (little-endian), a JSON header
/// padded with white space, then the tensors' bytes. Requirements: no key twice; every span `[begin, end)` inside the
/// data and exactly as long as shape × element; no overlap, no hole, nothing after the last tensor. Data need not be
/// aligned, the header may have any order, and tensors of unsupported types are legal.
///
/// Owns or shares the bytes; views live as long as the object and survive its move.
/// Errors: model, naming the file and the tensor. A file that is too short says how many bytes were expected and found.
/// Threads: const functions may be called from any thread.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// The bytes of a file of a FileSet, mapped or inside the binary.
  explicit SafetensorsFile(FileBytes file);

  /// The tensor, or nullptr.
  const TensorView* find(std::string_view name) const;
  /// All names, in byte order.
  std::vector<std::string> names() const;
  /// In the file's order.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }
  /// Bytes of the file.
  std::size_t bytes() const { return file_.bytes.size(); }

 private:
  struct Entry {
    std::string name;
    TensorView view;
  };

  FileBytes file_;
  std::filesystem::path path_;
  std::vector<Entry> entries_;  // sorted by name
  SafetensorsMetadata metadata_;
};

}  // namespace mha
