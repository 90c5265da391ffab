#pragma once

#include <cstddef>
#include <vector>

namespace mha::tokenizer {

/// Gives the memory of a scratch array back when a long text made it large; a usual one is kept for the next text.
template <typename T>
void release_large(std::vector<T>& values) {
  constexpr std::size_t kKept = std::size_t{1} << 18;
  if (values.capacity() > kKept) std::vector<T>().swap(values);
}

}  // namespace mha::tokenizer
