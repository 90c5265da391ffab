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
#include "output/answers.hpp"

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

Answer layers_answer(const Comparison& comparison) {
  Answer answer{
      "layers", "hidden states by layer, 0 is the embedding output", {"layer", "cosine", "max_abs"}, {}, false};
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    answer.rows.push_back(
        {AnswerCell::of(i), AnswerCell::of(comparison.layers[i].cosine), AnswerCell::of(comparison.layers[i].max_abs)});
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

/// Long form: a row for the vectors, for each layer and for each head.
Answer rows_of(const Comparison& comparison, std::size_t index) {
  Answer answer{"compare", {}, {"index", "part", "layer", "head", "cosine", "max_abs", "distance"}, {}, false};
  const AnswerCell none = AnswerCell::of(std::string());
  const AnswerCell at = AnswerCell::of(index);
  if (comparison.embedding) {
    answer.rows.push_back({at, AnswerCell::of(std::string("embedding")), none, none,
                           AnswerCell::of(comparison.embedding->cosine), AnswerCell::of(comparison.embedding->max_abs),
                           none});
  }
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    answer.rows.push_back({at, AnswerCell::of(std::string("layer")), AnswerCell::of(i), none,
                           AnswerCell::of(comparison.layers[i].cosine), AnswerCell::of(comparison.layers[i].max_abs),
                           none});
  }
  for (const HeadDifference& head : comparison.heads) {
    answer.rows.push_back({at, AnswerCell::of(std::string("head")), AnswerCell::of(head.layer),
                           AnswerCell::of(head.head), none, none, AnswerCell::of(head.distance)});
  }
  return answer;
}

std::string table_of(const Comparison& comparison, const std::string& title, std::size_t columns,
                     std::optional<int> digits) {
  std::string out = title + "\n";
  const std::optional<int> places = digits ? digits : std::optional<int>(6);
  if (comparison.embedding) {
    out += "embedding: cosine " + cell_text(AnswerCell::of(comparison.embedding->cosine), places) +
           ", greatest difference " + cell_text(AnswerCell::of(comparison.embedding->max_abs), places) + "\n";
  } else {
    out += "embedding: of different widths\n";
  }
  if (!comparison.layers.empty()) append_answer(out, layers_answer(comparison), columns, places);
  if (!comparison.heads.empty()) append_answer(out, heads_answer(comparison), columns, places);
  if (comparison.layers.empty() && comparison.heads.empty()) {
    out += "hidden states and attention: of different shapes\n";
  }
  return out + "\n";
}

/// Writes comparisons as they come. JSON is one object for one comparison and an array for more.
class Report {
 public:
  Report(const Options& options, const Plan& plan, OutputStream& out)
      : digits_(options.output.digits), format_(plan.format), columns_(plan.schema.columns), out_(out) {}

  void add(const Comparison& comparison, const std::string& title, std::size_t index, const std::string& over) {
    const std::string json =
        format_ == Format::json || format_ == Format::jsonl ? json_of(comparison, over, digits_) : std::string();
    switch (format_) {
      case Format::json:
        if (index == 0) {
          first_ = json;
        } else {
          out_.write((index == 1 ? "[" + first_ : std::string()) + "," + json);
        }
        break;
      case Format::jsonl:
        out_.write(json + "\n");
        break;
      case Format::csv:
        write_rows(comparison, index, kCsv);
        break;
      case Format::tsv:
        write_rows(comparison, index, kTsv);
        break;
      default:
        out_.write(table_of(comparison, title, columns_, digits_));
    }
    ++count_;
  }

  void finish() {
    if (format_ == Format::json) out_.write(count_ == 0 ? "[]\n" : count_ == 1 ? first_ + "\n" : "]\n");
    if (count_ == 0 && format_ == Format::csv) write_rows({}, 0, kCsv);
    if (count_ == 0 && format_ == Format::tsv) write_rows({}, 0, kTsv);
  }

 private:
  // The header stands above the first rows only.
  void write_rows(const Comparison& comparison, std::size_t index, const Dialect& dialect) {
    const std::string text = answer_rows(rows_of(comparison, index), dialect, digits_);
    out_.write(index == 0 ? text : text.substr(text.find('\n') + 1));
  }

  std::optional<int> digits_;
  Format format_;
  std::size_t columns_;
  OutputStream& out_;
  std::string first_;
  std::size_t count_ = 0;
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
  Report report(options, left.plan, *out);
  std::string first_over_all;
  for (std::size_t index = 0;;) {
    const std::vector<Record> block = read_block(source, kBlock);
    if (block.empty()) break;
    const std::vector<Record> ours = run_side(left, block);
    const std::vector<Record> theirs = right ? run_side(*right, block) : std::vector<Record>{ours[1]};
    for (std::size_t i = 0; i < theirs.size(); ++i, ++index) {
      const Comparison comparison = compare(left.side_of(ours[i]), (right ? *right : left).side_of(theirs[i]));
      const std::string over = options.own<CompareOptions>().tolerance
                                   ? first_over(comparison, *options.own<CompareOptions>().tolerance)
                                   : std::string();
      if (!over.empty() && first_over_all.empty()) {
        first_over_all = (two_models ? ours[i].place + ": " : std::string()) + over;
      }
      const std::string title =
          two_models ? location.name + " and " + other.name + ": " + ours[i].text : ours[0].text + " | " + ours[1].text;
      report.add(comparison, title, index, over);
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
