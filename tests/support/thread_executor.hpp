#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "mha/core/executor.hpp"

namespace mha::test {

/// Starts its threads for every call: slow and simple.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::size_t threads) : threads_(threads) {}
  std::size_t threads() const override { return threads_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& piece) override {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) piece(i);
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads_; ++t) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
  }

 private:
  std::size_t threads_;
};

}  // namespace mha::test
