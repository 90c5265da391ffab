#include "pipeline/batch_runner.hpp"

#include <algorithm>
#include <utility>

#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr std::size_t kTokenizeTogether = 16;  // inputs that one thread takes at a time
constexpr std::size_t kLeastBatchTokens = 32;  // fewer are not worth a thread of their own

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

BatchRunner::BatchRunner(ThreadPool& pool, std::size_t batch_tokens, WorkerFactory factory)
    : pool_(pool), batch_tokens_(batch_tokens), factory_(std::move(factory)) {}

RecordWorker& BatchRunner::team_worker() {
  if (!team_) team_ = factory_(pool_.threads() > 1 ? &pool_ : nullptr);
  return *team_;
}

// Calls `work` with a worker that no other thread has.
void BatchRunner::with_worker(const std::function<void(RecordWorker&)>& work) {
  std::unique_ptr<RecordWorker> worker;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      worker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!worker) worker = factory_(nullptr);
  work(*worker);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

void BatchRunner::prepare(std::span<Record> records) {
  if (records.size() <= kTokenizeTogether || pool_.threads() == 1) {
    for (Record& record : records) prepare_one(team_worker(), record);
    return;
  }
  pool_.run((records.size() + kTokenizeTogether - 1) / kTokenizeTogether, [&](std::size_t piece) {
    const std::size_t begin = piece * kTokenizeTogether;
    with_worker([&](RecordWorker& worker) {
      for (Record& record : records.subspan(begin, std::min(kTokenizeTogether, records.size() - begin))) {
        prepare_one(worker, record);
      }
    });
  });
}

void BatchRunner::encode(std::span<Record* const> round, const std::function<void(Record&)>& done) {
  Batch sorted;
  std::size_t tokens = 0;
  for (Record* record : round) {
    if (record->bad()) {
      done(*record);
    } else {
      sorted.push_back(record);
      tokens += record->tokens();
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Record* a, const Record* b) { return a->tokens() > b->tokens(); });
  const std::size_t threads = pool_.threads();
  const std::size_t share = std::max((tokens + threads - 1) / threads, kLeastBatchTokens);
  const std::vector<Batch> batches = cut(sorted, std::min(share, batch_tokens_));

  const auto work = [&](RecordWorker& worker, const Batch& batch) {
    encode_batch(worker, batch);
    for (Record* record : batch) done(*record);
  };
  if (batches.size() * 2 <= threads || threads == 1) {
    for (const Batch& batch : batches) work(team_worker(), batch);
  } else {
    pool_.run(batches.size(),
              [&](std::size_t i) { with_worker([&](RecordWorker& worker) { work(worker, batches[i]); }); });
  }
}

}  // namespace mha
