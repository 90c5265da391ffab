#include <algorithm>
#include <string>

#include "cli/commands/all.hpp"
#include "cli/task_run.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

struct AnswerOptions {
  std::optional<std::size_t> top_k;
  std::optional<std::size_t> stride;
  std::size_t longest = 15;  ///< tokens
  bool no_answer = false;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<AnswerOptions>();
  list.group("Task");
  list.count("--top-k", "N", "the N best results only", own.top_k, 1);
  list.count("--stride", "N", "tokens that windows of a long text share", own.stride, 0)
      .by_default("half of a window, at most 128");
  list.count("--longest", "N", "most tokens of an answer", own.longest, 1).by_default(std::to_string(own.longest));
  list.flag("--no-answer",
            "no answer, an empty one, is a result too, with the probability that the model gives it (SQuAD 2)",
            own.no_answer);
}

constexpr std::size_t kWindow = 384;  // transformers: max_seq_len
constexpr std::size_t kStride = 128;  // doc_stride

// Windows of question and text, and how much of the text neighbours share.
void plan_windows(const TaskRun& run) {
  EncodeOptions& encode = run.work.encode;
  if (!run.options.tokens.max_length) encode.max_length = std::min(encode.max_length.value_or(kWindow), kWindow);
  if (!encode.max_length) return;
  const Tokenizer& tokenizer = run.model.tokenizer();
  EncodeOptions bare;
  bare.add_special_tokens = false;
  TokenizerScratch scratch;
  Encoding question;
  tokenizer.encode(run.options.query, std::nullopt, bare, scratch, question);
  const std::size_t taken = question.size() + (encode.add_special_tokens ? tokenizer.special_count(true) : 0);
  if (taken >= *encode.max_length) {
    throw_usage("answer: expected a question that leaves room in windows of " + std::to_string(*encode.max_length) +
                " tokens, got one that takes " + std::to_string(taken) + "; --max-length sets it");
  }
  const std::size_t room = *encode.max_length - taken;
  const std::optional<std::size_t> asked = run.options.own<AnswerOptions>().stride;
  if (asked && *asked >= room) {
    throw_usage("--stride: expected less than the " + std::to_string(room) +
                " tokens that the question leaves in a window, got " + std::to_string(*asked));
  }
  const std::size_t usual = std::min(*encode.max_length / 2, kStride);
  if (!run.work.refuse_long) encode.stride = asked.value_or(usual < room ? usual : room / 2);
}

std::unique_ptr<TaskReader> make_reader(const TaskRun& run) {
  plan_windows(run);
  const auto& own = run.options.own<AnswerOptions>();
  return answer_reader(
      run.work, {run.options.query, own.longest, own.top_k.value_or(0), run.options.output.offsets, own.no_answer});
}

}  // namespace

const Command kAnswer{
    .name = "answer",
    .summary = "the best answer to a question within each text",
    .arguments = "QUESTION [TEXT…]",
    .about =
        "Prints for each text the part that answers the question best, by a model of extractive question answering. "
        "Long texts are read in windows that share --stride tokens. Positions count in the text. With --no-answer the "
        "result may be an empty answer: the text does not answer the question.",
    .examples = {"mha-cli -m qa-model answer \"How big is it?\" \"It is as big as a house.\"",
                 "mha-cli -m qa-model answer \"Who wrote it?\" -i articles.jsonl --format jsonl",
                 "mha-cli -m squad2-model answer --no-answer \"Who wrote it?\" \"It is as big as a house.\""},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOffsets, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .single_texts = true,
    .takes_query = true,
    .is_task = true,
    .run = [](const Options& options, Log& log) { return run_task(options, Task::answer, make_reader, log); },
};

}  // namespace mha::cli
