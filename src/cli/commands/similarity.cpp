#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/record_run.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {
namespace {

struct SimilarityOptions {
  bool matrix = false;
};

void declare(OptionList& list, Options& options) {
  list.group("Similarity");
  list.flag("--matrix", "compare every input with every other", options.own<SimilarityOptions>().matrix);
}

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

int write_matrix(const Options& options, RecordRun& run, Log& log) {
  const ModelWork& work = run.planned.work;
  Matrix inputs(options.input.stops_at_bad());
  run_pipeline(options, work, run.source, inputs);
  std::vector<const Record*> good;
  for (const Record& record : inputs.records()) {
    if (!record.bad()) good.push_back(&record);
  }
  RecordSchema schema = run.planned.schema;
  schema.similarity_matrix = true;
  schema.similarity_columns = good.size();
  OutputSink sink(options, run.formatter(schema), *run.out, log);
  for (Record& record : inputs.records()) {
    if (!record.bad()) {
      for (const Record* other : good) {
        record.similarity.push_back(static_cast<float>(similarity(work.sentence, record.embedding, other->embedding)));
      }
    }
    sink.render(record);
    if (!sink.accept(record)) break;
  }
  return sink.finish();
}

int compare_all(const Options& options, Log& log) {
  if (options.input.texts.size() == 1 && !options.own<SimilarityOptions>().matrix) {
    throw_usage("similarity: expected at least two inputs, got one");
  }
  RecordRun run(options, {.kind = RecordKind::similarity}, log);
  if (options.own<SimilarityOptions>().matrix) return write_matrix(options, run, log);
  const ModelWork& work = run.planned.work;
  FirstAgainstRest sink(options, run.formatter(run.planned.schema), *run.out, log, work.sentence);
  return run_records(options, work, run.source, sink);
}

}  // namespace

const Command kSimilarity{
    .name = "similarity",
    .summary = "similarity of inputs",
    .arguments = "TEXT TEXT…",
    .about =
        "Prints the similarity of the first input's sentence vector to each other one; with --matrix, of every input "
        "to every other. It is the cosine, unless the model names another function.",
    .examples = {"mha-cli similarity \"a man plays guitar\" \"someone makes music\" \"the stock fell\"",
                 "mha-cli similarity --matrix --format csv -i lines.txt"},
    .declare = declare,
    .options = {&kAblation, &kPooling, &kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .run = compare_all,
};

}  // namespace mha::cli
