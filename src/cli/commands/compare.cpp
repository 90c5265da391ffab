#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comparison.hpp"
#include "cli/blocks.hpp"
#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/plan.hpp"
#include "cli/record_run.hpp"
#include "core/numbers.hpp"
#include "mha/core/error.hpp"
#include "output/comparison_report.hpp"

namespace mha::cli {
namespace {

struct CompareOptions {
  std::string against;  ///< another model; empty: two texts in one model
  std::optional<double> tolerance;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<CompareOptions>();
  list.group("Comparison");
  list.named("--against", "MODEL", "compare the model with MODEL on every input (else two TEXTs in one model)",
             ValueKind::model, own.against);
  list.value("--tolerance", "X", "exit 1 if 1 - cosine, a difference or a distance is over X", ValueKind::number,
             [&own](const std::string& text) {
               double value = 0;
               if (!parse_double(text, value) || value < 0) {
                 throw_usage("--tolerance: expected a number from 0, got \"" + text + '"');
               }
               own.tolerance = value;
             });
}

/// Keeps the records of a block: what two sides make of the same inputs is compared in the end.
class Kept : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.input.error);
    records.push_back(std::move(record));
    return true;
  }
  void flush() override {}

  std::vector<Record> records;
};

/// A model and what is asked of it.
struct Side {
  Side(const Options& options, const ModelLocation& location, Log& log)
      : header(read_model_header(location, load_options(options))),
        plan(make_plan(options, {.kind = RecordKind::encode, .parts = kCompared}, header)),
        model(load_model(header, options, log)),
        planned(with_model(plan, options, *model)) {}

  ComparedSide side_of(const Record& record) const {
    const ModelConfig& config = header.config;
    return {record.embedding, record.tokens(), config.d_model,   record.hidden_states,
            config.n_layers,  config.n_heads,  record.attentions};
  }

  static constexpr Parts kCompared{.embedding = true, .hidden_states = true, .attentions = true};

  ModelHeader header;
  Plan plan;
  std::shared_ptr<const Model> model;
  PlannedWork planned;
};

int run(const Options& options, Log& log) {
  const bool two_models = !options.own<CompareOptions>().against.empty();
  if (!two_models && options.input.texts.size() != 2) {
    throw_usage("compare: expected two TEXTs, or --against MODEL, got " + std::to_string(options.input.texts.size()) +
                (options.input.texts.size() == 1 ? " TEXT" : " TEXTs"));
  }
  if (!two_models && options.input.shards > 1) {
    throw_usage("--shard: expected --against MODEL with it, got two TEXTs to compare");
  }
  const ModelLocation location = choose_model(options);
  const ModelLocation other = two_models ? find_model(options.own<CompareOptions>().against, model_search()) : location;
  const auto out = open_output(options);
  const Side left(options, location, log);
  std::optional<Side> right;
  if (two_models) right.emplace(options, other, log);
  const auto run_side = [&](const Side& side, const std::vector<Record>& block) {
    Kept kept;
    BlockSource source(block);
    run_pipeline(options, side.planned.work, source, kept);
    return std::move(kept.records);
  };

  constexpr std::size_t kBlock = 64;  // inputs held at once
  InputSource source(options, log);
  ComparisonReport report(left.plan.format, options.output.digits, left.plan.schema.columns, *out);
  std::string first_over_all;
  for (;;) {
    const std::vector<Record> block = read_block(source, kBlock);
    if (block.empty()) break;
    const std::vector<Record> ours = run_side(left, block);
    const std::vector<Record> theirs = right ? run_side(*right, block) : std::vector<Record>{ours[1]};
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const Comparison comparison = compare(left.side_of(ours[i]), (right ? *right : left).side_of(theirs[i]));
      const std::string over = options.own<CompareOptions>().tolerance
                                   ? first_over(comparison, *options.own<CompareOptions>().tolerance)
                                   : std::string();
      if (!over.empty() && first_over_all.empty()) {
        first_over_all = (two_models ? ours[i].input.place() + ": " : std::string()) + over;
      }
      const std::string title = two_models ? location.name + " and " + other.name + ": " + ours[i].input.text
                                           : ours[0].input.text + " | " + ours[1].input.text;
      report.add(comparison, title, over.empty());
    }
  }
  report.finish();
  out->commit();
  if (first_over_all.empty()) return 0;
  log.error("over the tolerance: " + first_over_all);
  return 1;
}

}  // namespace

const Command kCompare{
    .name = "compare",
    .summary = "differences of two models, or of two texts in one model",
    .arguments = "TEXT TEXT",
    .about =
        "Prints the cosine and the greatest difference of the sentence vectors and of each layer's hidden states, and "
        "the distance of each head's attention. Parts whose shapes differ are left out. With --against, the model is "
        "compared with another model on every input.",
    .examples = {"mha-cli compare \"She is a great leader\" \"He is a great leader\"",
                 "mha-cli compare -m small --against large --tolerance 1e-3 -i lines.txt"},
    .declare = declare,
    .options = {&kAblation, &kPooling, &kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .run = run,
};

}  // namespace mha::cli
