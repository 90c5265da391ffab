// Any bytes as a safetensors file: refused with a message, or read to the last byte of every tensor.
#include "io/safetensors.hpp"

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/utf8.hpp"
#include "fuzz/memory_file.hpp"
#include "mha/core/error.hpp"
#include "ops/convert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const mha::test::MemoryFile bytes(data, size);
  try {
    const mha::SafetensorsFile file(bytes.path());
    std::size_t covered = 0;
    for (const std::string& name : file.names()) {
      const mha::TensorView* view = file.find(name);
      if (view == nullptr) std::abort();
      covered += view->bytes();
      if (!mha::is_float_type(view->dtype)) continue;
      std::vector<float> values(view->size());
      mha::to_float32(*view, 0, values.size(), values.data());
    }
    if (covered > size) std::abort();
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::model) std::abort();
    if (mha::utf8::first_invalid(error.what()) != mha::utf8::kValid) std::abort();
  }
  return 0;
}
