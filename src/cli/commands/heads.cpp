#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/treebank.hpp"
#include "cli/blocks.hpp"
#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/plan.hpp"
#include "cli/record_run.hpp"
#include "io/text_reader.hpp"
#include "mha/analysis/head_statistics.hpp"
#include "mha/core/error.hpp"
#include "output/answers.hpp"
#include "output/record_maps.hpp"

namespace mha::cli {
namespace {

struct HeadsOptions {
  std::string conllu;       ///< a treebank
  bool importance = false;  ///< ablate each head in turn
  bool hide_specials = false;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<HeadsOptions>();
  list.group("Heads");
  list.named("--conllu", "FILE", "score heads against a treebank, - is stdin", ValueKind::file, own.conllu)
      .ends_in({".conllu"});
  list.flag("--importance", "change of the sentence vectors when each head is ablated", own.importance);
  list.flag("--hide-specials", "leave special tokens out of the averages over queries", own.hide_specials);
}

/// Sums something over a corpus: each record's part on the thread that finished it, the parts in input order, so that
/// the sum has the same bits with any number of threads.
template <class Part>
class CorpusSink : public RecordSink {
 public:
  CorpusSink(const Options& options, Log& log) : options_(options), log_(log) {}

  void render(Record& record) const override {
    if (record.bad() || record.tokens() == 0) return;
    Part part = part_of(record);
    const std::lock_guard lock(mutex_);
    parts_.insert_or_assign(&record, std::move(part));
  }

  bool accept(Record& record) override {
    if (record.bad()) {
      ++bad_;
      if (options_.input.stops_at_bad()) throw_input(record.input.error);
      log_.error(record.input.error + "; skipped");
      return true;
    }
    const std::lock_guard lock(mutex_);
    auto part = parts_.extract(&record);
    add(record, part.empty() ? Part() : std::move(part.mapped()));
    return true;
  }

  void flush() override {}
  int exit_code() const { return bad_ > 0 ? 1 : 0; }

 protected:
  virtual Part part_of(const Record& record) const = 0;
  virtual void add(const Record& record, Part part) = 0;

 private:
  const Options& options_;
  Log& log_;
  std::size_t bad_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<const Record*, Part> parts_;
};

class StatisticsSink : public CorpusSink<HeadStatisticsSum> {
 public:
  StatisticsSink(const Options& options, const RecordSchema& schema, Log& log)
      : CorpusSink(options, log), schema_(schema), hide_specials_(options.own<HeadsOptions>().hide_specials) {}
  std::vector<HeadStatistics> means() const { return sum_.means(); }

 private:
  HeadStatisticsSum part_of(const Record& record) const override {
    HeadStatisticsSum part;
    part.add(attention_maps(record, schema_), hide_specials_);
    return part;
  }
  void add(const Record&, HeadStatisticsSum part) override { sum_.add(part); }

  const RecordSchema& schema_;
  bool hide_specials_;
  HeadStatisticsSum sum_;
};

/// Sentences of a treebank as inputs, kept until their records come back.
class TreebankSource : public RecordSource {
 public:
  explicit TreebankSource(const std::string& file)
      : file_(file),
        lines_(TextReader::from_files({file}, lines_only())),
        reader_([this](std::string& line) { return next_line(line); }, file) {}

  bool next(Record& record) override {
    TreebankSentence sentence;
    if (!reader_.next(sentence)) return false;
    record.clear();
    record.input.index = index_++;
    record.input.text = sentence.text;
    record.input.set_place(file_ + ": line " + std::to_string(sentence.line));
    const std::lock_guard lock(mutex_);
    sentences_.emplace(record.input.index, std::move(sentence));
    return true;
  }
  bool ready() override { return true; }

  TreebankSentence sentence(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return sentences_.at(index);
  }
  void forget(std::size_t index) {
    const std::lock_guard lock(mutex_);
    sentences_.erase(index);
  }

 private:
  static TextReaderOptions lines_only() {
    TextReaderOptions options;
    options.format = InputFormat::lines;
    return options;
  }
  bool next_line(std::string& line) {
    if (!lines_.next(line_)) return false;
    if (!line_.error.empty()) throw_input(line_.error);
    line = line_.text;
    return true;
  }

  std::string file_;
  TextReader lines_;
  Input line_;
  TreebankReader reader_;
  std::size_t index_ = 0;
  mutable std::mutex mutex_;
  std::map<std::size_t, TreebankSentence> sentences_;
};

class TreebankSink : public CorpusSink<TreebankScore> {
 public:
  TreebankSink(const Options& options, const RecordSchema& schema, TreebankSource& source, Log& log)
      : CorpusSink(options, log), schema_(schema), source_(source) {}
  const TreebankScore& score() const { return score_; }
  std::size_t truncated() const { return truncated_; }

 private:
  TreebankScore part_of(const Record& record) const override {
    TreebankScore part;
    if (!record.truncated) part.add(source_.sentence(record.input.index), attention_maps(record, schema_));
    return part;
  }
  void add(const Record& record, TreebankScore part) override {
    truncated_ += record.truncated;
    score_.add(part);
    source_.forget(record.input.index);
  }

  const RecordSchema& schema_;
  TreebankSource& source_;
  TreebankScore score_;
  std::size_t truncated_ = 0;
};

Answer relations_answer(const TreebankScore& score) {
  Answer answer{"relations",
                "the best head of each relation and direction",
                {"relation", "direction", "layer", "head", "accuracy", "support", "baseline", "baseline_offset",
                 "accuracy_any", "support_any"},
                {},
                false};
  for (const RelationScore& relation : score.relations()) {
    answer.rows.push_back({AnswerCell::of(relation.relation), AnswerCell::of(relation.direction),
                           AnswerCell::of(relation.layer), AnswerCell::of(relation.head),
                           AnswerCell::of(relation.accuracy), AnswerCell::of(relation.support),
                           AnswerCell::of(relation.baseline), AnswerCell::whole(relation.baseline_offset),
                           AnswerCell::of(relation.accuracy_any), AnswerCell::of(relation.support_any)});
  }
  return answer;
}

/// The same for people: what a terminal has room for.
Answer relations_table(const TreebankScore& score) {
  Answer answer{"relations",
                "the best head of each relation, in both directions",
                {"relation", "direction", "head", "accuracy", "support", "baseline", "offset", "accuracy_any"},
                {},
                false};
  for (const RelationScore& relation : score.relations()) {
    answer.rows.push_back(
        {AnswerCell::of(relation.relation),
         AnswerCell::of(std::string(relation.direction == "dependent-to-head" ? "→ head" : "→ dependent")),
         AnswerCell::of(std::to_string(relation.layer) + "." + std::to_string(relation.head)),
         AnswerCell::of(relation.accuracy), AnswerCell::of(relation.support), AnswerCell::of(relation.baseline),
         AnswerCell::whole(relation.baseline_offset),
         relation.support_any > 0 ? AnswerCell::of(relation.accuracy_any) : AnswerCell::of(std::string())});
  }
  return answer;
}

Answer attachment_answer(const TreebankScore& score) {
  const AttachmentScore best = score.attachment();
  Answer answer{"attachment",
                "the best head for any head word",
                {"layer", "head", "accuracy", "accuracy_with_punct", "support"},
                {},
                true};
  answer.rows.push_back({AnswerCell::of(best.layer), AnswerCell::of(best.head), AnswerCell::of(best.accuracy),
                         AnswerCell::of(best.accuracy_with_punct), AnswerCell::of(best.support)});
  return answer;
}

/// What every input is worth with all heads, and how far it moves without one of them.
class VectorSink : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.input.error);
    vectors.push_back(std::move(record.embedding));
    return true;
  }
  void flush() override {}
  std::vector<std::vector<float>> vectors;
};

Answer importance_answer(const Options& options, const RecordSchema& schema, const ModelWork& planned, Log& log) {
  constexpr std::size_t kBlock = 512;  // inputs held at once
  ModelWork work = planned;
  const std::size_t n_layers = work.encoder->config().n_layers;
  const std::size_t n_heads = work.encoder->config().n_heads;
  std::vector<std::size_t> measured;  // layer · n_heads + head
  for (const std::size_t layer : schema.layers) {
    for (const std::size_t head : schema.heads) measured.push_back(layer * n_heads + head);
  }
  std::vector<double> change(measured.size());
  std::vector<std::uint8_t> ablated = work.wanted.ablated;  // throughout: a head that is left out changes nothing
  ablated.resize(n_layers * n_heads);
  work.parts = {.embedding = true};
  work.wanted = {};
  std::size_t inputs = 0;
  PipelineSettings settings;
  settings.batch_tokens = batch_tokens(*work.encoder);
  settings.threads = thread_count(options);
  settings.stop_at_bad = true;
  Pipeline pipeline(settings, model_workers(work));  // its workers look at `work` for each batch
  const auto vectors_of = [&](const std::vector<Record>& block) {
    VectorSink sink;
    BlockSource source(block);
    pipeline.run(source, sink);
    return std::move(sink.vectors);
  };

  InputSource source(options, log);
  for (;;) {
    const std::vector<Record> block = read_block(source, kBlock);
    if (block.empty()) break;
    inputs += block.size();
    work.wanted.ablated = ablated;
    const auto whole = vectors_of(block);
    for (std::size_t i = 0; i < change.size(); ++i) {
      work.wanted.ablated = ablated;
      work.wanted.ablated[measured[i]] = 1;
      const auto without = vectors_of(block);
      for (std::size_t k = 0; k < whole.size(); ++k) change[i] += 1 - vector_difference(whole[k], without[k]).cosine;
      if (log.shows_progress()) {
        log.progress("head " + std::to_string(i + 1) + " of " + std::to_string(change.size()) + ", " +
                     std::to_string(inputs) + " inputs");
      }
    }
  }
  log.progress("");
  Answer answer{"importance",
                "change of the sentence vectors (1 - cosine, mean) when the head is ablated",
                {"layer", "head", "change", "inputs"},
                {},
                false};
  for (std::size_t i = 0; inputs > 0 && i < change.size(); ++i) {
    answer.rows.push_back({AnswerCell::of(measured[i] / n_heads), AnswerCell::of(measured[i] % n_heads),
                           AnswerCell::of(change[i] / static_cast<double>(inputs)), AnswerCell::of(inputs)});
  }
  return answer;
}

void check(const Options& options) {
  const auto& own = options.own<HeadsOptions>();
  if (own.conllu.empty()) return refuse_terminal(options);
  if (!options.input.texts.empty() || !options.input.files.empty()) {
    throw_usage("--conllu: expected no other inputs, got TEXT or --input; the treebank is the input");
  }
  if (own.importance) throw_usage("--conllu and --importance: expected one of them, got both; leave one out");
}

void write(const Options& options, const Plan& plan, const std::vector<Answer>& answers, OutputStream& out) {
  out.write(answers_text(answers, plan.format, plan.schema.columns, options.output.digits));
}

int run(const Options& options, Log& log) {
  const ModelLocation location = choose_model(options);
  const ModelHeader header = read_model_header(location, load_options(options));
  const Plan plan = make_plan(options, {.kind = RecordKind::attention, .parts = Parts{.attentions = true}}, header);
  const auto out = open_output(options);
  const auto model = load_model(header, options, log);
  const auto [schema, work] = with_model(plan, options, *model);

  if (options.own<HeadsOptions>().importance) {
    write(options, plan, {importance_answer(options, schema, work, log)}, *out);
    out->commit();
    return 0;
  }
  if (options.own<HeadsOptions>().conllu.empty()) {
    StatisticsSink sink(options, schema, log);
    InputSource source(options, log);
    run_pipeline(options, work, source, sink);
    write(options, plan, {statistics_answer(sink.means())}, *out);
    out->commit();
    return sink.exit_code();
  }
  TreebankSource source(options.own<HeadsOptions>().conllu);
  TreebankSink sink(options, schema, source, log);
  PipelineSettings settings;
  settings.batch_tokens = batch_tokens(*work.encoder);
  settings.threads = thread_count(options);
  settings.stop_at_bad = options.input.stops_at_bad();
  Pipeline(settings, model_workers(work)).run(source, sink);
  if (sink.truncated() > 0) {
    log.warning(std::to_string(sink.truncated()) +
                " sentences were longer than the maximum length and are not scored; --max-length sets it");
  }
  const bool for_people = plan.format == Format::table;
  std::vector<Answer> answers{for_people ? relations_table(sink.score()) : relations_answer(sink.score()),
                              attachment_answer(sink.score())};
  write(options, plan, answers, *out);
  const std::string facts = std::to_string(sink.score().sentences()) + " sentences, " +
                            std::to_string(sink.score().unscored_words()) + " words own no piece and are not scored\n";
  if (for_people) out->write(facts);
  out->commit();
  return sink.exit_code();
}

}  // namespace

const Command kHeads{
    .name = "heads",
    .summary = "what each head does over a whole corpus",
    .arguments = "TEXT…",
    .about =
        "Prints one row per head, averaged over all tokens of the inputs: entropy in bits; the share of attention on "
        "the token itself, the previous, the next, the first and the special tokens; and the mean distance. With "
        "--conllu, it scores the heads against a dependency treebank. With --importance, it prints how far the "
        "sentence vectors move without each head.",
    .examples = {"mha-cli heads -i lines.txt", "mha-cli heads --conllu en_ewt-ud-dev.conllu --format json",
                 "mha-cli heads --importance -i lines.txt"},
    .declare = declare,
    .options = {&kSelection, &kAblation, &kInput, &kTokens, &kOutput},
    .check = check,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .inputs_optional = true,
    .run = run,
};

}  // namespace mha::cli
