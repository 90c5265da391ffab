#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/plan.hpp"
#include "cli/quality.hpp"
#include "cli/record_run.hpp"
#include "cli/source.hpp"
#include "cli/terminal.hpp"
#include "core/json_text.hpp"
#include "core/numbers.hpp"
#include "mha/core/error.hpp"
#include "ops/machine.hpp"
#include "ops/vector.hpp"
#include "output/text_table.hpp"
#include "pipeline/thread_pool.hpp"

namespace mha::cli {
namespace {

struct BenchOptions {
  std::size_t batch = 0;  ///< 0: the grid
  std::size_t tokens = 0;
  std::size_t runs = 0;  ///< 0: as many as fit a second
  std::string quality;
  bool attentions = false;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<BenchOptions>();
  list.group("Bench");
  list.count("--batch", "B", "inputs of a batch", own.batch, 1).by_default("a grid");
  list.count("--tokens", "T", "tokens of an input", own.tokens, 1).by_default("a grid");
  list.count("--runs", "N", "timed runs of each shape", own.runs, 1).by_default("as many as fit a second, at least 5");
  list.value("--quality", "FILE", "rows of score, tab, text, tab, text: rank correlation, and cosine to float32",
             ValueKind::file, [&own](const std::string& file) { own.quality = file; });
  list.flag("--attentions", "capture all attention maps in each forward pass", own.attentions);
}

using Clock = std::chrono::steady_clock;

constexpr double kSecondsAPoint = 1.0;
constexpr std::size_t kLeastRuns = 5;
constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kWarmRuns = 2;

struct Shape {
  std::size_t batch;
  std::size_t tokens;
};
constexpr Shape kGrid[] = {{1, 8}, {1, 32}, {1, 128}, {1, 512}, {8, 32}, {32, 32}, {32, 128}};

struct Point {
  Shape shape;
  std::size_t runs;
  double min_ms;
  double median_ms;
  double gflops;
};

struct EndToEnd {
  std::size_t inputs = 0;
  std::size_t tokens = 0;
  double seconds = 0;
};

/// How good the vectors are, and how near those of float32.
struct Quality {
  std::size_t pairs = 0;
  double spearman = 0;
  double mean_cosine = 1;
  double least_cosine = 1;
};

struct Report {
  Machine machine;
  double load_ms = 0;
  double tokenizer_mb_s = 0;
  double peak_rss_mib = 0;
  std::vector<Point> points;
  EndToEnd files;
  Quality quality;
};

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Floating-point operations of the matrix products of one forward pass; an add and a multiply count as two.
double operations(const ModelConfig& config, Shape shape) {
  const auto number = [](std::size_t value) { return static_cast<double>(value); };
  const double heads = number(config.d_query());
  const double key_values = 2 * number(config.d_key_value());
  const double matrices = config.feed_forward == ModelConfig::FeedForward::gated ? 3 : 2;
  const double feed_forward = config.feed_forward == ModelConfig::FeedForward::none
                                  ? 0
                                  : matrices * number(config.d_ff) * number(config.d_model);
  const double weights = number(config.d_model) * (2 * heads + key_values) + feed_forward;
  const double attention = 2 * heads * number(shape.tokens);
  return 2 * number(config.n_layers) * number(shape.batch * shape.tokens) * (weights + attention);
}

/// Full-length random ids, cut into micro-batches as the pipeline cuts them.
class Forward {
 public:
  Forward(const Model& model, Shape shape, const Wanted& wanted, ThreadPool& pool)
      : encoder_(model.encoder()), pool_(pool), wanted_(wanted) {
    std::mt19937 random(1);
    const std::size_t vocabulary = encoder_.config().vocab_size;
    for (std::size_t i = 0; i < shape.batch * shape.tokens; ++i)
      ids_.push_back(static_cast<std::int32_t>(random() % vocabulary));
    const std::size_t threads = pool.threads();
    const std::size_t most = std::max(batch_tokens(encoder_) / shape.tokens, std::size_t{1});
    const std::size_t together = std::min(most, (shape.batch + threads - 1) / threads);
    for (std::size_t begin = 0; begin < shape.batch; begin += together) {
      const std::size_t inputs = std::min(together, shape.batch - begin);
      Piece piece{begin * shape.tokens, {}};
      for (std::size_t i = 0; i <= inputs; ++i) piece.row_begin.push_back(i * shape.tokens);
      pieces_.push_back(std::move(piece));
    }
    alone_ = pieces_.size() * 2 <= threads;
    Executor* const executor = alone_ && threads > 1 ? &pool : nullptr;
    for (std::size_t i = 0; i < pieces_.size(); ++i) workspaces_.emplace_back(executor);
    captured_.resize(pieces_.size());
  }

  void run() {
    if (alone_) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) forward(i);
    } else {
      pool_.run(pieces_.size(), [this](std::size_t i) { forward(i); });
    }
  }

 private:
  struct Piece {
    std::size_t begin;
    std::vector<std::size_t> row_begin;
  };

  void forward(std::size_t i) {
    const Piece& piece = pieces_[i];
    const std::span<const std::int32_t> ids(ids_.data() + piece.begin, piece.row_begin.back());
    encoder_.forward({ids, {}, piece.row_begin}, workspaces_[i], wanted_, &captured_[i]);
  }

  const Encoder& encoder_;
  ThreadPool& pool_;
  std::vector<std::int32_t> ids_;
  std::vector<Piece> pieces_;
  std::vector<Workspace> workspaces_;
  const Wanted& wanted_;
  std::vector<Captured> captured_;
  bool alone_ = false;
};

Point measure(const Model& model, Shape shape, const Wanted& wanted, std::size_t runs, ThreadPool& pool) {
  Forward forward(model, shape, wanted, pool);
  for (std::size_t i = 0; i < kWarmRuns; ++i) forward.run();
  std::vector<double> times;
  const auto begin = Clock::now();
  const auto enough = [&] {
    if (runs > 0) return times.size() >= runs;
    return times.size() >= kMostRuns ||
           (times.size() >= kLeastRuns && milliseconds_since(begin) > kSecondsAPoint * 1000);
  };
  while (!enough()) {
    const auto start = Clock::now();
    forward.run();
    times.push_back(milliseconds_since(start));
  }
  std::sort(times.begin(), times.end());
  const double operations_a_run = operations(model.config(), shape);
  return {shape, times.size(), times.front(), times[times.size() / 2], operations_a_run / times.front() * 1e-6};
}

double tokenizer_speed(const Tokenizer& tokenizer) {
  constexpr std::string_view kText =
      "I led a team that built a scalable API. The keeper fed the lion because it was hungry, and 42 visitors watched "
      "from "
      "behind the glass; nobody understood why the weather in November stayed so warm.";
  constexpr double kSeconds = 0.2;
  TokenizerScratch scratch;
  Encoding encoding;
  std::size_t bytes = 0;
  const auto begin = Clock::now();
  while (milliseconds_since(begin) < kSeconds * 1000) {
    tokenizer.encode(kText, std::nullopt, {}, scratch, encoding);
    bytes += kText.size();
  }
  return static_cast<double>(bytes) / milliseconds_since(begin) * 1e-3;
}

/// Counts what comes out of the pipeline.
class CountingSink : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.error);
    ++counted.inputs;
    counted.tokens += record.tokens();
    return true;
  }
  void flush() override {}

  EndToEnd counted;
};

EndToEnd measure_files(const Options& options, const ModelWork& work, Log& log) {
  InputSource source(options, log);
  CountingSink sink;
  const auto begin = Clock::now();
  run_pipeline(options, work, source, sink);
  sink.counted.seconds = milliseconds_since(begin) * 1e-3;
  return sink.counted;
}

/// The texts of rated pairs, one after the other.
class PairSource : public RecordSource {
 public:
  explicit PairSource(const std::vector<RatedPair>& pairs) : pairs_(pairs) {}
  bool next(Record& record) override {
    if (given_ == 2 * pairs_.size()) return false;
    record.index = given_++;
    const RatedPair& pair = pairs_[record.index / 2];
    record.text = record.index % 2 == 0 ? pair.first : pair.second;
    record.place = "text " + std::to_string(record.index);
    return true;
  }
  bool ready() override { return true; }

 private:
  const std::vector<RatedPair>& pairs_;
  std::size_t given_ = 0;
};

class VectorSink : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.error);
    vectors.push_back(record.embedding);
    return true;
  }
  void flush() override {}

  std::vector<std::vector<float>> vectors;
};

std::vector<std::vector<float>> vectors_of(const Options& options, const Plan& plan, const Model& model,
                                           const std::vector<RatedPair>& pairs) {
  const PlannedWork planned = with_model(plan, options, model);
  PairSource source(pairs);
  VectorSink sink;
  run_pipeline(options, planned.work, source, sink);
  return std::move(sink.vectors);
}

Quality measure_quality(const Options& options, const Plan& plan, const Model& model) {
  const std::vector<RatedPair> pairs = read_rated_pairs(options.own<BenchOptions>().quality);
  if (pairs.empty()) throw_input(options.own<BenchOptions>().quality + ": expected rated pairs, got none");
  const auto vectors = vectors_of(options, plan, model, pairs);
  std::vector<double> scores;
  std::vector<double> cosines;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    scores.push_back(pairs[i].score);
    cosines.push_back(cosine(vectors[2 * i], vectors[2 * i + 1]));
  }
  Quality quality{pairs.size(), spearman(scores, cosines)};
  if (model.encoder().precision() == Precision::f32) return quality;
  LoadOptions load = load_options(options);
  load.dtype = "f32";
  const auto exact = vectors_of(options, plan, *Model::load(model.location(), load), pairs);
  quality.mean_cosine = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const double to_exact = cosine(vectors[i], exact[i]);
    quality.mean_cosine += to_exact / static_cast<double>(vectors.size());
    quality.least_cosine = std::min(quality.least_cosine, to_exact);
  }
  return quality;
}

std::string rounded(double value, int digits) {
  std::string text;
  append_float(text, static_cast<float>(value), digits);
  return text;
}

std::vector<Shape> shapes(const Options& options, const Model& model) {
  const auto& bench = options.own<BenchOptions>();
  const std::size_t limit = model.config().max_positions;
  if (bench.tokens > 0 && limit > 0 && bench.tokens > limit) {
    throw_usage("--tokens: expected at most " + std::to_string(limit) + ", got " + std::to_string(bench.tokens));
  }
  if (bench.batch > 0 || bench.tokens > 0)
    return {{std::max<std::size_t>(bench.batch, 1), bench.tokens > 0 ? bench.tokens : 32}};
  std::vector<Shape> grid;
  for (const Shape shape : kGrid) {
    if (limit == 0 || shape.tokens <= limit) grid.push_back(shape);
  }
  return grid;
}

std::string json_of(const Options& options, const Model& model, const Report& report) {
  const auto& [machine, load_ms, tokenizer_mb_s, rss_mib, points, files, quality] = report;
  const double peak_gflops = machine.fma_peak_gflops * static_cast<double>(thread_count(options));
  std::string common = ",\"threads\":" + std::to_string(thread_count(options));
  common += ",\"backend\":";
  append_json_string(common, model.encoder().backend().name());
  common += ",\"dtype\":";
  append_json_string(common, name_of(model.encoder().precision()));
  std::string text = "[";
  for (const Point& point : points) {
    if (text.size() > 1) text += ",\n";
    text += "{\"batch\":" + std::to_string(point.shape.batch) + ",\"tokens\":" + std::to_string(point.shape.tokens) +
            common;
    text += ",\"runs\":" + std::to_string(point.runs) + ",\"min_ms\":" + rounded(point.min_ms, 4);
    text += ",\"median_ms\":" + rounded(point.median_ms, 4) + ",\"gflops\":" + rounded(point.gflops, 2);
    text += ",\"peak_share\":" + rounded(point.gflops / peak_gflops, 4) + '}';
  }
  if (text.size() > 1) text += ",\n";
  if (files.inputs > 0) {
    text +=
        "{\"inputs\":" + std::to_string(files.inputs) + ",\"input_tokens\":" + std::to_string(files.tokens) + common;
    text += ",\"seconds\":" + rounded(files.seconds, 4);
    text += ",\"inputs_s\":" + rounded(static_cast<double>(files.inputs) / files.seconds, 1);
    text += ",\"tokens_s\":" + rounded(static_cast<double>(files.tokens) / files.seconds, 1) + "},\n";
  }
  if (quality.pairs > 0) {
    text += "{\"pairs\":" + std::to_string(quality.pairs) + common;
    text += ",\"spearman\":" + rounded(quality.spearman * 100, 3);
    text += ",\"mean_cosine\":" + rounded(quality.mean_cosine, 7);
    text += ",\"least_cosine\":" + rounded(quality.least_cosine, 7) + "},\n";
  }
  text += "{\"load_ms\":" + rounded(load_ms, 2) + ",\"tokenizer_mb_s\":" + rounded(tokenizer_mb_s, 2);
  text += ",\"peak_rss_mib\":" + rounded(rss_mib, 1) + ",\"cpu\":";
  append_json_string(text, machine.cpu);
  text +=
      ",\"fma_peak_gflops\":" + rounded(machine.fma_peak_gflops, 1) + ",\"read_gb_s\":" + rounded(machine.read_gb_s, 1);
  return text + "}]\n";
}

std::string table_of(const Options& options, const Model& model, const Report& report) {
  const auto& [machine, load_ms, tokenizer_mb_s, rss_mib, points, files, quality] = report;
  const double peak_gflops = machine.fma_peak_gflops * static_cast<double>(thread_count(options));
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  std::string text;
  TextTable facts({{""}, {""}});
  facts.add({"model", model.location().name});
  facts.add({"cpu", machine.cpu + " (" + machine.features + ")"});
  facts.add({"threads", std::to_string(thread_count(options))});
  facts.add({"backend", model.encoder().backend().description()});
  facts.add({"dtype", std::string(name_of(model.encoder().precision()))});
  facts.add({"float32 peak", rounded(machine.fma_peak_gflops, 0) + " GFLOP/s (multiply-adds in registers)"});
  facts.add({"memory read", rounded(machine.read_gb_s, 1) + " GB/s"});
  facts.add({"model load", rounded(load_ms, 1) + " ms"});
  facts.add({"tokenizer", rounded(tokenizer_mb_s, 1) + " MB/s, one thread"});
  facts.add({"peak memory", rounded(rss_mib, 0) + " MiB"});
  facts.append_to(text, columns);
  text += options.own<BenchOptions>().attentions ? "\nForward pass with all attention maps" : "\nForward pass";
  text += ", random ids of full length, " + std::to_string(kWarmRuns) + " warm-up runs\n";
  TextTable table({{"batch", Align::right},
                   {"tokens", Align::right},
                   {"runs", Align::right},
                   {"min ms", Align::right},
                   {"median ms", Align::right},
                   {"tokens/s", Align::right},
                   {"GFLOP/s", Align::right},
                   {"of peak", Align::right}});
  for (const Point& point : points) {
    const double tokens = static_cast<double>(point.shape.batch * point.shape.tokens);
    table.add({std::to_string(point.shape.batch), std::to_string(point.shape.tokens), std::to_string(point.runs),
               rounded(point.min_ms, 3), rounded(point.median_ms, 3), rounded(tokens / point.min_ms * 1e3, 0),
               rounded(point.gflops, 1), rounded(point.gflops / peak_gflops * 100, 1) + " %"});
  }
  table.append_to(text, columns);
  if (files.inputs > 0) {
    text += "\nFiles end to end: " + std::to_string(files.inputs) + " inputs, " + std::to_string(files.tokens) +
            " tokens in " + rounded(files.seconds, 2) +
            " s: " + rounded(static_cast<double>(files.inputs) / files.seconds, 0) + " inputs/s, " +
            rounded(static_cast<double>(files.tokens) / files.seconds, 0) + " tokens/s\n";
  }
  if (quality.pairs > 0) {
    text += "\nQuality over " + std::to_string(quality.pairs) + " rated pairs: Spearman " +
            rounded(quality.spearman * 100, 2) + ", cosine to float32 " + rounded(quality.mean_cosine, 7) +
            " on average, " + rounded(quality.least_cosine, 7) + " at least\n";
  }
  return text;
}

int run(const Options& options, Log& log) {
  if (!options.input.texts.empty()) throw_usage("bench: expected no TEXT, got one; --input FILE measures a file");
  const ModelLocation location = choose_model(options);
  const ModelHeader header = read_model_header(location, load_options(options));
  const Plan plan = make_plan(options, {.kind = RecordKind::embed}, header);
  const auto out = open_output(options);

  Report report;
  const auto begin = Clock::now();
  const auto model = load_model(header, options, log);
  report.load_ms = milliseconds_since(begin);
  const PlannedWork planned = with_model(plan, options, *model);

  ThreadPool pool(thread_count(options));
  Wanted wanted;
  if (options.own<BenchOptions>().attentions) {
    wanted.attention_layers.resize(model->config().n_layers);
    std::iota(wanted.attention_layers.begin(), wanted.attention_layers.end(), std::size_t{0});
  }
  for (const Shape shape : shapes(options, *model)) {
    report.points.push_back(measure(*model, shape, wanted, options.own<BenchOptions>().runs, pool));
  }
  if (!options.input.files.empty()) report.files = measure_files(options, planned.work, log);
  report.peak_rss_mib = peak_rss_mib();
  if (!options.own<BenchOptions>().quality.empty()) report.quality = measure_quality(options, plan, *model);
  report.tokenizer_mb_s = tokenizer_speed(model->tokenizer());
  report.machine = measure_machine();

  out->write(plan.format == Format::json ? json_of(options, *model, report) : table_of(options, *model, report));
  out->commit();
  return 0;
}

}  // namespace

const Command kBench{
    .name = "bench",
    .summary = "speed, memory and share of this machine's peak",
    .about =
        "Measures warm forward passes over random ids of full length, for one shape or a grid of shapes. With --input "
        "it also measures a file end to end (tokenise, encode, pool). The machine's peak is measured in the same run.",
    .examples = {"mha-cli bench", "mha-cli bench --batch 32 --tokens 128 --runs 20 --format json",
                 "mha-cli bench -i lines.txt"},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json},
    .inputs_optional = true,
    .run = run,
};

}  // namespace mha::cli
