#include "io/running_hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

namespace mha {

struct RunningHash::State {
  XXH3_state_t xxh3;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;
RunningHash& RunningHash::operator=(RunningHash&&) noexcept = default;

void RunningHash::update(std::string_view bytes) { XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size()); }

std::string RunningHash::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace mha
