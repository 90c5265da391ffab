#include "pipeline/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"

namespace mha {
namespace {

// Tries before a waiting thread sleeps: a few microseconds, about what waking up again costs.
constexpr int kTries = 400;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class T>
void wait_while(const std::atomic<T>& word, T value) {
  for (int i = 0; i < kTries; ++i) {
    if (word.load(std::memory_order_acquire) != value) return;
    pause();
  }
  word.wait(value, std::memory_order_acquire);
}

thread_local bool inside_piece = false;

}  // namespace

// A run is published as one word: its number in the upper half, the next piece in the lower half. Taking a piece is a
// compare-and-swap of that word, so a thread that wakes up late can never take part in a run that is over.
struct ThreadPool::Impl {
  explicit Impl(std::size_t threads) : size(threads) {}

  std::size_t size;
  std::vector<std::thread> helpers;

  std::atomic<std::uint64_t> claim{0};
  std::atomic<std::uint32_t> count{0};
  std::atomic<const std::function<void(std::size_t)>*> piece{nullptr};
  std::atomic<std::uint32_t> done{0};
  std::atomic<std::uint32_t> number{0};  // of the newest run; helpers sleep on it
  std::atomic<bool> ending{false};

  std::mutex failure_mutex;
  std::exception_ptr failure;

  void start();
  void help();
  void work(std::uint32_t run);
};

void ThreadPool::Impl::start() {
  helpers.reserve(size - 1);
  try {
    while (helpers.size() + 1 < size) helpers.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // A process limit on threads: the work is done by those there are.
    size = helpers.size() + 1;
  }
}

void ThreadPool::Impl::help() {
  inside_piece = true;
  std::uint32_t seen = 0;
  while (!ending.load(std::memory_order_acquire)) {
    const std::uint32_t run = number.load(std::memory_order_acquire);
    if (run == seen) {
      wait_while(number, seen);
      continue;
    }
    seen = run;
    work(run);
  }
}

void ThreadPool::Impl::work(std::uint32_t run) {
  std::uint64_t word = claim.load(std::memory_order_acquire);
  while (true) {
    if (static_cast<std::uint32_t>(word >> 32) != run) return;
    const auto next = static_cast<std::uint32_t>(word);
    const std::uint32_t pieces = count.load(std::memory_order_relaxed);
    const auto* const function = piece.load(std::memory_order_relaxed);
    if (next >= pieces) return;
    if (!claim.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) continue;
    try {
      (*function)(next);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces) done.notify_all();
    word = claim.load(std::memory_order_acquire);
  }
}

ThreadPool::ThreadPool(std::size_t threads) : impl_(std::make_unique<Impl>(std::max<std::size_t>(threads, 1))) {}

ThreadPool::~ThreadPool() {
  impl_->ending.store(true, std::memory_order_release);
  impl_->number.fetch_add(1, std::memory_order_acq_rel);
  impl_->number.notify_all();
  for (std::thread& helper : impl_->helpers) helper.join();
}

std::size_t ThreadPool::threads() const { return impl_->size; }

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& piece) {
  if (count <= 1 || impl_->size == 1 || inside_piece) {
    for (std::size_t i = 0; i < count; ++i) piece(i);
    return;
  }
  if (count > UINT32_MAX) throw_internal("thread pool: too many pieces for one run");
  if (impl_->helpers.empty()) impl_->start();

  Impl& pool = *impl_;
  const std::uint32_t run = pool.number.load(std::memory_order_relaxed) + 1;
  pool.claim.store(std::uint64_t{run} << 32 | UINT32_MAX, std::memory_order_release);  // nothing to take yet
  pool.count.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  pool.piece.store(&piece, std::memory_order_relaxed);
  pool.done.store(0, std::memory_order_relaxed);
  pool.claim.store(std::uint64_t{run} << 32, std::memory_order_release);
  pool.number.store(run, std::memory_order_release);
  pool.number.notify_all();

  inside_piece = true;
  pool.work(run);
  inside_piece = false;
  for (std::uint32_t finished = pool.done.load(std::memory_order_acquire); finished < count;
       finished = pool.done.load(std::memory_order_acquire)) {
    wait_while(pool.done, finished);
  }
  if (pool.failure) std::rethrow_exception(std::exchange(pool.failure, nullptr));
}

}  // namespace mha
