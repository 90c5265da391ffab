#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "mha/core/executor.hpp"

namespace mha {

/// A team of threads that the caller of `run` is part of. Threads start at the first run that can use them, sleep on a
/// futex when there is nothing to do (after a wait of a few microseconds, too short to disturb a neighbour), and end
/// with the pool.
///
/// `run` never waits for a thread that has not woken up: the caller does what nobody has taken, so that a busy
/// neighbour costs no more than its share.
/// Threads: `run` is called by one thread at a time. A piece may call `run` of the same pool: it then runs there and
/// then, on its own thread.
class ThreadPool : public Executor {
 public:
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const override;
  void run(std::size_t count, const std::function<void(std::size_t)>& piece) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
