#include "serve/engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "mha/core/error.hpp"
#include "pipeline/thread_pool.hpp"
#include "serve/metrics.hpp"

namespace mha::serve {

void Job::run_alone(JobInput&, ThreadPool&) { throw_internal("serve: this job has no work of its own"); }

struct Engine::Impl {
  Impl(const EngineSettings& s, Metrics& m) : settings(s), metrics(m), pool(s.threads) {}

  EngineSettings settings;
  Metrics& metrics;
  ThreadPool pool;
  mutable std::mutex mutex;
  std::condition_variable changed;
  TokenQueue queue;
  std::deque<std::unique_ptr<BatchRunner>> lanes;
  std::unordered_map<Job*, std::shared_ptr<Job>> jobs;  // that have inputs in the queue or in a round
  bool stopped = false;

  void encode(const std::vector<Waiting*>& round);
  void finish_input(JobInput& input);
  void leave(Job& job, std::size_t inputs);
  static void fail_all(const std::vector<Record*>& records, const std::string& why);
};

Engine::Engine(const EngineSettings& settings, Metrics& metrics) : impl_(std::make_unique<Impl>(settings, metrics)) {}

Engine::~Engine() = default;

BatchRunner* Engine::add_lane(WorkerFactory factory) {
  const std::lock_guard lock(impl_->mutex);
  impl_->lanes.push_back(std::make_unique<BatchRunner>(impl_->pool, impl_->settings.batch_tokens, std::move(factory)));
  return impl_->lanes.back().get();
}

void Engine::submit(std::shared_ptr<Job> job) {
  std::vector<Waiting*> waiting;
  for (JobInput& input : job->inputs) {
    input.job = job.get();
    input.Waiting::tokens = std::max<std::size_t>(input.Record::tokens(), 1);
    if (!input.bad()) waiting.push_back(&input);
  }
  job->queued = job->begun = Job::Clock::now();
  job->left_ = job->inputs.size();
  for (JobInput& input : job->inputs) {
    if (!input.bad()) continue;
    input.finished = true;
    job->render(input);
  }
  const std::size_t bad = job->inputs.size() - waiting.size();
  if (waiting.empty()) return job->finish();
  job->left_ -= bad;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->jobs.emplace(job.get(), job);
    impl_->queue.add(waiting, job->priority);
  }
  impl_->changed.notify_one();
}

void Engine::cancel(Job& job) {
  std::size_t dropped = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->jobs.find(&job) == impl_->jobs.end()) return;
    job.cancelled_ = true;
    for (JobInput& input : job.inputs) {
      if (!input.queued) continue;
      impl_->queue.remove(input);
      ++dropped;
    }
  }
  impl_->metrics.failure("dropped");
  if (dropped > 0) impl_->leave(job, dropped);
}

// So many inputs of a job need nothing more.
void Engine::Impl::leave(Job& job, std::size_t inputs) {
  if (job.left_.fetch_sub(inputs) != inputs) return;
  std::shared_ptr<Job> last;
  {
    const std::lock_guard lock(mutex);
    const auto place = jobs.find(&job);
    last = std::move(place->second);
    jobs.erase(place);
  }
  if (!job.cancelled_) last->finish();
}

void Engine::Impl::finish_input(JobInput& input) {
  if (std::exchange(input.finished, true)) return;
  Job& job = *input.job;
  try {
    if (!job.cancelled_) job.render(input);
  } catch (const Error& error) {
    const bool is_input = error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage;
    if (is_input) {
      input.fail(error.what());
    } else if (!job.failed_.exchange(true)) {
      job.failure = error.what();
    }
  } catch (const std::exception& error) {
    if (!job.failed_.exchange(true)) job.failure = error.what();
  }
  leave(job, 1);
}

void Engine::Impl::encode(const std::vector<Waiting*>& round) {
  const auto now = Job::Clock::now();
  std::size_t tokens = 0;
  std::vector<Record*> records;
  std::vector<std::shared_ptr<Job>> kept;  // their last input may be finished before the round is
  for (Waiting* waiting : round) {
    auto& input = static_cast<JobInput&>(*waiting);
    Job& job = *input.job;
    if (kept.empty() || kept.back().get() != &job) kept.push_back(job.shared_from_this());
    if (job.begun == job.queued) job.begun = now;
    metrics.queue_wait(&input == &job.inputs.front(), std::chrono::duration<double>(now - job.queued).count());
    tokens += waiting->tokens;
    records.push_back(&input);
  }
  metrics.batch(round.size(), tokens);
  const auto lane = const_cast<void*>(round[0]->lane);
  std::string failure;
  try {
    if (lane != nullptr) {
      static_cast<BatchRunner*>(lane)->encode(records,
                                              [this](Record& record) { finish_input(static_cast<JobInput&>(record)); });
    } else {
      for (Record* record : records) {
        auto& input = static_cast<JobInput&>(*record);
        try {
          if (!input.job->cancelled_) input.job->run_alone(input, pool);
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::internal) throw;
          input.fail(error.what());
        }
        finish_input(input);
      }
    }
    return;
  } catch (const std::bad_alloc&) {
    failure = "memory: not enough for this request";
  } catch (const std::exception& error) {
    failure = error.what();
  }
  // What went wrong is no input's fault: whoever was in this round and has no result gets an error, others go on.
  for (Record* record : records) {
    auto& input = static_cast<JobInput&>(*record);
    if (input.finished) continue;
    if (!input.job->failed_.exchange(true)) input.job->failure = failure;
    input.fail(failure);
    finish_input(input);
  }
}

void Engine::run() {
  while (true) {
    std::vector<Waiting*> round;
    {
      std::unique_lock lock(impl_->mutex);
      impl_->changed.wait(lock, [this] { return impl_->stopped || impl_->queue.size() > 0; });
      if (impl_->stopped) return;
      round = impl_->queue.take(impl_->settings.threads * impl_->settings.batch_tokens, impl_->settings.batch_inputs);
    }
    impl_->encode(round);
  }
}

void Engine::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->changed.notify_one();
}

std::size_t Engine::queued() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->queue.size();
}

}  // namespace mha::serve
