#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/formats.hpp"
#include "cli/log.hpp"
#include "cli/task_run.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {
namespace {

/// Keeps what was scored, and writes it best first in the end.
class Ranking : public OutputSink {
 public:
  /// `query`: the sentence vector that documents are compared with; empty: they bring their score.
  Ranking(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log,
          const SentenceConfig& sentence, std::vector<float> query)
      : OutputSink(options, std::move(formatter), out, log), sentence_(sentence), query_(std::move(query)) {}

  void render(Record& record) const override {
    if (record.bad()) OutputSink::render(record);
  }

  int write_all() {
    keep(options_.task.top_k.value_or(kept_.size()));
    std::sort(kept_.begin(), kept_.end(), better);
    for (Record& record : kept_) {
      OutputSink::render(record);
      write(record);
    }
    return finish();
  }

 protected:
  void complete(Record& record) override {
    if (!query_.empty()) {
      record.results.assign(1, {0, {AnswerCell::of(similarity(sentence_, query_, record.embedding))}});
    }
    const bool truncated = record.encoding.truncated();
    Record kept;
    kept.index = record.index;
    kept.id = record.id;
    kept.text = record.text;
    kept.extra = record.extra;
    kept.results = record.results;
    kept.encoding.full_length = truncated ? 1 : 0;
    kept_.push_back(std::move(kept));
    if (options_.task.top_k && kept_.size() >= 2 * *options_.task.top_k + kSlack) keep(*options_.task.top_k);
  }
  bool shown(const Record&) const override { return false; }

 private:
  static constexpr std::size_t kSlack = 1024;  // records held beyond those that are asked for

  static bool better(const Record& a, const Record& b) {
    const double first = a.results[0].cells[0].number;
    const double second = b.results[0].cells[0].number;
    return first != second ? first > second : a.index < b.index;
  }

  void keep(std::size_t count) {
    if (count >= kept_.size()) return;
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count), kept_.end(), better);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(count), kept_.end());
  }

  const SentenceConfig& sentence_;
  std::vector<float> query_;
  std::vector<Record> kept_;
};

/// The query alone, through the same pipeline as documents.
class Query : public RecordSource, public RecordSink {
 public:
  explicit Query(const std::string& text) : text_(text) {}
  bool next(Record& record) override {
    if (std::exchange(read_, true)) return false;
    record.text = text_;
    record.place = "query";
    return true;
  }
  bool ready() override { return true; }
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_usage(record.error);
    embedding = std::move(record.embedding);
    return true;
  }
  void flush() override {}

  std::vector<float> embedding;

 private:
  const std::string& text_;
  bool read_ = false;
};

/// By how alike the sentence vectors of query and document are, each with the model's prompt for its role.
int rank_by_vectors(const Options& options, Plan& plan, InputSource& source, const Model& model, OutputStream& out,
                    Log& log) {
  plan.work.parts = {.embedding = true};
  plan.work.refuse_pairs = true;
  ModelWork asking = plan.work;
  asking.prompt = choose_prompt(model.sentence(), {.text = {}, .name = {}, .role = "query"});
  Query query(options.task.query);
  run_pipeline(options, asking, query, query);

  const PromptChoice& asked = options.tokenizing.prompt;
  const bool chosen = asked.text || asked.name || asked.role;
  if (!chosen) plan.work.prompt = choose_prompt(model.sentence(), {.text = {}, .name = {}, .role = "document"});
  use_layout(plan, {ResultLayout::Shape::members, "", "", {"score"}});
  Ranking ranking(options, make_formatter(plan.format, plan.schema, model.location().name), out, log, model.sentence(),
                  query.embedding);
  ranking.watch(source);
  run_pipeline(options, plan.work, source, ranking);
  return ranking.write_all();
}

/// By a head that reads query and document together.
int rank_by_pairs(const Options& options, Plan& plan, InputSource& source, const ModelHeader& header,
                  const Model& model, OutputStream& out, Log& log) {
  const auto head = model.load_head(Task::classify);
  if (head->outputs() != 1) {
    throw_usage("rerank: expected a model with one label or an embedding model, got " + model.location().name +
                " with " + std::to_string(head->outputs()) + " labels");
  }
  const bool raw = read_head_labels(header, 1).cross_encoder_raw;
  const auto reader = rerank_reader(plan.work, options.task.query, raw ? LabelScores::none : LabelScores::sigmoid);
  use_layout(plan, reader->layout());
  const TaskWork work{&plan.work, head.get(), reader.get(), batch_tokens(model.encoder())};
  Ranking ranking(options, make_formatter(plan.format, plan.schema, model.location().name), out, log, model.sentence(),
                  {});
  ranking.watch(source);
  run_task_pipeline(options, work, source, ranking);
  return ranking.write_all();
}

int run(const Options& options, Log& log) {
  RecordRun opened(options, RecordKind::task, log);
  const std::vector<Task> tasks = opened.model->tasks();
  if (std::find(tasks.begin(), tasks.end(), Task::classify) == tasks.end()) {
    return rank_by_vectors(options, opened.plan, opened.source, *opened.model, *opened.out, log);
  }
  return rank_by_pairs(options, opened.plan, opened.source, opened.header, *opened.model, *opened.out, log);
}

}  // namespace

const Command kRerank{
    .name = "rerank",
    .summary = "documents by how well they fit a query",
    .arguments = "QUERY [TEXT…]",
    .about =
        "Scores every document against the query and prints them best first: with a cross-encoder, which reads both "
        "together, or with an embedding model by its similarity (mostly the cosine). Documents are the further TEXTs, "
        "files or standard input.",
    .examples = {"mha-cli rerank \"how big are elephants\" -i documents.txt --top-k 10",
                 "cat documents.jsonl | mha-cli -m reranker rerank \"how big are elephants\" --input-format jsonl "
                 "--format jsonl"},
    .groups = kModel | kInputs | kTokenizing | kPooling | kTask | kSingle | kQuery | kTopK | kOutput,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .run = run,
};

}  // namespace mha::cli
