#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "mha/core/tensor.hpp"

namespace mha {

class OutputStream;

/// Name, type and shape of a tensor that is going to be written.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
};

/// Writes a safetensors file, tensor by tensor, so that a model need not be in memory twice.
///
/// The same specs, metadata and bytes give the same file. Tensors lie in the order of `specs()`: larger elements
/// first, then by name, so that every tensor is aligned to its element (as the format's own library writes them).
/// The file appears under its name at `commit`, whole, or not at all.
/// Errors: output (naming the path) for what the system refuses; internal for bytes that do not fit the specs.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> specs,
                    const SafetensorsMetadata& metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  const std::vector<TensorSpec>& specs() const { return specs_; }
  /// The next bytes of the file's data: tensors in the order of `specs()`, each row-major little-endian, in pieces of
  /// any size.
  void write(std::span<const std::byte> data);
  void commit();

 private:
  std::unique_ptr<OutputStream> out_;
  std::vector<TensorSpec> specs_;
  std::size_t missing_bytes_ = 0;
};

}  // namespace mha
