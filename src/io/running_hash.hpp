#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace mha {

/// XXH3, 128 bits (https://xxhash.com), of a growing sequence of bytes: quick, and good against accidents, not against
/// intent (see Sha256 for that). Threads: one at a time.
class RunningHash {
 public:
  RunningHash();
  ~RunningHash();
  RunningHash(RunningHash&&) noexcept;
  RunningHash& operator=(RunningHash&&) noexcept;

  void update(std::string_view bytes);
  /// 32 hexadecimal digits of all bytes so far; more may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mha
