#pragma once

#include <functional>
#include <memory>

#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/record_run.hpp"
#include "model/head_labels.hpp"
#include "pipeline/tasks.hpp"

namespace mha::cli {

/// A model that is loaded for a task.
struct TaskRun {
  const Options& options;
  const ModelHeader& header;
  const Model& model;
  ModelWork& work;
  std::size_t outputs = 0;  ///< of the head; 0 without one
  Log& log;
};

/// Makes the reader of a run; may change how inputs are encoded.
using MakeReader = std::function<std::unique_ptr<TaskReader>(const TaskRun& run)>;

/// The whole way of a command on a head whose records leave in input order. Returns the exit code.
int run_task(const Options& options, Task task, const MakeReader& make_reader, Log& log);

/// The schema of a task whose results have that layout. CSV with several rows per input does not repeat the text.
RecordSchema with_layout(RecordSchema schema, Format format, const ResultLayout& layout);

/// Pipes all inputs through the task into a sink.
void run_task_pipeline(const Options& options, const TaskWork& work, RecordSource& source, RecordSink& sink);

}  // namespace mha::cli
