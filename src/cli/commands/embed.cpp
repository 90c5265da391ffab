#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/ranges.hpp"
#include "cli/record_run.hpp"
#include "cli/resume.hpp"
#include "cli/task_run.hpp"
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

struct EmbedOptions {
  bool sparse = false;
  bool tokens = false;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<EmbedOptions>();
  list.group("Kinds of vectors");
  list.flag("--sparse", "one weight per vocabulary entry, by a fill-mask head (SPLADE)", own.sparse);
  list.flag("--tokens", "one vector per token, by a late-interaction model (ColBERT)", own.tokens);
}

// Options that shape a sentence vector mean nothing for other kinds of vectors.
void refuse_vector_options(const Options& options, const char* flag) {
  const PoolingOptions& pooling = options.pooling;
  const char* given = !pooling.modes.empty()                     ? "--pooling"
                      : pooling.normalize                        ? "--normalize"
                      : pooling.dims > 0                         ? "--dims"
                      : options.quantize.type != VectorType::f32 ? "--quantize"
                      : options.windows.asked()                  ? "--chunk or --late-chunk"
                      : options.output.parts                     ? "--with"
                                                                 : nullptr;
  if (given != nullptr) throw_usage(std::string(flag) + ": expected no " + given + ", which shapes sentence vectors");
}

int embed_sparse(const Options& options, Log& log) {
  refuse_vector_options(options, "--sparse");
  RecordRun run(options, {.kind = RecordKind::task}, log);
  const std::vector<Task> tasks = run.model->tasks();
  if (std::find(tasks.begin(), tasks.end(), Task::fill_mask) == tasks.end()) {
    throw_usage("--sparse: expected a model with a fill-mask head (SPLADE), got " + run.location.name + ", a " +
                std::string(name_of(run.header.sentence.kind)) + " without");
  }
  if (!run.header.sentence.sparse)
    log.warning("--sparse: " + run.location.name + " does not say how its logits are pooled; the greatest is assumed");
  const auto head = run.model->load_head(Task::fill_mask);
  ModelWork work = run.planned.work;
  work.prompt = choose_prompt(run.header.sentence, options.tokens.prompt);
  work.parts = {};
  work.sparse_head = head.get();
  const RecordSchema schema = with_layout(run.planned.schema, run.plan.format,
                                          {ResultLayout::Shape::list, "weights", "", {"token", "id", "weight"}});
  OutputSink sink(options, run.formatter(schema), *run.out, log, run.journal.get());
  return run_records(options, work, run.source, sink);
}

// The ids of tokens that get no vector. Words outside the vocabulary have none.
std::vector<std::int32_t> skipped_ids(const SentenceConfig& sentence, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (const std::string& word : sentence.skipped_tokens) {
    if (const auto id = tokenizer.id_of(word)) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

int embed_tokens(const Options& options, Log& log) {
  refuse_vector_options(options, "--tokens");
  RecordRun run(options, {.kind = RecordKind::encode, .parts = Parts{.last_hidden_state = true}}, log);
  const SentenceConfig& sentence = run.header.sentence;
  const bool query = options.tokens.prompt.role == "query";
  if (query && sentence.expands_queries) {
    throw_model("model: " + run.location.name +
                ": query_expansion: expected none, since mask tokens without attention are not implemented");
  }
  if (sentence.kind != ModelKind::late_interaction) {
    log.warning("--tokens: " + run.location.name + " is a " + std::string(name_of(sentence.kind)) +
                "; its token vectors are not made to be compared one by one");
  }
  ModelWork work = run.planned.work;
  work.prompt = choose_prompt(sentence, options.tokens.prompt);
  work.token_vectors = true;
  if (!query) work.skipped_tokens = skipped_ids(sentence, run.model->tokenizer());
  RecordSchema schema = run.planned.schema;
  schema.parts = {.text = schema.parts.text, .tokens = schema.parts.tokens, .last_hidden_state = true};
  schema.token_vectors = true;
  schema.d_model = sentence.token_width(run.header.config.d_model);
  OutputSink sink(options, run.formatter(schema), *run.out, log, run.journal.get());
  return run_records(options, work, run.source, sink);
}

// A folder made for another kind of vectors still gives sentence vectors, though nobody trained them.
void warn_of_kind(const RecordRun& run, Log& log) {
  const ModelKind kind = run.header.sentence.kind;
  const char* other = kind == ModelKind::sparse_encoder     ? "embed --sparse prints its vectors"
                      : kind == ModelKind::late_interaction ? "embed --tokens prints its vectors"
                      : kind == ModelKind::cross_encoder    ? "rerank prints its scores"
                                                            : nullptr;
  if (other == nullptr) return;
  log.warning(run.location.name + " is a " + std::string(name_of(kind)) +
              "; it was not trained for sentence vectors, " + other);
}

int embed(const Options& options, Log& log) {
  if (is_finished(options, log)) return 0;
  const EmbedOptions& own = options.own<EmbedOptions>();
  if (own.sparse && own.tokens) throw_usage("--sparse and --tokens: expected one of them, got both; leave one out");
  if (own.sparse) return embed_sparse(options, log);
  if (own.tokens) return embed_tokens(options, log);
  RecordRun run(options, {.kind = RecordKind::embed}, log);
  warn_of_kind(run, log);
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
        "with its number, begin and end. --sparse and --tokens print other kinds of vectors.",
    .examples = {"mha-cli embed \"She is a great leader\"", "mha-cli embed -i lines.txt --format npy -o vectors.npy",
                 "tail -f log | mha-cli embed --with text,embedding",
                 "mha-cli embed --chunk 128 --stride 32 --with text,embedding -i articles.jsonl",
                 "mha-cli embed --normalize l2 --quantize int8 --format npy -i lines.txt -o vectors.npy"},
    .declare = declare,
    .options = {&kAblation, &kPooling, &kQuantize, &kWindows, &kInput, &kTokens, &kParts, &kOutput, &kResume},
    .formats = {Format::jsonl, Format::json, Format::table, Format::csv, Format::tsv, Format::npy, Format::npz,
                Format::raw, Format::arrow},
    .run = embed,
};

}  // namespace mha::cli
