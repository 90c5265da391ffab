#include <optional>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/task_run.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

struct ClassifyOptions {
  std::optional<std::size_t> top_k;
  bool all_scores = false;
  std::vector<std::string> labels;
  std::string hypothesis = "This example is {}.";
  bool multi_label = false;
};

// As transformers does, pipelines/zero_shot_classification.py.
void trim(std::string& label) {
  label.erase(0, label.find_first_not_of(' '));
  label.erase(label.find_last_not_of(' ') + 1);
  if (label.empty()) throw_usage("--labels: expected a list such as a,b, got an empty item");
}

void declare(OptionList& list, Options& options) {
  auto& own = options.own<ClassifyOptions>();
  list.group("Task");
  list.count("--top-k", "N", "the N best results only", own.top_k, 1);
  list.flag("--all-scores", "every label with its score, best first", own.all_scores);
  list.text("--labels", "LIST", "labels of your own, separated by commas, for a model of natural language inference",
            [&own](const std::string& text) {
              own.labels = parse_list("--labels", text);
              for (std::string& label : own.labels) trim(label);
            })
      .explain("Blanks around a label do not count. Write \\, for a comma inside a label.");
  list.text("--hypothesis", "TEXT", "sentence with {} in place of the label",
            [&own](const std::string& text) {
              if (text.find("{}") == std::string::npos) {
                throw_usage("--hypothesis: expected a sentence with {} for the label, got \"" + text + '"');
              }
              own.hypothesis = text;
            })
      .by_default('"' + own.hypothesis + '"');
  list.flag("--multi-label", "each of --labels is true or not by itself", own.multi_label);
}

void check(const Options& options) {
  const auto& own = options.own<ClassifyOptions>();
  if (options.input.pair && !own.labels.empty()) {
    throw_usage("--pair and --labels: expected one of them, got both; a label is the second segment");
  }
  if (own.labels.empty() && own.multi_label) throw_usage("--multi-label: expected --labels with it, got none");
  if (own.all_scores && own.top_k) {
    throw_usage("--all-scores and --top-k: expected one of them, got both; leave one out");
  }
}

std::size_t labels_shown(const ClassifyOptions& task, std::size_t labels) {
  return task.all_scores ? labels : task.top_k.value_or(0);
}

std::unique_ptr<TaskReader> make_reader(const TaskRun& run) {
  const auto& task = run.options.own<ClassifyOptions>();
  const HeadLabels labels = read_head_labels(run.header, run.outputs);
  if (task.labels.empty()) {
    return classify_reader(run.work, {labels.names, label_scores(labels), labels_shown(task, run.outputs)});
  }
  if (run.outputs < 2) {
    throw_usage("--labels: expected a model of natural language inference, got " + run.model.location().name +
                " with one label");
  }
  ZeroShotSettings settings;
  settings.labels = task.labels;
  for (const std::string& label : task.labels) {
    std::string hypothesis = task.hypothesis;
    hypothesis.replace(hypothesis.find("{}"), 2, label);
    settings.hypotheses.push_back(std::move(hypothesis));
  }
  // transformers 5.24, pipelines/zero_shot_classification.py: without such a label the last one is taken; contradiction
  // is the first, or the last if entailment is the first.
  if (!labels.entailment) {
    run.log.warning("--labels: expected a model with a label that begins with \"entail\", got none; the last one, " +
                    labels.names.back() + ", is taken for it");
  }
  settings.entailment = labels.entailment.value_or(labels.names.size() - 1);
  settings.contradiction = settings.entailment == 0 ? run.outputs - 1 : 0;
  settings.multi_label = task.multi_label || task.labels.size() == 1;
  settings.top_k = labels_shown(task, task.labels.size());
  return zero_shot_reader(run.work, settings);
}

}  // namespace

const Command kClassify{
    .name = "classify",
    .summary = "labels of a text, or of a pair of texts",
    .arguments = "TEXT…",
    .about =
        "Prints the best label of each input and its score. The model's config.json decides what a score is: softmax "
        "over the labels; sigmoid if several labels may apply, or if there is only one; the plain number of a "
        "regression. With --labels you give the labels, and a model of natural language inference says which of them "
        "follow from the text.",
    .examples = {"mha-cli -m sentiment-model classify \"I like this.\"",
                 "mha-cli -m nli-model classify --labels sport,politics,science \"The team won the cup.\"",
                 "mha-cli -m sentiment-model classify --all-scores --format jsonl -i lines.txt"},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOutput},
    .check = check,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .is_task = true,
    .run = [](const Options& options, Log& log) { return run_task(options, Task::classify, make_reader, log); },
};

}  // namespace mha::cli
