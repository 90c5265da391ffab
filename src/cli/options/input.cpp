#include "cli/options/input.hpp"

#include <unistd.h>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void parse_shard(const std::string& text, InputOptions& input) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw_usage("--shard: expected K/N such as 1/4, got \"" + text + '"');
  input.shards = parse_count("--shard", std::string_view(text).substr(slash + 1), 1);
  input.shard = parse_count("--shard", std::string_view(text).substr(0, slash), 1) - 1;
  if (input.shard >= input.shards) throw_usage("--shard: expected K/N with K from 1 to N, got \"" + text + '"');
}

void declare(OptionList& list, Options& options) {
  InputOptions& input = options.input;
  list.group("Input");
  list.value("-i,--input", "FILE", "read inputs from FILE, - is stdin", ValueKind::file,
             [&input](const std::string& file) {
               require_named("--input", file);
               input.files.push_back(file);
             })
      .ends_in({".txt", ".jsonl", ".ndjson"})
      .repeats();
  list.choice("--input-format", "FORMAT", "how inputs are kept apart", input.format,
              {{"lines", InputFormat::lines},
               {"jsonl", InputFormat::jsonl},
               {"json", InputFormat::json},
               {"nul", InputFormat::nul}})
      .explain(
          "lines: one text per line. jsonl: one JSON object per line. json: the objects of one array, or one behind "
          "the other, over any number of lines. nul: texts that end with NUL.")
      .by_default("by the ending of the file, else lines");
  list.flag("-0,--null", "inputs end with NUL, the same as --input-format nul",
            [&input] { input.format = InputFormat::nul; });
  list.text("--pair", "TEXT", "second segment of a single input",
            [&input](const std::string& text) { input.pair = text; });
  list.named("--text-key", "KEY", "JSON Lines key of the text", ValueKind::text, input.text_key)
      .by_default(input.text_key);
  list.named("--pair-key", "KEY", "JSON Lines key of the second text", ValueKind::text, input.pair_key)
      .by_default(input.pair_key);
  list.named("--id-key", "KEY", "JSON Lines key of the id", ValueKind::text, input.id_key).by_default(input.id_key);
  list.flag("--pass-through", "copy the other keys of JSON Lines inputs into the results", input.pass_through);
  list.choice("--on-error", "POLICY", "bad inputs", input.on_error,
              {{"fail", OnError::fail},
               {"skip", OnError::skip},
               {"record", OnError::record},
               {"replace", OnError::replace}})
      .explain(
          "fail ends the run at the first bad input, skip leaves it out, record puts a record with its error in its "
          "place, replace puts U+FFFD for bytes that are not UTF-8.");
  list.text("--shard", "K/N", "every N-th input only, from the K-th on; indices stay those of the whole input",
            [&input](const std::string& text) { parse_shard(text, input); });
  list.flag("--latency", "answer each input before the next is read, with all threads on it", input.latency);
}

void check(const Options& options) {
  const InputOptions& input = options.input;
  if (!input.texts.empty() && !input.files.empty()) {
    throw_usage("TEXT and --input: expected one of them, got both; leave one out");
  }
  if (input.pair && input.texts.size() != 1) {
    throw_usage("--pair: expected exactly one TEXT, got " + std::to_string(input.texts.size()) +
                "; for many pairs use JSON Lines with text and text_pair");
  }
  if (input.pair && options.command->single_texts) {
    throw_usage("--pair: expected a single text for " + std::string(options.command->name) + ", got a pair");
  }
  if (input.text_key == input.pair_key || input.text_key == input.id_key || input.pair_key == input.id_key) {
    throw_usage("--text-key, --pair-key and --id-key: expected three different keys, got " + input.text_key + ", " +
                input.pair_key + " and " + input.id_key);
  }
  if (!options.command->inputs_optional) refuse_terminal(options);
}

}  // namespace

const OptionGroup kInput{declare, check};

void refuse_terminal(const Options& options) {
  const InputOptions& input = options.input;
  if (!input.texts.empty() || !input.files.empty() || isatty(STDIN_FILENO) == 0) return;
  const std::string name(options.command->name);
  throw_usage(name + ": expected TEXT, --input FILE or a pipe on standard input, got a terminal\nUsage: mha-cli " +
              name + " [OPTION]… TEXT…; see 'mha-cli " + name + " --help'");
}

}  // namespace mha::cli
