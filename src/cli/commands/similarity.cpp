#include <vector>

#include "cli/commands/all.hpp"
#include "cli/formats.hpp"
#include "cli/log.hpp"
#include "cli/record_run.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {
namespace {

/// Compares each input with the first one as it comes.
class FirstAgainstRest : public OutputSink {
 public:
  FirstAgainstRest(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log,
                   const SentenceConfig& sentence)
      : OutputSink(options, std::move(formatter), out, log), sentence_(sentence) {}
  void render(Record& record) const override {
    if (record.bad()) OutputSink::render(record);
  }

 protected:
  void complete(Record& record) override {
    if (first_.empty()) {
      first_ = record.embedding;
      is_first_ = true;
      return;
    }
    is_first_ = false;
    record.similarity.assign(1, static_cast<float>(similarity(sentence_, first_, record.embedding)));
    OutputSink::render(record);
  }
  bool shown(const Record&) const override { return !is_first_; }

 private:
  const SentenceConfig& sentence_;
  std::vector<float> first_;
  bool is_first_ = false;
};

/// Keeps every input, to compare each with all in the end.
class Matrix : public RecordSink {
 public:
  explicit Matrix(bool stops_at_bad) : stops_at_bad_(stops_at_bad) {}
  void render(Record&) const override {}
  bool accept(Record& record) override {
    const bool go_on = !record.bad() || !stops_at_bad_;
    records_.push_back(std::move(record));
    return go_on;
  }
  void flush() override {}
  std::vector<Record>& records() { return records_; }

 private:
  std::vector<Record> records_;
  bool stops_at_bad_;
};

int run_matrix(const Options& options, Plan& plan, InputSource& source, const std::string& model, OutputStream& out,
               Log& log) {
  Matrix inputs(stops_at_bad(options));
  run_pipeline(options, plan.work, source, inputs);
  std::vector<const Record*> good;
  for (const Record& record : inputs.records()) {
    if (!record.bad()) good.push_back(&record);
  }
  plan.schema.similarity_matrix = true;
  plan.schema.similarity_columns = good.size();
  OutputSink sink(options, make_formatter(plan.format, plan.schema, model), out, log);
  for (Record& record : inputs.records()) {
    if (!record.bad()) {
      for (const Record* other : good) {
        record.similarity.push_back(
            static_cast<float>(similarity(plan.work.sentence, record.embedding, other->embedding)));
      }
    }
    sink.render(record);
    if (!sink.accept(record)) break;
  }
  return sink.finish();
}

int run(const Options& options, Log& log) {
  if (options.input.texts.size() == 1 && !options.matrix) {
    throw_usage("similarity: expected at least two inputs, got one");
  }
  RecordRun opened(options, RecordKind::similarity, log);
  Plan& plan = opened.plan;
  const std::string& name = opened.location.name;
  if (options.matrix) return run_matrix(options, plan, opened.source, name, *opened.out, log);
  FirstAgainstRest sink(options, make_formatter(plan.format, plan.schema, name), *opened.out, log, plan.work.sentence);
  return run_records(options, plan.work, opened.source, sink);
}

}  // namespace

const Command kSimilarity{
    .name = "similarity",
    .summary = "how alike inputs are",
    .arguments = "TEXT TEXT…",
    .about =
        "Prints how alike the sentence vectors of the first input and of each other are, or with --matrix of every "
        "input and "
        "every other: the cosine, unless the model names another function.",
    .examples = {"mha-cli similarity \"a man plays guitar\" \"someone makes music\" \"the stock fell\"",
                 "mha-cli similarity --matrix --format csv -i lines.txt"},
    .groups = kModel | kInputs | kTokenizing | kPooling | kAblation | kMatrix | kOutput,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .run = run,
};

}  // namespace mha::cli
