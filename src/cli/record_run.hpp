#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "cli/models.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/run_journal.hpp"
#include "cli/source.hpp"
#include "io/output_stream.hpp"
#include "output/records.hpp"
#include "pipeline/pipeline.hpp"

namespace mha::cli {

class Log;

/// Writes finished records in order, by the policy of `--on-error`, and counts what people want to know at the end.
class OutputSink : public RecordSink {
 public:
  /// `journal`: of a run that can be resumed; may be null.
  OutputSink(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log,
             RunJournal* journal = nullptr);

  void render(Record& record) const override;
  bool accept(Record& record) override;
  void flush() override;

  /// Ends the output; returns the exit code. A file under `--on-error fail` that a bad input stopped gets no name.
  int finish();

  /// Progress is shown by how much of the source is done.
  void watch(const InputSource& source) { source_ = &source; }

 protected:
  /// Before a good record is written.
  virtual void complete(Record&) {}
  /// Whether the record is written at all.
  virtual bool shown(const Record&) const { return true; }
  void write(Record& record);

  const Options& options_;

 private:
  void show_progress();
  void note_progress(bool now);

  std::unique_ptr<RecordFormatter> formatter_;
  OutputStream& out_;
  Log& log_;
  RunJournal* journal_;
  std::string failure_;      // of the input that ends the run
  std::size_t inputs_ = 0;   // those of an earlier run, too
  std::size_t records_ = 0;  // written
  std::size_t bad_ = 0;
  std::size_t cut_ = 0;
  std::size_t tokens_ = 0;
  const InputSource* source_ = nullptr;  // for the time left
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
};

/// Opens `-o` or standard output; fails at once where it cannot be written.
std::unique_ptr<OutputStream> open_output(const Options& options);

/// Tokens that a micro-batch holds at most.
std::size_t batch_tokens(const Encoder& encoder);

/// Runs all inputs through workers into any sink; `batch_tokens` of a micro-batch at most.
void run_workers(const Options& options, std::size_t batch_tokens, const WorkerFactory& workers, RecordSource& source,
                 RecordSink& sink);

/// Runs all inputs through the work into any sink.
void run_pipeline(const Options& options, const ModelWork& work, RecordSource& source, RecordSink& sink);

/// The same into a file or standard output. Returns the exit code.
int run_records(const Options& options, const ModelWork& work, InputSource& source, OutputSink& sink);

/// What a command opens whose records come from a model, in the order in which mistakes are told: the model's config,
/// the plan, the output, the inputs, the weights. With `--resume` the inputs begin where the output ends.
struct RecordRun {
  RecordRun(const Options& options, const PlanRequest& request, Log& log);

  /// The formatter that `--format` asks for, of records of that kind.
  std::unique_ptr<RecordFormatter> formatter(const RecordSchema& record_schema) const {
    return info(plan.format).make(record_schema, location.name);
  }

  const ModelLocation location;
  const ModelHeader header;
  const Plan plan;
  const std::unique_ptr<OutputStream> out;
  InputSource source;
  const std::shared_ptr<const Model> model;
  const PlannedWork planned;                  ///< the plan with the loaded model
  const std::unique_ptr<RunJournal> journal;  ///< with `--resume`
};

/// The whole way of a command whose records come from the encoder: encode, attention.
int run_encoding(const Options& options, const PlanRequest& request, Log& log);

}  // namespace mha::cli
