#include "cli/task_run.hpp"

#include "cli/formats.hpp"
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

void use_layout(Plan& plan, const ResultLayout& layout) {
  plan.schema.results = layout;
  const bool rows = plan.format == Format::csv || plan.format == Format::tsv;
  if (rows && layout.shape != ResultLayout::Shape::members) plan.schema.parts.text = false;
}

void run_task_pipeline(const Options& options, const TaskWork& work, RecordSource& source, RecordSink& sink) {
  run_workers(options, work.batch_tokens, task_workers(work), source, sink);
}

int run_task(const Options& options, Task task, const MakeReader& make_reader, Log& log) {
  RecordRun run(options, RecordKind::task, log);
  require_task(*run.model, task);
  const auto head = run.model->load_head(task);
  const auto reader = make_reader({options, run.header, *run.model, run.plan.work, head->outputs(), log});
  use_layout(run.plan, reader->layout());
  const TaskWork work{&run.plan.work, head.get(), reader.get(), batch_tokens(run.model->encoder())};
  OutputSink sink(options, make_formatter(run.plan.format, run.plan.schema, run.location.name), *run.out, log);
  sink.watch(run.source);
  run_task_pipeline(options, work, run.source, sink);
  return sink.finish();
}

}  // namespace mha::cli
