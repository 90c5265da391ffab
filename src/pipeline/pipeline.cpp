#include "pipeline/pipeline.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/thread_pool.hpp"

namespace mha {
namespace {

// The first window is small, so that the first result is early; each next one is twice as large.
constexpr std::size_t kFirstWindow = 16;
constexpr std::size_t kLargestWindow = 512;      // inputs, a thread
constexpr std::size_t kWindowBytes = 1U << 20U;  // text, a thread
constexpr std::size_t kTokenizeTogether = 16;    // inputs that one thread takes at a time
constexpr std::size_t kLeastBatchTokens = 32;    // fewer are not worth a thread of their own

using Batch = std::vector<Record*>;

// Micro-batches of inputs that are sorted by length.
std::vector<Batch> cut(const Batch& sorted, std::size_t most_tokens) {
  std::vector<Batch> batches;
  std::size_t tokens = 0;
  for (Record* record : sorted) {
    if (batches.empty() || tokens + record->tokens() > most_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    tokens += record->tokens();
    batches.back().push_back(record);
  }
  return batches;
}

}  // namespace

struct Pipeline::Impl {
  Impl(const PipelineSettings& s, WorkerFactory f) : settings(s), factory(std::move(f)), pool(s.threads) {}

  PipelineSettings settings;
  WorkerFactory factory;
  ThreadPool pool;
  std::unique_ptr<RecordWorker> team;  // its kernels use the pool
  std::mutex mutex;
  std::vector<std::unique_ptr<RecordWorker>> idle;
  std::vector<Record> records;

  std::size_t read(RecordSource& source, std::size_t most, bool& end);
  void prepare(std::span<Record> window);
  bool process(std::span<Record> window, RecordSink& sink);
  void encode(std::span<Record> round, const RecordSink& sink);

  RecordWorker& team_worker() {
    if (!team) team = factory(pool.threads() > 1 ? &pool : nullptr);
    return *team;
  }

  /// Calls `work` with a worker that no other thread has.
  template <class Work>
  void with_worker(Work work) {
    std::unique_ptr<RecordWorker> worker;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        worker = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!worker) worker = factory(nullptr);
    work(*worker);
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  }
};

namespace {

void prepare_one(RecordWorker& worker, Record& record) {
  if (record.bad()) return;
  try {
    worker.prepare(record);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    record.fail(error.what());
  }
}

// A bad input must not spoil its neighbours: where a batch fails, each of its inputs is tried alone.
void encode_batch(RecordWorker& worker, std::span<Record* const> batch) {
  try {
    worker.encode(batch);
    return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    if (batch.size() == 1) {
      batch[0]->fail(error.what());
      return;
    }
  }
  for (std::size_t i = 0; i < batch.size(); ++i) encode_batch(worker, batch.subspan(i, 1));
}

}  // namespace

std::size_t Pipeline::Impl::read(RecordSource& source, std::size_t most, bool& end) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  while (count < most && bytes < kWindowBytes * settings.threads && (count == 0 || source.ready())) {
    if (records.size() == count) records.emplace_back();
    Record& record = records[count];
    record.clear();
    if (!source.next(record)) {
      end = true;
      break;
    }
    ++count;
    bytes += record.text.size() + (record.text_pair ? record.text_pair->size() : 0);
    if (record.bad() && settings.stop_at_bad) {
      end = true;
      break;
    }
  }
  return count;
}

void Pipeline::Impl::prepare(std::span<Record> window) {
  if (window.size() <= kTokenizeTogether || pool.threads() == 1) {
    for (Record& record : window) prepare_one(team_worker(), record);
    return;
  }
  pool.run((window.size() + kTokenizeTogether - 1) / kTokenizeTogether, [&](std::size_t piece) {
    const std::size_t begin = piece * kTokenizeTogether;
    with_worker([&](RecordWorker& worker) {
      for (Record& record : window.subspan(begin, std::min(kTokenizeTogether, window.size() - begin))) {
        prepare_one(worker, record);
      }
    });
  });
}

void Pipeline::Impl::encode(std::span<Record> round, const RecordSink& sink) {
  Batch sorted;
  std::size_t tokens = 0;
  for (Record& record : round) {
    if (record.bad()) {
      sink.render(record);
    } else {
      sorted.push_back(&record);
      tokens += record.tokens();
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Record* a, const Record* b) { return a->tokens() > b->tokens(); });
  const std::size_t threads = pool.threads();
  const std::size_t share = std::max((tokens + threads - 1) / threads, kLeastBatchTokens);
  const std::vector<Batch> batches = cut(sorted, std::min(share, settings.batch_tokens));

  const auto work = [&](RecordWorker& worker, const Batch& batch) {
    encode_batch(worker, batch);
    for (Record* record : batch) sink.render(*record);
  };
  if (batches.size() * 2 <= threads || threads == 1) {
    for (const Batch& batch : batches) work(team_worker(), batch);
  } else {
    pool.run(batches.size(),
             [&](std::size_t i) { with_worker([&](RecordWorker& worker) { work(worker, batches[i]); }); });
  }
}

bool Pipeline::Impl::process(std::span<Record> window, RecordSink& sink) {
  prepare(window);
  for (std::size_t begin = 0; begin < window.size();) {
    std::size_t end = begin;
    for (std::size_t floats = 0; end < window.size(); ++end) {
      if (!window[end].bad()) floats += team_worker().floats(window[end]);
      if (floats > settings.round_floats * settings.threads && end > begin) break;
    }
    const std::span<Record> round = window.subspan(begin, end - begin);
    encode(round, sink);
    const bool go_on = std::all_of(round.begin(), round.end(), [&](Record& record) { return sink.accept(record); });
    sink.flush();
    if (!go_on) return false;
    begin = end;
  }
  return true;
}

Pipeline::Pipeline(const PipelineSettings& settings, WorkerFactory factory)
    : impl_(std::make_unique<Impl>(settings, std::move(factory))) {}

Pipeline::~Pipeline() = default;

void Pipeline::run(RecordSource& source, RecordSink& sink) {
  const std::size_t largest = impl_->settings.latency ? 1 : kLargestWindow * impl_->settings.threads;
  std::size_t most = std::min(kFirstWindow * impl_->settings.threads, largest);
  for (bool end = false; !end; most = std::min(most * 2, largest)) {
    const std::size_t count = impl_->read(source, most, end);
    if (count > 0 && !impl_->process({impl_->records.data(), count}, sink)) return;
  }
}

}  // namespace mha
