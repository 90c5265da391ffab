#pragma once

#include <cstddef>
#include <functional>

namespace mha {

/// Runs independent pieces of one kernel call side by side. The pipeline owns the threads and hands an executor to
/// the workspace. Without one (nullptr), a kernel runs on the calling thread.
///
/// A kernel's result must not depend on how many threads there are: pieces write to disjoint outputs and no piece's
/// arithmetic depends on where the cuts are.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Threads that can work at once, the caller included; at least 1.
  virtual std::size_t threads() const = 0;
  /// Calls `piece(i)` for every i in [0, count), in any order, on any thread; returns when all are done.
  /// The first exception of a piece is rethrown here.
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& piece) = 0;
};

/// Calls `piece(i)` for i in [0, count) with the executor, or on this thread if there is no executor.
inline void parallel_for(Executor* executor, std::size_t count, const std::function<void(std::size_t)>& piece) {
  if (executor != nullptr && count > 1) return executor->run(count, piece);
  for (std::size_t i = 0; i < count; ++i) piece(i);
}

}  // namespace mha
