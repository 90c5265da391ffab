#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/plan.hpp"
#include "cli/record_run.hpp"
#include "mha/analysis/comparison.hpp"
#include "mha/core/error.hpp"
#include "output/answers.hpp"

namespace mha::cli {
namespace {

/// Keeps every record: what two sides make of the same inputs is compared in the end.
class Kept : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.error);
    records.push_back(std::move(record));
    return true;
  }
  void flush() override {}

  std::vector<Record> records;
};

/// A model and what is asked of it.
struct Side {
  Side(const Options& options, const ModelLocation& location, Log& log)
      : header(read_model_header(location, load_options(options))), plan(plan_encoding(options, RecordKind::encode, header)) {
    plan.work.parts = {.embedding = true, .hidden_states = true, .attentions = true};
    plan.work.wanted.hidden_states = true;
    plan.work.wanted.attention_layers = plan.schema.layers;
    model = load_model(header, options, log);
    use_model(plan, options, *model);
  }

  ComparedSide side_of(const Record& record) const {
    const ModelConfig& config = header.config;
    return {record.embedding, record.tokens(), config.d_model, record.hidden_states, config.n_layers, config.n_heads, record.attentions};
  }

  ModelHeader header;
  Plan plan;
  std::shared_ptr<const Model> model;
};

Answer layers_answer(const Comparison& comparison) {
  Answer answer{"layers", "hidden states by layer, 0 is the embedding output", {"layer", "cosine", "max_abs"}, {}, false};
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    answer.rows.push_back({AnswerCell::of(i), AnswerCell::of(comparison.layers[i].cosine), AnswerCell::of(comparison.layers[i].max_abs)});
  }
  return answer;
}

Answer heads_answer(const Comparison& comparison) {
  Answer answer{"heads", "attention by head, Jensen-Shannon distance", {"layer", "head", "distance"}, {}, false};
  for (const HeadDifference& head : comparison.heads) {
    answer.rows.push_back({AnswerCell::of(head.layer), AnswerCell::of(head.head), AnswerCell::of(head.distance)});
  }
  return answer;
}

std::string json_of(const Comparison& comparison, const std::string& over, std::optional<int> digits) {
  std::string out = "{\"embedding\":";
  if (comparison.embedding) {
    out += "{\"cosine\":" + cell_text(AnswerCell::of(comparison.embedding->cosine), digits) +
           ",\"max_abs\":" + cell_text(AnswerCell::of(comparison.embedding->max_abs), digits) + "}";
  } else {
    out += "null";
  }
  out += "," + answer_members({layers_answer(comparison), heads_answer(comparison)}, digits);
  out += std::string(",\"within\":") + (over.empty() ? "true" : "false");
  return out + "}";
}

std::string table_of(const Comparison& comparison, const std::string& title, std::size_t columns, std::optional<int> digits) {
  std::string out = title + "\n";
  const std::optional<int> places = digits ? digits : std::optional<int>(6);
  if (comparison.embedding) {
    out += "embedding: cosine " + cell_text(AnswerCell::of(comparison.embedding->cosine), places) + ", greatest difference " +
           cell_text(AnswerCell::of(comparison.embedding->max_abs), places) + "\n";
  } else {
    out += "embedding: of different widths\n";
  }
  if (!comparison.layers.empty()) append_answer(out, layers_answer(comparison), columns, places);
  if (!comparison.heads.empty()) append_answer(out, heads_answer(comparison), columns, places);
  if (comparison.layers.empty() && comparison.heads.empty()) out += "hidden states and attention: of different shapes\n";
  return out + "\n";
}

int run(const Options& options, Log& log) {
  const bool two_models = !options.study.against.empty();
  if (!two_models && options.input.texts.size() != 2) {
    throw_usage("compare: expected two TEXTs, or --against MODEL, got " + std::to_string(options.input.texts.size()) +
                (options.input.texts.size() == 1 ? " TEXT" : " TEXTs"));
  }
  const ModelLocation location = choose_model(options);
  const ModelLocation other = two_models ? find_model(options.study.against, model_search()) : location;
  const auto out = open_output(options);
  const Side left(options, location, log);
  const auto run_side = [&](const Side& side) {
    Kept kept;
    InputSource source(options, log);
    run_pipeline(options, side.plan.work, source, kept);
    return std::move(kept.records);
  };
  std::vector<std::pair<ComparedSide, ComparedSide>> pairs;
  std::vector<Record> records = run_side(left);
  if (two_models) {
    const Side right(options, other, log);
    const std::vector<Record> others = run_side(right);
    for (std::size_t i = 0; i < records.size(); ++i) pairs.emplace_back(left.side_of(records[i]), right.side_of(others[i]));
  } else {
    pairs.emplace_back(left.side_of(records[0]), left.side_of(records[1]));
  }

  const Format format = left.plan.format;
  std::string first_over_all;
  std::string text;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Comparison comparison = compare(pairs[i].first, pairs[i].second);
    const std::string over = options.study.tolerance ? first_over(comparison, *options.study.tolerance) : std::string();
    if (!over.empty() && first_over_all.empty()) {
      first_over_all = (pairs.size() > 1 ? records[i].place + ": " : std::string()) + over;
    }
    if (format == Format::table) {
      const std::string title = two_models ? location.name + " and " + other.name + ": " + records[i].text : records[0].text + " | " + records[1].text;
      text += table_of(comparison, title, left.plan.schema.columns, options.output.digits);
    } else {
      if (format == Format::json && pairs.size() > 1) text += i == 0 ? "[" : ",";
      text += json_of(comparison, over, options.output.digits);
      if (format == Format::jsonl) text += "\n";
    }
  }
  if (format == Format::json) text += pairs.size() > 1 ? "]\n" : pairs.empty() ? "[]\n" : "\n";
  out->write(text);
  out->commit();
  if (first_over_all.empty()) return 0;
  log.error("over the tolerance: " + first_over_all);
  return 1;
}

}  // namespace

const Command kCompare{
    .name = "compare",
    .summary = "where two models, or two texts in one model, differ",
    .arguments = "TEXT TEXT",
    .about = "Prints cosine and greatest difference of the sentence vectors and of each layer's hidden states, and the distance of "
             "each head's attention, where shapes agree. With --against the model is compared with another on every input.",
    .examples = {"mha-cli compare \"She is a great leader\" \"He is a great leader\"",
                 "mha-cli compare -m small --against large --tolerance 1e-3 -i lines.txt"},
    .groups = kModel | kInputs | kTokenizing | kPooling | kAblation | kAgainst | kOutput,
    .formats = {Format::table, Format::json, Format::jsonl},
    .run = run,
};

}  // namespace mha::cli
