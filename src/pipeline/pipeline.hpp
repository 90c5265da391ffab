#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "mha/core/executor.hpp"
#include "output/records.hpp"

namespace mha {

/// Where records come from, in order.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Waits for the next input and fills a cleared record (index, id, text, …, and `error` of a bad one). False at the
  /// end.
  virtual bool next(Record& record) = 0;
  /// True if `next` would return without waiting for a writer.
  virtual bool ready() = 0;
};

/// The work on each record; one object per thread. Every function throws Error{input} for a bad record.
class RecordWorker {
 public:
  virtual ~RecordWorker() = default;
  /// Tokenises.
  virtual void prepare(Record& record) = 0;
  /// Floats that the record will hold once it is encoded.
  virtual std::size_t floats(const Record& record) const = 0;
  /// Fills the results of a whole micro-batch.
  virtual void encode(std::span<Record* const> batch) = 0;
};

/// Where finished records go.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// From any thread, as soon as a record is finished.
  virtual void render(Record& record) const = 0;
  /// In input order, on the thread that runs the pipeline; false ends the run.
  virtual bool accept(Record& record) = 0;
  /// No record will come for a while, so accepted records must be written.
  virtual void flush() = 0;
};

/// Makes the worker of one thread. The executor, if there is one, spreads a single micro-batch over threads.
using WorkerFactory = std::function<std::unique_ptr<RecordWorker>(Executor* executor)>;

struct PipelineSettings {
  std::size_t threads = 1;
  std::size_t batch_tokens = 1024;       ///< most tokens of a micro-batch, unless it is one input
  std::size_t round_floats = 4U << 20U;  ///< results held at once, per thread
  bool latency = false;                  ///< one input at a time, all threads on it
  bool stop_at_bad = false;              ///< nothing is read after a bad record
};

/// read → tokenise → micro-batches → encode → write, in rounds of inputs. A round takes the inputs that are waiting, up
/// to a bound: so a slow writer is answered line by line, and a long file is processed in bulk. A round is sorted by
/// length, cut into ragged micro-batches by tokens, encoded side by side with single-threaded kernels, and written in
/// input order. A round of one micro-batch uses all threads inside its kernels. Nothing is read ahead of a round, so
/// memory is bounded, and a slow reader slows everything.
///
/// The first round that has work for threads starts them.
class Pipeline {
 public:
  Pipeline(const PipelineSettings& settings, WorkerFactory factory);
  ~Pipeline();

  /// Runs until the source ends or the sink has enough. Throws errors of source and sink, and errors of workers that no
  /// input causes.
  void run(RecordSource& source, RecordSink& sink);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
