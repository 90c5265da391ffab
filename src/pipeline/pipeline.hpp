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
  /// Fills what the input says (index, id, text, …, and `error` of a bad one) of a cleared record; false at the end.
  /// Waits until there is one.
  virtual bool next(Record& record) = 0;
  /// Whether `next` would answer without waiting for somebody who writes.
  virtual bool ready() = 0;
};

/// What is done to each record; one object a thread. Every function throws Error{input} for a bad record.
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
  /// Nothing more comes for a while: what was accepted must get out.
  virtual void flush() = 0;
};

/// Makes the worker of one thread. The executor, where there is one, spreads a single micro-batch over threads.
using WorkerFactory = std::function<std::unique_ptr<RecordWorker>(Executor* executor)>;

struct PipelineSettings {
  std::size_t threads = 1;
  std::size_t batch_tokens = 1024;       ///< a micro-batch holds no more, or one input
  std::size_t round_floats = 4U << 20U;  ///< results held at once, a thread
  bool latency = false;                  ///< one input at a time, all threads on it
  bool stop_at_bad = false;              ///< nothing is read behind a bad record
};

/// read → tokenise → micro-batches → encode → write, in windows of inputs: as many as wait, up to a bound, so that a
/// slow writer is answered line by line and a long file is worked on in bulk. Inside a window inputs are sorted by
/// length, cut into ragged micro-batches by tokens, encoded side by side with single-threaded kernels, and leave in
/// input order; a window of one micro-batch uses all threads inside its kernels. Nothing is read ahead of a window, so
/// memory is bounded by it, and a reader that is slow slows everything.
///
/// Threads are started by the first window that has work for them.
class Pipeline {
 public:
  Pipeline(const PipelineSettings& settings, WorkerFactory factory);
  ~Pipeline();

  /// Until the source ends or the sink has enough. Throws what source and sink throw, and errors of workers that are no
  /// input's fault.
  void run(RecordSource& source, RecordSink& sink);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
