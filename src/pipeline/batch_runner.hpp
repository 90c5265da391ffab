#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "output/records.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/thread_pool.hpp"

namespace mha {

/// The workers of one kind of work and the threads that they run on. Sorts a round of inputs by length, cuts it into
/// ragged micro-batches by tokens, and encodes these side by side with single-threaded kernels; a round of one
/// micro-batch uses all threads inside its kernels. Workers are made when they are first needed.
///
/// An input's result does not depend on the round that it is in. A bad input gets an error and does not affect its
/// neighbours. Errors that no input causes are thrown.
/// Threads: `prepare` and `encode` are called by one thread at a time.
class BatchRunner {
 public:
  /// `pool` must outlive the runner. A micro-batch holds at most `batch_tokens` tokens, or one input.
  BatchRunner(ThreadPool& pool, std::size_t batch_tokens, WorkerFactory factory);

  /// Tokenises every record that is not bad.
  void prepare(std::span<Record> records);
  /// Encodes tokenised records; calls `done` for each, from any thread, as soon as its micro-batch is finished. Bad
  /// records are done at once.
  void encode(std::span<Record* const> round, const std::function<void(Record&)>& done);
  /// Floats that the record will hold once it is encoded.
  std::size_t floats(const Record& record) { return team_worker().floats(record); }

 private:
  RecordWorker& team_worker();
  void with_worker(const std::function<void(RecordWorker&)>& work);

  ThreadPool& pool_;
  std::size_t batch_tokens_;
  WorkerFactory factory_;
  std::unique_ptr<RecordWorker> team_;  // its kernels use the pool
  std::mutex mutex_;
  std::vector<std::unique_ptr<RecordWorker>> idle_;
};

}  // namespace mha
