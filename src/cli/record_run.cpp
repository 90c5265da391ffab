#include "cli/record_run.hpp"

#include <cstdio>
#include <utility>

#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/resume.hpp"
#include "cli/source.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenProgress{200};

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

std::string clock_text(double seconds) {
  char text[32];
  const auto whole = static_cast<unsigned long>(seconds);
  std::snprintf(text, sizeof text, "%lu:%02lu", whole / 60, whole % 60);
  return text;
}

}  // namespace

OutputSink::OutputSink(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log,
                       RunJournal* journal)
    : options_(options),
      formatter_(std::move(formatter)),
      out_(out),
      log_(log),
      journal_(journal),
      begin_(std::chrono::steady_clock::now()),
      shown_(begin_) {
  if (journal_ == nullptr || journal_->start().bytes == 0) {
    formatter_->begin(out_);
    return;
  }
  inputs_ = journal_->start().inputs;
  records_ = journal_->start().records;
  formatter_->resume(out_);
}

void OutputSink::render(Record& record) const {
  record.rendered.clear();
  if (!record.bad() && !record.windows.empty()) {
    for (Record& window : record.windows) render(window);
    return;
  }
  try {
    formatter_->render(record, record.rendered);
  } catch (const Error& error) {
    if (record.bad() || error.kind() != ErrorKind::input) throw;
    record.fail(error.what());
    record.rendered.clear();
    formatter_->render(record, record.rendered);
  }
}

bool OutputSink::accept(Record& record) {
  ++inputs_;
  if (journal_ != nullptr) journal_->add_input(record);
  tokens_ += record.tokens();
  if (!record.bad()) {
    if (record.truncated) ++cut_;
    complete(record);
    if (shown(record)) write(record);
    return true;
  }
  ++bad_;
  switch (options_.input.on_error) {
    case OnError::fail:
    case OnError::replace:
      failure_ = record.input.error;
      return false;
    case OnError::skip:
      log_.error(record.input.error + "; skipped");
      return true;
    case OnError::record:
      write(record);
      return true;
  }
  return true;
}

void OutputSink::write(Record& record) {
  ++records_;
  if (record.bad() || record.windows.empty()) return formatter_->join(record, out_);
  for (Record& window : record.windows) formatter_->join(window, out_);
}

void OutputSink::flush() {
  out_.flush();
  note_progress(false);
  if (source_ != nullptr && log_.shows_progress()) show_progress();
}

// Only behind a flush: a point must not promise bytes that the system has not got.
void OutputSink::note_progress(bool now) {
  if (journal_ != nullptr && failure_.empty()) journal_->note(inputs_, records_, out_.position(), now);
}

void OutputSink::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < kBetweenProgress) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::string line = counted(inputs_, "input", "inputs") + ", " +
                     std::to_string(static_cast<std::size_t>(static_cast<double>(tokens_) / seconds)) + " tokens/s";
  const auto total = source_->total_bytes();
  const std::uint64_t done = source_->bytes_done();
  if (total && done > 0 && done <= *total) {
    line += ", " + clock_text(seconds * static_cast<double>(*total - done) / static_cast<double>(done)) + " left";
  }
  log_.progress(line);
}

int OutputSink::finish() {
  log_.progress("");
  formatter_->end(out_);
  if (failure_.empty() || out_.is_direct()) {
    out_.flush();
    note_progress(true);
    out_.commit();
    if (journal_ != nullptr) journal_->finish();
  }
  if (cut_ > 0) {
    log_.warning(std::to_string(cut_) + " of " + counted(inputs_, "input was", "inputs were") +
                 " cut: longer than the " +
                 "maximum length; --max-length sets it, --truncation error refuses such inputs");
  }
  if (!failure_.empty()) log_.error(failure_);
  if (options_.input.on_error == OnError::record && bad_ > 0) {
    log_.error(counted(bad_, "input", "inputs") + " could not be processed; see the records with an error");
  }
  return bad_ > 0 ? 1 : 0;
}

std::unique_ptr<OutputStream> open_output(const Options& options) {
  return std::make_unique<OutputStream>(
      options.output.to_stdout() ? "-" : options.output.file,
      options.output.resume ? OutputStream::Unfinished::keep : OutputStream::Unfinished::remove);
}

std::size_t batch_tokens(const Encoder& encoder) {
  return encoder.backend().rows_in_cache(encoder.config().d_model, encoder.config().d_ff);
}

void run_workers(const Options& options, std::size_t batch_tokens, const WorkerFactory& workers, RecordSource& source,
                 RecordSink& sink) {
  PipelineSettings settings;
  settings.batch_tokens = batch_tokens;
  settings.threads = thread_count(options);
  settings.latency = options.input.latency;
  settings.stop_at_bad = options.input.stops_at_bad();
  Pipeline(settings, workers).run(source, sink);
}

void run_pipeline(const Options& options, const ModelWork& work, RecordSource& source, RecordSink& sink) {
  const std::size_t tokens = work.encoder != nullptr ? batch_tokens(*work.encoder) : PipelineSettings().batch_tokens;
  run_workers(options, tokens, model_workers(work), source, sink);
}

int run_records(const Options& options, const ModelWork& work, InputSource& source, OutputSink& sink) {
  sink.watch(source);
  run_pipeline(options, work, source, sink);
  return sink.finish();
}

RecordRun::RecordRun(const Options& options, const PlanRequest& request, Log& log)
    : location(choose_model(options)),
      header(read_model_header(location, load_options(options))),
      plan(make_plan(options, request, header)),
      out(open_output(options)),
      source(options, log),
      model(load_model(header, options, log)),
      planned(with_model(plan, options, *model)),
      journal(resume_run(options, *model, source, *out)) {}

int run_encoding(const Options& options, const PlanRequest& request, Log& log) {
  if (is_finished(options, log)) return 0;
  RecordRun run(options, request, log);
  OutputSink sink(options, run.formatter(run.planned.schema), *run.out, log, run.journal.get());
  return run_records(options, run.planned.work, run.source, sink);
}

}  // namespace mha::cli
