#include <string>
#include <utility>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/models.hpp"
#include "cli/plan.hpp"
#include "cli/record_run.hpp"
#include "cli/terminal.hpp"
#include "mha/core/error.hpp"
#include "output/explanation.hpp"
#include "pipeline/explain_layer.hpp"
#include "pipeline/thread_pool.hpp"

namespace mha::cli {
namespace {

struct ExplainOptions {
  std::string token;  ///< empty: the most telling one
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<ExplainOptions>();
  list.group("Explanation");
  list.text("--token", "TOKEN", "the token that is followed, by its text, or #3 by position",
            [&own](const std::string& text) { own.token = text; })
      .by_default("the most telling one");
  list.group("Heads");
  list.value("--layer", "N", "the layer", ValueKind::layers,
             [&options](const std::string& text) { options.heads.layers = parse_ranges(text, "--layer"); })
      .by_default("0");
}

// The one input, tokenised.
Record read_input(const Options& options, const ModelWork& work, Log& log) {
  InputSource source(options, log);
  Record record;
  if (!source.next(record)) throw_input("explain: expected one input, got none");
  if (record.bad()) throw_input(record.input.error);
  Record second;
  if (source.next(second)) throw_usage("explain: expected one input, got more; give one TEXT");
  model_workers(work)(nullptr)->prepare(record);
  if (record.tokens() == 0) throw_input(record.input.place() + ": no tokens to explain");
  return record;
}

int run(const Options& options, Log& log) {
  const ModelLocation location = choose_model(options);
  const ModelHeader header = read_model_header(location, load_options(options));
  const Plan plan = make_plan(options, {.kind = RecordKind::attention}, header);
  std::size_t layer = 0;
  if (!options.heads.layers.empty()) {
    if (plan.schema.layers.size() != 1) throw_usage("--layer: expected one layer to explain, got several");
    layer = plan.schema.layers[0];
  }
  const auto out = open_output(options);
  const auto model = load_model(header, options, log);
  const PlannedWork planned = with_model(plan, options, *model);
  const Record record = read_input(options, planned.work, log);
  ThreadPool threads(thread_count(options));
  const Explanation explanation = explain_layer(*model, planned.work, planned.schema, layer, record, &threads);

  ExplanationOptions how;
  how.columns = plan.schema.columns;
  how.color = plan.schema.color;
  how.digits = options.output.digits.value_or(-1);
  if (!options.own<ExplainOptions>().token.empty()) {
    AttentionMaps named;
    named.labels = explanation.labels;
    how.token = find_label(named, options.own<ExplainOptions>().token);
  }
  switch (plan.format) {
    case Format::json:
      out->write(explanation_json(explanation, how));
      break;
    case Format::html:
      out->write(explanation_html(explanation, how));
      break;
    default:
      out->write(explanation_table(explanation, how));
  }
  out->commit();
  return 0;
}

}  // namespace

const Command kExplain{
    .name = "explain",
    .summary = "multi-head attention step by step, with the real numbers",
    .arguments = "TEXT",
    .about =
        "Shows the computation of one layer in five steps: embedding plus position; Q, K and V of each head; scores "
        "and softmax; Z; concat and Wo. Then comes the rest of the layer. JSON has every matrix of every step.",
    .examples = {"mha-cli explain \"She is a great leader\"",
                 "mha-cli explain --layer 2 --head 0 --token leader \"She is a great leader\"",
                 "mha-cli explain --format html -o lesson.html \"She is a great leader\""},
    .declare = declare,
    .options = {&kSelection, &kAblation, &kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json, Format::html},
    .run = run,
};

}  // namespace mha::cli
