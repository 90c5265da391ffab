#include "cli/commands/all.hpp"
#include "cli/record_run.hpp"

namespace mha::cli {

const Command kEmbed{
    .name = "embed",
    .summary = "one sentence vector an input",
    .arguments = "TEXT…",
    .about =
        "Prints one pooled vector for each input. Without TEXT, inputs are read from standard input, one a line; "
        "results leave in input order, as soon as they are done.",
    .examples = {"mha-cli embed \"She is a great leader\"", "mha-cli embed -i lines.txt --format npy -o vectors.npy",
                 "tail -f log | mha-cli embed --with text,embedding"},
    .groups = kModel | kInputs | kTokenizing | kPooling | kAblation | kParts | kOutput | kResume,
    .formats = {Format::jsonl, Format::json, Format::table, Format::csv, Format::tsv, Format::npy, Format::npz,
                Format::raw},
    .run = [](const Options& options, Log& log) { return run_encoding(options, RecordKind::embed, log); },
};

}  // namespace mha::cli
