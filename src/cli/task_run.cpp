#include "cli/task_run.hpp"

#include "cli/log.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {

namespace {

void require_task(const Model& model, Task task) {
  std::string held;
  for (const Task other : model.tasks()) {
    if (other == task) return;
    (held += held.empty() ? "" : ", ") += name_of(other);
  }
  throw_model("model: " + model.location().name + ": expected a head for " + std::string(name_of(task)) + ", got " +
              (held.empty() ? "none" : "one for " + held) + "; model info says what a model can do");
}

}  // namespace

RecordSchema with_layout(RecordSchema schema, Format format, const ResultLayout& layout) {
  if (info(format).delimited && layout.shape != ResultLayout::Shape::members) schema.parts.text = false;
  schema.results = layout;
  return schema;
}

void run_task_pipeline(const Options& options, const TaskWork& work, RecordSource& source, RecordSink& sink) {
  run_workers(options, work.batch_tokens, task_workers(work), source, sink);
}

int run_task(const Options& options, Task task, const MakeReader& make_reader, Log& log) {
  RecordRun run(options, {.kind = RecordKind::task}, log);
  require_task(*run.model, task);
  const auto head = run.model->load_head(task);
  ModelWork work = run.planned.work;
  const auto reader = make_reader({options, run.header, *run.model, work, head->outputs(), log});
  const TaskWork task_work{&work, head.get(), reader.get(), batch_tokens(run.model->encoder())};
  const RecordSchema schema = with_layout(run.planned.schema, run.plan.format, reader->layout());
  OutputSink sink(options, run.formatter(schema), *run.out, log);
  sink.watch(run.source);
  run_task_pipeline(options, task_work, run.source, sink);
  return sink.finish();
}

}  // namespace mha::cli
