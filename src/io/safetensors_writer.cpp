#include "io/safetensors_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

std::size_t bytes_of(const TensorSpec& spec) {
  std::size_t bits = bits_of(spec.dtype);
  bool fits = true;
  for (const std::size_t extent : spec.shape) fits = fits && !__builtin_mul_overflow(bits, extent, &bits);
  if (!fits || bits % 8 != 0) {
    throw_internal("tensor " + utf8::quoted(spec.name) + ": shape " + shape_text(spec.shape) + " is no whole bytes");
  }
  return bits / 8;
}

std::string header_of(const std::vector<TensorSpec>& specs, const SafetensorsMetadata& metadata, std::size_t& bytes) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    auto& entry = header["__metadata__"] = nlohmann::ordered_json::object();
    for (const auto& [key, value] : metadata) entry[key] = value;
  }
  bytes = 0;
  for (const TensorSpec& spec : specs) {
    const std::size_t begin = bytes;
    bytes += bytes_of(spec);
    const auto [place, is_new] = header.emplace(
        spec.name, nlohmann::ordered_json{
                       {"dtype", name_of(spec.dtype)}, {"shape", spec.shape}, {"data_offsets", {begin, bytes}}});
    if (!is_new) throw_internal("tensor " + utf8::quoted(spec.name) + " is to be written twice");
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data starts aligned
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> specs,
                                     const SafetensorsMetadata& metadata)
    : specs_(std::move(specs)) {
  std::sort(specs_.begin(), specs_.end(), [](const TensorSpec& a, const TensorSpec& b) {
    const std::size_t wide = bits_of(a.dtype);
    const std::size_t narrow = bits_of(b.dtype);
    return wide != narrow ? wide > narrow : a.name < b.name;
  });
  const std::string header = header_of(specs_, metadata, missing_bytes_);
  out_ = std::make_unique<OutputStream>(path);
  std::string length;
  for (int shift = 0; shift < 64; shift += 8) {
    length += static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(header.size()) >> shift));
  }
  out_->write(length);
  out_->write(header);
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write(std::span<const std::byte> data) {
  if (data.size() > missing_bytes_) throw_internal(out_->name() + ": more tensor data than the header says");
  missing_bytes_ -= data.size();
  out_->write({reinterpret_cast<const char*>(data.data()), data.size()});
}

void SafetensorsWriter::commit() {
  if (missing_bytes_ != 0) throw_internal(out_->name() + ": less tensor data than the header says");
  out_->commit();
}

}  // namespace mha
