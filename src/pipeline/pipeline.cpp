#include "pipeline/pipeline.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/batch_runner.hpp"
#include "pipeline/thread_pool.hpp"

namespace mha {
namespace {

// The first window is small, so that the first result is early; each next one is twice as large.
constexpr std::size_t kFirstWindow = 16;
constexpr std::size_t kLargestWindow = 512;      // inputs, a thread
constexpr std::size_t kWindowBytes = 1U << 20U;  // text, a thread

}  // namespace

struct Pipeline::Impl {
  Impl(const PipelineSettings& s, WorkerFactory factory)
      : settings(s), pool(s.threads), runner(pool, s.batch_tokens, std::move(factory)) {}

  PipelineSettings settings;
  ThreadPool pool;
  BatchRunner runner;
  std::vector<Record> records;

  std::size_t read(RecordSource& source, std::size_t most, bool& end);
  bool process(std::span<Record> window, RecordSink& sink);
};

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
    bytes += record.input.text.size() + (record.input.text_pair ? record.input.text_pair->size() : 0);
    if (record.bad() && settings.stop_at_bad) {
      end = true;
      break;
    }
  }
  return count;
}

bool Pipeline::Impl::process(std::span<Record> window, RecordSink& sink) {
  runner.prepare(window);
  std::vector<Record*> round;
  for (std::size_t begin = 0; begin < window.size();) {
    round.clear();
    std::size_t end = begin;
    for (std::size_t floats = 0; end < window.size(); ++end) {
      if (!window[end].bad()) floats += runner.floats(window[end]);
      if (floats > settings.round_floats * settings.threads && end > begin) break;
      round.push_back(&window[end]);
    }
    runner.encode(round, [&](Record& record) { sink.render(record); });
    const bool go_on = std::all_of(round.begin(), round.end(), [&](Record* record) { return sink.accept(*record); });
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
