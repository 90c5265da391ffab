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
#include "mha/core/error.hpp"
#include "ops/machine.hpp"
#include "ops/vector.hpp"
#include "output/bench_report.hpp"
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

constexpr BenchShape kGrid[] = {{1, 8}, {1, 32}, {1, 128}, {1, 512}, {8, 32}, {32, 32}, {32, 128}};

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Floating-point operations of the matrix products of one forward pass; an add and a multiply count as two.
double operations(const ModelConfig& config, BenchShape shape) {
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
  Forward(const Model& model, BenchShape shape, const Wanted& wanted, ThreadPool& pool)
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

BenchPoint measure(const Model& model, BenchShape shape, const Wanted& wanted, std::size_t runs, ThreadPool& pool) {
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
    if (record.bad()) throw_input(record.input.error);
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
    record.input.index = given_++;
    const RatedPair& pair = pairs_[record.input.index / 2];
    record.input.text = record.input.index % 2 == 0 ? pair.first : pair.second;
    record.input.set_place("text " + std::to_string(record.input.index));
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
    if (record.bad()) throw_input(record.input.error);
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

VectorQuality measure_quality(const Options& options, const Plan& plan, const Model& model) {
  const std::vector<RatedPair> pairs = read_rated_pairs(options.own<BenchOptions>().quality);
  if (pairs.empty()) throw_input(options.own<BenchOptions>().quality + ": expected rated pairs, got none");
  const auto vectors = vectors_of(options, plan, model, pairs);
  std::vector<double> scores;
  std::vector<double> cosines;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    scores.push_back(pairs[i].score);
    cosines.push_back(cosine(vectors[2 * i], vectors[2 * i + 1]));
  }
  VectorQuality quality{pairs.size(), spearman(scores, cosines)};
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

std::vector<BenchShape> shapes(const Options& options, const Model& model) {
  const auto& bench = options.own<BenchOptions>();
  const std::size_t limit = model.config().max_positions;
  if (bench.tokens > 0 && limit > 0 && bench.tokens > limit) {
    throw_usage("--tokens: expected at most " + std::to_string(limit) + ", got " + std::to_string(bench.tokens));
  }
  if (bench.batch > 0 || bench.tokens > 0)
    return {{std::max<std::size_t>(bench.batch, 1), bench.tokens > 0 ? bench.tokens : 32}};
  std::vector<BenchShape> grid;
  for (const BenchShape shape : kGrid) {
    if (limit == 0 || shape.tokens <= limit) grid.push_back(shape);
  }
  return grid;
}

void describe(BenchReport& report, const Options& options, const Model& model) {
  const Machine machine = measure_machine();
  report.cpu = machine.cpu;
  report.cpu_features = machine.features;
  report.fma_peak_gflops = machine.fma_peak_gflops;
  report.read_gb_s = machine.read_gb_s;
  report.model = model.location().name;
  report.backend = model.encoder().backend().name();
  report.backend_description = model.encoder().backend().description();
  report.dtype = name_of(model.encoder().precision());
  report.threads = thread_count(options);
  report.with_attentions = options.own<BenchOptions>().attentions;
  report.warm_runs = kWarmRuns;
}

int run(const Options& options, Log& log) {
  if (!options.input.texts.empty()) throw_usage("bench: expected no TEXT, got one; --input FILE measures a file");
  const ModelLocation location = choose_model(options);
  const ModelHeader header = read_model_header(location, load_options(options));
  const Plan plan = make_plan(options, {.kind = RecordKind::embed}, header);
  const auto out = open_output(options);

  BenchReport report;
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
  for (const BenchShape shape : shapes(options, *model)) {
    report.points.push_back(measure(*model, shape, wanted, options.own<BenchOptions>().runs, pool));
  }
  if (!options.input.files.empty()) report.files = measure_files(options, planned.work, log);
  report.peak_rss_mib = peak_rss_mib();
  if (!options.own<BenchOptions>().quality.empty()) report.quality = measure_quality(options, plan, *model);
  report.tokenizer_mb_s = tokenizer_speed(model->tokenizer());
  describe(report, options, *model);

  out->write(bench_text(report, plan.format, plan.schema.columns));
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
