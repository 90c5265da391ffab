#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/task_run.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {
namespace {

struct RerankOptions {
  std::optional<std::size_t> top_k;
};

void declare(OptionList& list, Options& options) {
  list.group("Task");
  list.count("--top-k", "N", "the N best results only", options.own<RerankOptions>().top_k, 1);
}

/// Keeps what was scored, and writes it best first in the end.
class Ranking : public OutputSink {
 public:
  /// `query`: the sentence vector that documents are compared with; empty: they bring their score.
  Ranking(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log,
          const SentenceConfig& sentence, std::vector<float> query)
      : OutputSink(options, std::move(formatter), out, log),
        sentence_(sentence),
        query_(std::move(query)),
        top_k_(options.own<RerankOptions>().top_k) {}

  void render(Record& record) const override {
    if (record.bad()) OutputSink::render(record);
  }

  int write_all() {
    keep(top_k_.value_or(kept_.size()));
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
      record.result = Score{similarity(sentence_, query_, record.embedding)};
    }
    Record kept;
    kept.input = std::move(record.input);
    kept.input.text_pair.reset();
    kept.result = record.result;
    kept.truncated = record.truncated;
    kept_.push_back(std::move(kept));
    if (top_k_ && kept_.size() >= 2 * *top_k_ + kSlack) keep(*top_k_);
  }
  bool shown(const Record&) const override { return false; }

 private:
  static constexpr std::size_t kSlack = 1024;  // records held beyond those that are asked for

  static bool better(const Record& a, const Record& b) {
    const double first = std::get<Score>(a.result).value;
    const double second = std::get<Score>(b.result).value;
    return first != second ? first > second : a.input.index < b.input.index;
  }

  void keep(std::size_t count) {
    if (count >= kept_.size()) return;
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count), kept_.end(), better);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(count), kept_.end());
  }

  const SentenceConfig& sentence_;
  std::vector<float> query_;
  std::optional<std::size_t> top_k_;
  std::vector<Record> kept_;
};

/// The query alone, through the same pipeline as documents.
class Query : public RecordSource, public RecordSink {
 public:
  explicit Query(const std::string& text) : text_(text) {}
  bool next(Record& record) override {
    if (std::exchange(read_, true)) return false;
    record.input.text = text_;
    record.input.set_place("query");
    return true;
  }
  bool ready() override { return true; }
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_usage(record.input.error);
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
int rank_by_vectors(const Options& options, RecordRun& run, Log& log) {
  const SentenceConfig& sentence = run.model->sentence();
  ModelWork asking = run.planned.work;
  asking.parts = {.embedding = true};
  asking.refuse_pairs = true;
  ModelWork documents = asking;
  asking.prompt = choose_prompt(sentence, {.text = {}, .name = {}, .role = "query"});
  Query query(options.query);
  run_pipeline(options, asking, query, query);

  const PromptChoice& asked = options.tokens.prompt;
  const bool chosen = asked.text || asked.name || asked.role;
  if (!chosen) documents.prompt = choose_prompt(sentence, {.text = {}, .name = {}, .role = "document"});
  const RecordSchema schema =
      with_layout(run.planned.schema, run.plan.format, {ResultLayout::Shape::members, "", "", {"score"}});
  Ranking ranking(options, run.formatter(schema), *run.out, log, sentence, query.embedding);
  ranking.watch(run.source);
  run_pipeline(options, documents, run.source, ranking);
  return ranking.write_all();
}

/// By a head that reads query and document together.
int rank_by_pairs(const Options& options, RecordRun& run, Log& log) {
  const Model& model = *run.model;
  const auto head = model.load_head(Task::classify);
  if (head->outputs() != 1) {
    throw_usage("rerank: expected a model with one label or an embedding model, got " + model.location().name +
                " with " + std::to_string(head->outputs()) + " labels");
  }
  const bool raw = read_head_labels(run.header, 1).cross_encoder_raw;
  // The reference puts a prompt before the query alone (CrossEncoder.predict).
  const std::string query = choose_prompt(model.sentence(), options.tokens.prompt) + options.query;
  ModelWork work = run.planned.work;
  work.prompt.clear();
  const auto reader = rerank_reader(work, query, raw ? LabelScores::none : LabelScores::sigmoid);
  const RecordSchema schema = with_layout(run.planned.schema, run.plan.format, reader->layout());
  const TaskWork task{&work, head.get(), reader.get(), batch_tokens(model.encoder())};
  Ranking ranking(options, run.formatter(schema), *run.out, log, model.sentence(), {});
  ranking.watch(run.source);
  run_task_pipeline(options, task, run.source, ranking);
  return ranking.write_all();
}

int rerank(const Options& options, Log& log) {
  RecordRun run(options, {.kind = RecordKind::task}, log);
  const std::vector<Task> tasks = run.model->tasks();
  const bool reads_pairs = std::find(tasks.begin(), tasks.end(), Task::classify) != tasks.end();
  return reads_pairs ? rank_by_pairs(options, run, log) : rank_by_vectors(options, run, log);
}

}  // namespace

const Command kRerank{
    .name = "rerank",
    .summary = "documents by how well they fit a query",
    .arguments = "QUERY [TEXT…]",
    .about =
        "Scores every document against the query and prints them best first. A cross-encoder reads query and document "
        "together; an embedding model compares their vectors (usually by the cosine). Documents are the further TEXTs, "
        "files or standard input.",
    .examples = {"mha-cli rerank \"how big are elephants\" -i documents.txt --top-k 10",
                 "cat documents.jsonl | mha-cli -m reranker rerank \"how big are elephants\" --input-format jsonl "
                 "--format jsonl"},
    .declare = declare,
    .options = {&kPooling, &kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .single_texts = true,
    .takes_query = true,
    .is_task = true,
    .run = rerank,
};

}  // namespace mha::cli
