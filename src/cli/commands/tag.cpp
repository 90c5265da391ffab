#include "cli/commands/all.hpp"
#include "cli/task_run.hpp"

namespace mha::cli {
namespace {

struct TagOptions {
  Aggregation aggregation = Aggregation::none;
};

void declare(OptionList& list, Options& options) {
  list.group("Task");
  list.choice("--aggregation", "HOW", "how tokens become entities", options.own<TagOptions>().aggregation,
              {{"none", Aggregation::none},
               {"simple", Aggregation::simple},
               {"first", Aggregation::first},
               {"average", Aggregation::average},
               {"max", Aggregation::max}});
}

std::unique_ptr<TaskReader> make_reader(const TaskRun& run) {
  return tag_reader(run.work, {read_head_labels(run.header, run.outputs).names,
                               run.options.own<TagOptions>().aggregation, run.options.output.offsets});
}

}  // namespace

const Command kTag{
    .name = "tag",
    .summary = "entities in a text: names, places, parts of speech",
    .arguments = "TEXT…",
    .about =
        "Prints the tokens to which a token classifier gives another label than \"O\". With --aggregation, it prints "
        "the entities that they form: simple joins neighbouring tokens with the same label. The others give each word "
        "one label: that of its first token (first), of the mean of its tokens (average), or of its surest token "
        "(max). Positions count in the text.",
    .examples = {"mha-cli -m ner-model tag --aggregation simple \"Teresa lives in New York.\"",
                 "mha-cli -m ner-model tag --aggregation first --format jsonl --offsets bytes -i lines.txt"},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOffsets, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .single_texts = true,
    .is_task = true,
    .run = [](const Options& options, Log& log) { return run_task(options, Task::tag, make_reader, log); },
};

}  // namespace mha::cli
