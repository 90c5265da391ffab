#include "cli/commands/all.hpp"
#include "cli/record_run.hpp"

namespace mha::cli {

const Command kEncode{
    .name = "encode",
    .summary = "token vectors, the sentence vector and the attention maps",
    .arguments = "TEXT…",
    .about =
        "Prints everything about each input: tokens, one contextual vector per token, the sentence vector and, in a "
        "table, the attention maps.",
    .examples = {"mha-cli encode \"She is a great leader\"", "mha-cli encode --format npy \"one input\" > states.npy",
                 "mha-cli encode --with hidden_states --format json \"every layer\""},
    .options = {&kSelection, &kAblation, &kPooling, &kInput, &kTokens, &kParts, &kOutput, &kResume},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv, Format::npy, Format::npz,
                Format::raw},
    .run = [](const Options& options, Log& log) { return run_encoding(options, {.kind = RecordKind::encode}, log); },
};

}  // namespace mha::cli
