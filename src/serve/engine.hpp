#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "output/records.hpp"
#include "pipeline/batch_runner.hpp"
#include "pipeline/tasks.hpp"
#include "serve/token_queue.hpp"

namespace mha::serve {

class Metrics;
class Job;

/// One input of a job.
struct JobInput : Record, Waiting {
  Job* job = nullptr;
  const TaskReader* reader = nullptr;  ///< what a head's logits mean
  bool finished = false;
};

/// The inputs of one request on their way through the model. A job lives until its last input is finished or dropped.
class Job : public std::enable_shared_from_this<Job> {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Job() = default;

  /// An input has its results, or its `error`. From any thread, for several inputs at once.
  virtual void render(JobInput& input) = 0;
  /// All inputs were rendered. From any thread, once; not if the job was cancelled before that.
  virtual void finish() = 0;
  /// The work of an input without a lane. On the engine's thread; may use the pool.
  virtual void run_alone(JobInput& input, ThreadPool& pool);

  std::vector<JobInput> inputs;  ///< not changed once the job was submitted
  int priority = 0;              ///< lower is sooner
  std::string failure;           ///< an error that is no input's fault; read in `finish`
  Clock::time_point queued;
  Clock::time_point begun;  ///< the first round with one of the inputs

 private:
  friend class Engine;
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> cancelled_{false};
};

struct EngineSettings {
  std::size_t threads = 1;
  std::size_t batch_tokens = 1024;      ///< of a micro-batch, one per thread in a round
  std::size_t batch_inputs = SIZE_MAX;  ///< of a round
};

/// Computes jobs in rounds: the queue says which inputs are next, the workers of their lane encode them.
class Engine {
 public:
  Engine(const EngineSettings& settings, Metrics& metrics);
  ~Engine();

  /// A lane: one kind of work, done by workers of this factory. Before `run`, or from jobs' preparation on any thread.
  BatchRunner* add_lane(WorkerFactory factory);

  /// Puts the inputs of a job in the queue. An input's `lane` is a runner of `add_lane`, or null to run alone; bad
  /// inputs are rendered at once. Threads: any.
  void submit(std::shared_ptr<Job> job);
  /// Nobody waits for the job: what is still queued of it is dropped. Threads: any.
  void cancel(Job& job);

  /// Works on this thread until `stop`.
  void run();
  /// Threads: any.
  void stop();

  std::size_t queued() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha::serve
