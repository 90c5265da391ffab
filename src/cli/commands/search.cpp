#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/passage_run.hpp"
#include "cli/record_run.hpp"
#include "cli/task_run.hpp"
#include "cli/terminal.hpp"
#include "core/numbers.hpp"
#include "core/utf8.hpp"
#include "io/text_reader.hpp"
#include "mha/core/error.hpp"
#include "output/search_results.hpp"
#include "pipeline/thread_pool.hpp"
#include "search/ranking.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kHybridDepth = 100;  // the least that each of two rankings brings
constexpr std::size_t kRerankDepth = 50;   // the least that a cross-encoder reads
constexpr double kNearDuplicate = 0.95;    // cosine
constexpr std::size_t kRecallQueries = 100;

struct SearchOptions {
  std::string queries;  ///< a file with one query per line
  std::size_t top_k = 10;
  std::optional<double> threshold;
  bool paths_only = false;
  std::size_t context = 0;
  bool json = false;
  bool null = false;
  std::optional<VectorForm> form;
  std::size_t rescore = 4;
  bool recall = false;
  bool hybrid = false;
  std::string rerank;
  std::vector<std::pair<std::string, std::string>> filters;
  bool unique = false;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<SearchOptions>();
  list.group("Search");
  list.named("-i,--queries", "FILE", "one query per line; - for standard input", ValueKind::file, own.queries);
  list.count("-k,--top-k", "N", "the N best passages of each query", own.top_k, 1);
  list.value("--threshold", "SCORE", "only passages that score at least SCORE", ValueKind::number,
             [&own](const std::string& text) {
               double value = 0;
               if (!parse_double(text, value)) throw_usage("--threshold: expected a number, got \"" + text + '"');
               own.threshold = value;
             });
  list.flag("-l,--files-with-matches", "only the paths, each once", own.paths_only);
  list.count("-C,--context", "N", "also N lines before and after each passage", own.context, 0);
  list.flag("--json", "the same as --format jsonl", own.json);
  list.flag("-0,--null", "a NUL byte behind each path, for xargs -0", own.null);
  list.value("--precision", "FORM", "form of the vectors that are scanned: f32, int8 or binary", ValueKind::choice,
             [&own](const std::string& word) {
               own.form = choose<VectorForm>(
                   "--precision", word,
                   {{"f32", VectorForm::f32}, {"int8", VectorForm::int8}, {"binary", VectorForm::binary}});
             })
      .by_default("the most exact one of the index")
      .choices = {"f32", "int8", "binary"};
  list.count("--rescore", "N",
             "candidates per result that are scored again with the most exact form, after a scan of int8 or binary",
             own.rescore, 0);
  list.flag("--recall",
            "measure which share of the exact results --precision finds, with vectors of the index as "
            "queries",
            own.recall);
  list.flag("--hybrid", "join the ranking by vectors with one by words (BM25), by reciprocal rank", own.hybrid);
  list.named("--rerank", "MODEL", "a cross-encoder that scores the best passages again", ValueKind::model, own.rerank);
  list.text("--filter", "KEY=VALUE", "only passages whose record has that member, or path=PATH",
            [&own](const std::string& text) {
              const std::size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos) {
                throw_usage("--filter: expected KEY=VALUE, got \"" + utf8::printable(text) + '"');
              }
              own.filters.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            })
      .repeats();
  list.flag("--unique", "leave out passages that are nearly the same as a better one (cosine 0.95)", own.unique);
}

void check(const Options& options) {
  const auto& own = options.own<SearchOptions>();
  if (own.hybrid && own.threshold && own.rerank.empty()) {
    throw_usage("--hybrid and --threshold: expected one of them, got both; joined ranks have no scale");
  }
  if (own.json && options.output.format && options.output.format != Format::jsonl) {
    throw_usage("--json and --format: expected one of them, got both; leave one out");
  }
}

/// What is looked for, and in what.
struct Request {
  std::optional<std::filesystem::path> index;
  std::vector<std::string> queries;
  std::vector<std::string> paths;
  bool several = false;
};

std::vector<std::string> read_queries(const std::string& file) {
  TextReader reader = TextReader::from_files({file}, {});
  std::vector<std::string> queries;
  Input record;
  while (reader.next(record)) {
    if (record.bad()) throw_input(record.error);
    queries.push_back(record.text);
  }
  return queries;
}

Request request_of(const Options& options) {
  const auto& own = options.own<SearchOptions>();
  std::vector<std::string> texts = options.input.texts;
  Request request;
  std::error_code error;
  if (!texts.empty() && std::filesystem::is_regular_file(texts[0], error) && Index::is_index(texts[0])) {
    request.index = texts[0];
    texts.erase(texts.begin());
  }
  if (!own.queries.empty()) {
    request.queries = read_queries(own.queries);
    request.several = true;
  } else if (request.index && texts.empty() && !own.recall) {
    refuse_terminal(options);
    request.queries = read_queries("-");
    request.several = true;
  } else if (!texts.empty()) {
    request.queries.push_back(std::move(texts[0]));
    texts.erase(texts.begin());
  } else if (!own.recall) {
    throw_usage("search: expected QUERY, got none; see 'mha-cli search --help'");
  }
  if (own.recall && !request.index) throw_usage("--recall: expected an index, got none");
  if (request.index && !texts.empty()) {
    throw_usage("search: expected an index and one query, got also \"" + utf8::printable(texts[0]) +
                "\"; --queries takes several");
  }
  request.paths = texts.empty() ? std::vector<std::string>{"."} : std::move(texts);
  for (const std::string& query : request.queries) {
    if (query.find_first_not_of(" \t\r\n") == std::string::npos)
      throw_usage("search: expected a query, got a blank one");
  }
  return request;
}

/// Connections to an index that see one state: the first for everything, all of them for the scan.
class Readers {
 public:
  Readers(const std::filesystem::path& path, std::size_t count) {
    while (true) {
      for (std::size_t i = 0; i < count; ++i) {
        indexes_.push_back(Index::open(path, false));
        indexes_.back().begin_read();
      }
      bool same = true;
      for (Index& index : indexes_) same = same && index.generation() == indexes_[0].generation();
      if (same) break;
      indexes_.clear();  // a writer committed in between
    }
    for (Index& index : indexes_) pointers_.push_back(&index);
  }
  explicit Readers(Index&& memory) {
    indexes_.push_back(std::move(memory));
    indexes_[0].begin_read();
  }
  Index& first() { return indexes_[0]; }
  std::span<Index* const> all() const { return pointers_; }

 private:
  std::vector<Index> indexes_;
  std::vector<Index*> pointers_;
};

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(utf8::replace_invalid(line));
  }
  return lines;
}

/// Scores query and passage together; keeps the order by score.
class PairScores : public RecordSource, public RecordSink {
 public:
  PairScores(Index& index, std::vector<Hit>& hits) : index_(index), hits_(hits) {}
  bool next(Record& record) override {
    if (next_ == hits_.size()) return false;
    record.input.index = next_;
    record.input.text = index_.passage(hits_[next_].slot).passage.text;
    record.input.set_place("passage " + std::to_string(++next_));
    return true;
  }
  bool ready() override { return true; }
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.input.error);
    hits_[record.input.index].score = std::get<Score>(record.result).value;
    return true;
  }
  void flush() override {}

 private:
  Index& index_;
  std::vector<Hit>& hits_;
  std::size_t next_ = 0;
};

/// A cross-encoder for --rerank.
class Reranker {
 public:
  Reranker(const Options& options, Log& log) : options_(options) {
    options_.global.model = options.own<SearchOptions>().rerank;
    header_ = read_model_header(choose_model(options_), load_options(options_));
    model_ = load_model(header_, options_, log);
    head_ = model_->load_head(Task::classify);
    if (head_->outputs() != 1) {
      throw_usage("--rerank: expected a model with one label, got " + model_->location().name + " with " +
                  std::to_string(head_->outputs()));
    }
    options_.tokens.prompt = {};
    const Plan plan = make_plan(options_, {.kind = RecordKind::task}, header_);
    work_ = with_model(plan, options_, *model_).work;
  }
  void score(const std::string& query, Index& index, std::vector<Hit>& hits) const {
    const bool raw = read_head_labels(header_, 1).cross_encoder_raw;
    const auto reader = rerank_reader(work_, query, raw ? LabelScores::none : LabelScores::sigmoid);
    const TaskWork task{&work_, head_.get(), reader.get(), batch_tokens(model_->encoder())};
    PairScores scores(index, hits);
    run_task_pipeline(options_, task, scores, scores);
    std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
  }

 private:
  Options options_;
  ModelHeader header_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Head> head_;
  ModelWork work_;
};

class Search {
 public:
  Search(const Options& options, Log& log)
      : options_(options), own_(options.own<SearchOptions>()), log_(log), request_(request_of(options)) {}

  int run() {
    open();
    if (own_.recall) return print_recall();
    const auto out = open_output(options_);
    SearchWriter writer(layout(), *out);
    writer.begin();
    if (!own_.rerank.empty()) reranker_ = std::make_unique<Reranker>(options_, log_);
    const auto vectors = run_->vectors(request_.queries, run_->query_prompt());
    ThreadPool pool(std::max<std::size_t>(1, readers_->all().size()));
    const auto ranked = rank_vectors(readers_->first(), readers_->all(), &pool, vectors, ranking());
    bool any = false;
    for (std::size_t q = 0; q < request_.queries.size(); ++q) {
      const std::vector<SearchHit> hits = finish(request_.queries[q], ranked[q]);
      any = any || !hits.empty();
      writer.write(request_.queries[q], hits);
    }
    writer.end();
    out->commit();
    return any ? 0 : 1;
  }

 private:
  void open() {
    if (request_.index) {
      readers_ = std::make_unique<Readers>(*request_.index, thread_count(options_));
      const IndexHeader& header = readers_->first().header();
      run_ = std::make_unique<PassageRun>(options_, header.width, log_);
      run_->check(readers_->first());
    } else {
      run_ = std::make_unique<PassageRun>(options_, 0, log_);
      IndexHeader header = run_->header({VectorForm::f32});
      header.words = own_.hybrid;
      Index memory(std::move(header));
      run_->update(memory, request_.paths, false);
      readers_ = std::make_unique<Readers>(std::move(memory));
    }
    form_ = own_.form.value_or(readers_->first().header().forms[0]);
    if (!readers_->first().has_form(form_)) {
      throw_usage("--precision " + std::string(name_of(form_)) + ": the index does not keep it; index --store does");
    }
  }

  RankingOptions ranking() {
    RankingOptions ranking;
    ranking.form = form_;
    ranking.rescore = own_.rescore;
    ranking.k = own_.top_k;
    if (own_.hybrid) ranking.k = std::max(kHybridDepth, 10 * own_.top_k);
    if (reranker_) ranking.k = std::max({ranking.k, kRerankDepth, 4 * own_.top_k});
    if (own_.unique) ranking.k *= 4;
    if (!reranker_ && !own_.hybrid) ranking.threshold = own_.threshold;
    if (!own_.filters.empty()) {
      std::optional<std::vector<std::size_t>> allowed;
      for (const auto& [key, value] : own_.filters) {
        const std::vector<std::size_t> slots = readers_->first().slots_where(key, value);
        std::vector<std::size_t> both;
        if (allowed) {
          std::set_intersection(allowed->begin(), allowed->end(), slots.begin(), slots.end(), std::back_inserter(both));
        } else {
          both = slots;
        }
        allowed = std::move(both);
      }
      allowed_ = std::make_shared<const std::vector<std::size_t>>(std::move(*allowed));
      ranking.allowed = allowed_;
    }
    return ranking;
  }

  std::vector<SearchHit> finish(const std::string& query, std::vector<Hit> hits) {
    Index& index = readers_->first();
    if (own_.hybrid) {
      auto words = index.find_words(query, std::max(kHybridDepth, 10 * own_.top_k));
      if (allowed_) {
        std::erase_if(words, [&](const auto& found) {
          return !std::binary_search(allowed_->begin(), allowed_->end(), found.first);
        });
      }
      const std::size_t depth = hits.size() + words.size();
      hits = fuse_ranks(hits, words, depth);
    }
    if (reranker_) {
      if (hits.size() > std::max(kRerankDepth, 4 * own_.top_k)) hits.resize(std::max(kRerankDepth, 4 * own_.top_k));
      reranker_->score(query, index, hits);
      if (own_.threshold) std::erase_if(hits, [&](const Hit& hit) { return hit.score < *own_.threshold; });
    }
    if (own_.unique) drop_near_duplicates(index, hits, kNearDuplicate);
    if (hits.size() > own_.top_k) hits.resize(own_.top_k);
    std::vector<SearchHit> shown;
    for (const Hit& hit : hits) shown.push_back(to_show(index, hit));
    return shown;
  }

  SearchHit to_show(Index& index, const Hit& hit) const {
    StoredPassage stored = index.passage(hit.slot);
    SearchHit shown;
    shown.path = std::move(stored.path);
    shown.line = stored.passage.line;
    shown.last_line = stored.passage.last_line;
    shown.text = std::move(stored.passage.text);
    shown.id = std::move(stored.passage.id);
    shown.extra = std::move(stored.passage.extra);
    shown.score = hit.score;
    shown.vector_rank = hit.vector_rank;
    shown.word_rank = hit.word_rank;
    if (own_.context > 0) {
      const std::vector<std::string> lines = lines_of(shown.path);
      const std::size_t first = shown.line - std::min(shown.line - 1, own_.context);
      for (std::size_t n = first; n < shown.line && n <= lines.size(); ++n) shown.before.push_back(lines[n - 1]);
      for (std::size_t n = shown.last_line + 1; n <= shown.last_line + own_.context && n <= lines.size(); ++n) {
        shown.after.push_back(lines[n - 1]);
      }
    }
    return shown;
  }

  SearchLayout layout() const {
    SearchLayout layout;
    layout.format = own_.json ? Format::jsonl : options_.format();
    layout.digits = options_.output.digits;
    layout.paths_only = own_.paths_only;
    layout.null_after_path = own_.null;
    layout.several_queries = request_.several;
    if (options_.output.to_stdout() && ::isatty(STDOUT_FILENO) != 0) {
      layout.columns = terminal_columns(STDOUT_FILENO);
    }
    if (options_.output.to_stdout() || options_.global.color == When::always) {
      layout.color = color_depth(options_.global.color, STDOUT_FILENO);
    }
    return layout;
  }

  int print_recall() {
    RankingOptions options = ranking();
    options.threshold.reset();
    const double recall = measure_recall(readers_->first(), options, kRecallQueries);
    const auto out = open_output(options_);
    std::string text;
    if (own_.json || options_.format() == Format::json || options_.format() == Format::jsonl) {
      text = "{\"precision\":\"" + std::string(name_of(form_)) + "\",\"rescore\":" + std::to_string(own_.rescore) +
             ",\"k\":" + std::to_string(own_.top_k) + ",\"recall\":";
      append_float(text, static_cast<float>(recall));
      text += "}\n";
    } else {
      text = "recall@" + std::to_string(own_.top_k) + " of " + std::string(name_of(form_)) + ", rescore " +
             std::to_string(own_.rescore) + ": ";
      append_float(text, static_cast<float>(recall), 4);
      text += '\n';
    }
    out->write(text);
    out->commit();
    return 0;
  }

  const Options& options_;
  const SearchOptions& own_;
  Log& log_;
  Request request_;
  std::unique_ptr<PassageRun> run_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<Reranker> reranker_;
  std::shared_ptr<const std::vector<std::size_t>> allowed_;
  VectorForm form_ = VectorForm::f32;
};

int search(const Options& options, Log& log) { return Search(options, log).run(); }

}  // namespace

const Command kSearch{
    .name = "search",
    .summary = "passages of files that are nearest in meaning to a query",
    .arguments = "QUERY [PATH…] | INDEX [QUERY]",
    .about =
        "Prints the passages whose vectors are nearest to that of the query, best first, each with its path, line and "
        "score. PATH are files and folders, this folder if there is none; an index (see index) is searched without "
        "reading files again. Folders are walked as ripgrep does: without what .gitignore names, hidden and binary "
        "files. Exit code 1 if no passage was found.",
    .examples = {"mha-cli search \"who leads\" notes/ README.md", "mha-cli search notes.db \"who leads\" -k 3",
                 "mha-cli search notes.db --hybrid --json \"who leads\"", "mha-cli search notes.db < queries.txt"},
    .declare = declare,
    .options = {&kFiles, &kTokens, &kOutput},
    .check = check,
    .formats = {Format::table, Format::jsonl, Format::json, Format::csv, Format::tsv},
    .inputs_optional = true,
    .run = search,
};

}  // namespace mha::cli
