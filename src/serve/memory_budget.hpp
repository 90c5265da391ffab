#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace mha::serve {

/// Bytes that all requests together may hold. Threads: any.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}

  bool take(std::size_t bytes) {
    std::size_t used = used_.load();
    do {
      if (bytes > limit_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give(std::size_t bytes) { used_ -= bytes; }
  std::size_t used() const { return used_; }
  std::size_t limit() const { return limit_; }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> used_{0};
};

/// A share of the budget, given back by the destructor. Threads: one at a time.
class MemoryLease {
 public:
  MemoryLease() = default;
  explicit MemoryLease(MemoryBudget& budget) : budget_(&budget) {}
  MemoryLease(MemoryLease&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryLease& operator=(MemoryLease&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryLease() {
    if (budget_ != nullptr) budget_->give(bytes_);
  }

  /// Makes the share `bytes` large. False, and no change, if the budget has no room.
  bool resize(std::size_t bytes) {
    if (budget_ == nullptr) return true;
    if (bytes > bytes_ && !budget_->take(bytes - bytes_)) return false;
    if (bytes < bytes_) budget_->give(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mha::serve
