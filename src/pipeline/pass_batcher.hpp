#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace mha {

/// Gathers parts of inputs (windows, hypotheses) into forward passes: a pass runs when the next part would exceed the
/// tokens that one may hold. A part that is larger than that has a pass of its own.
template <class Part>
class PassBatcher {
 public:
  using Run = std::function<void(const std::vector<Part>& parts)>;

  PassBatcher(std::size_t most_tokens, Run run) : most_tokens_(most_tokens), run_(std::move(run)) {}

  void add(Part part, std::size_t tokens) {
    if (tokens_ + tokens > most_tokens_) flush();
    parts_.push_back(std::move(part));
    tokens_ += tokens;
  }
  /// Runs the parts that wait. They are forgotten also if the pass throws.
  void flush() {
    const std::vector<Part> parts = std::exchange(parts_, {});
    tokens_ = 0;
    if (!parts.empty()) run_(parts);
  }

 private:
  std::size_t most_tokens_;
  Run run_;
  std::vector<Part> parts_;
  std::size_t tokens_ = 0;
};

}  // namespace mha
