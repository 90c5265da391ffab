#include <string>

#include "cli/commands/all.hpp"
#include "cli/ranges.hpp"
#include "cli/record_run.hpp"
#include "cli/resume.hpp"
#include "mha/core/error.hpp"
#include "pipeline/windows.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kRepeatedShare = 4;  // a further pass repeats a quarter of what it can hold

// The sizes of windows against what the model reads, with the special tokens and the prompt that each has.
WindowSettings window_settings(const Options& options, const ModelWork& work) {
  const WindowOptions& asked = options.windows;
  WindowSettings settings;
  settings.tokens = asked.tokens;
  settings.late = asked.late;
  settings.joined = asked.joined;
  settings.most_tokens = work.encode.max_length.value_or(0);
  settings.batch_tokens = batch_tokens(*work.encoder);
  settings.offsets = options.output.offsets;
  if (!settings.late && settings.most_tokens > 0 && settings.tokens > settings.most_tokens) {
    throw_usage("--chunk: expected at most the " + std::to_string(settings.most_tokens) +
                " tokens that the model reads, got " + std::to_string(settings.tokens));
  }
  TokenizerScratch scratch;
  EncodeOptions bare;
  bare.add_special_tokens = false;
  Encoding prompt;
  work.tokenizer->encode(work.prompt, std::nullopt, bare, scratch, prompt);
  const std::size_t around =
      prompt.size() + (work.encode.add_special_tokens ? work.tokenizer->special_count(false) : 0);
  const std::size_t most = settings.late ? settings.most_tokens : settings.tokens;
  const char* const name = settings.late ? "--max-length" : "--chunk";
  if (most > 0 && most <= around) {
    throw_usage(std::string(name) + ": expected more than the " + std::to_string(around) +
                " special tokens and tokens of the prompt, got " + std::to_string(most));
  }
  settings.overlap = asked.overlap.value_or(settings.late && most > 0 ? (most - around) / kRepeatedShare : 0);
  if (most > 0 && settings.overlap >= most - around) {
    throw_usage("--stride: expected less than the " + std::to_string(most - around) +
                " tokens that special tokens and prompt leave, got " + std::to_string(settings.overlap));
  }
  return settings;
}

int embed(const Options& options, Log& log) {
  if (is_finished(options, log)) return 0;
  RecordRun run(options, {.kind = RecordKind::embed}, log);
  const auto workers = [&](const ModelWork& work) {
    return options.windows.asked() ? window_workers(work, window_settings(options, work)) : model_workers(work);
  };
  ModelWork work = run.planned.work;
  if (!options.quantize.calibrate.empty()) work.quantization = calibrate(options, work, workers);
  OutputSink sink(options, run.formatter(run.planned.schema), *run.out, log, run.journal.get());
  sink.watch(run.source);
  run_workers(options, batch_tokens(*work.encoder), workers(work), run.source, sink);
  return sink.finish();
}

}  // namespace

const Command kEmbed{
    .name = "embed",
    .summary = "one sentence vector per input",
    .arguments = "TEXT…",
    .about =
        "Prints one pooled vector per input. Without TEXT, inputs are the lines of standard input. Results are written "
        "in input order, as soon as they are done. With --chunk or --late-chunk, a long text is cut into windows, each "
        "with its number, begin and end.",
    .examples = {"mha-cli embed \"She is a great leader\"", "mha-cli embed -i lines.txt --format npy -o vectors.npy",
                 "tail -f log | mha-cli embed --with text,embedding",
                 "mha-cli embed --chunk 128 --stride 32 --with text,embedding -i articles.jsonl",
                 "mha-cli embed --normalize l2 --quantize int8 --format npy -i lines.txt -o vectors.npy"},
    .options = {&kAblation, &kPooling, &kQuantize, &kWindows, &kInput, &kTokens, &kParts, &kOutput, &kResume},
    .formats = {Format::jsonl, Format::json, Format::table, Format::csv, Format::tsv, Format::npy, Format::npz,
                Format::raw, Format::arrow},
    .run = embed,
};

}  // namespace mha::cli
