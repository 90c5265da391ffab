#include "cli/commands/all.hpp"
#include "cli/record_run.hpp"

namespace mha::cli {

const Command kAttention{
    .name = "attention",
    .summary = "attention weights of every head",
    .arguments = "TEXT…",
    .about =
        "Prints the attention weights from each token to each other token, for every layer and head: drawn in the "
        "terminal, as numbers, as a page or as a picture.",
    .examples = {"mha-cli attention \"She is a great leader\"",
                 "mha-cli attention --find 'She>leader' \"She is a great leader\"",
                 "mha-cli attention --layer -1 --head 0-3 --format json \"one layer, four heads\"",
                 "mha-cli attention --format html -o heads.html \"a page to click in\""},
    .options = {&kQuestions, &kSelection, &kAblation, &kPooling, &kInput, &kTokens, &kParts, &kOutput, &kResume},
    .formats = {Format::heatmap, Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv, Format::npy,
                Format::npz, Format::raw, Format::html, Format::svg, Format::png},
    .run = [](const Options& options, Log& log) { return run_encoding(options, {.kind = RecordKind::attention}, log); },
};

}  // namespace mha::cli
