#include "cli/declare.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli/choice.hpp"
#include "core/numbers.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

constexpr std::pair<Format, const char*> kFormatNames[] = {
    {Format::table, "table"}, {Format::json, "json"},       {Format::jsonl, "jsonl"}, {Format::csv, "csv"},
    {Format::tsv, "tsv"},     {Format::npy, "npy"},         {Format::npz, "npz"},     {Format::raw, "raw"},
    {Format::ids, "ids"},     {Format::heatmap, "heatmap"}, {Format::html, "html"},   {Format::svg, "svg"},
    {Format::png, "png"},
};

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kMostDigits = 40;

auto into(std::string& target) {
  return [&target](const std::string& value) { target = value; };
}

// A path or name; an empty one is what a script has when its variable is not set.
void require_named(std::string_view option, const std::string& value) {
  if (value.empty()) throw_usage(std::string(option) + ": expected a name, got an empty one");
}

auto named_into(std::string& target, std::string_view option) {
  return [&target, option](const std::string& value) {
    require_named(option, value);
    target = value;
  };
}

When parse_when(std::string_view option, std::string_view word) {
  return choose<When>(option, word, {{"auto", When::automatic}, {"always", When::always}, {"never", When::never}});
}

std::size_t parse_bounded(std::string_view option, const std::string& text, std::size_t least, std::size_t most) {
  const std::size_t value = parse_count(option, text, least);
  if (value > most) throw_usage(std::string(option) + ": expected at most " + std::to_string(most) + ", got " + text);
  return value;
}

Format parse_format(const Command& command, const std::string& word) {
  std::vector<std::string> names;
  for (const Format format : command.formats) {
    if (word == format_name(format)) return format;
    names.emplace_back(format_name(format));
  }
  refuse_choice("--format", word, names);
}

std::string format_list(const Command& command) {
  std::string list;
  for (const Format format : command.formats) (list += list.empty() ? "" : ", ") += format_name(format);
  return list;
}

void parse_shard(const std::string& text, InputOptions& input) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw_usage("--shard: expected K/N such as 1/4, got \"" + text + '"');
  input.shards = parse_count("--shard", std::string_view(text).substr(slash + 1), 1);
  input.shard = parse_count("--shard", std::string_view(text).substr(0, slash), 1) - 1;
  if (input.shard >= input.shards) {
    throw_usage("--shard: expected K/N with K from 1 to N, got \"" + text + '"');
  }
}

void declare_inputs(OptionList& list, InputOptions& input) {
  list.group("Input");
  list.value("-i,--input", "FILE", "read inputs from FILE, - is stdin (repeatable)", [&](const std::string& file) {
    require_named("--input", file);
    input.files.push_back(file);
  });
  list.value("--input-format", "FORMAT", "lines, jsonl or nul (default: by ending, else lines)",
             [&](const std::string& word) {
               input.format = choose<InputFormat>(
                   "--input-format", word,
                   {{"lines", InputFormat::lines}, {"jsonl", InputFormat::jsonl}, {"nul", InputFormat::nul}});
             });
  list.flag("-0,--null", "inputs end with NUL, the same as --input-format nul",
            [&] { input.format = InputFormat::nul; });
  list.value("--pair", "TEXT", "second segment of a single input", [&](const std::string& text) { input.pair = text; });
  list.value("--text-key", "KEY", "JSON Lines key of the text (default text)",
             named_into(input.text_key, "--text-key"));
  list.value("--pair-key", "KEY", "JSON Lines key of the second text (default text_pair)",
             named_into(input.pair_key, "--pair-key"));
  list.value("--id-key", "KEY", "JSON Lines key of the id (default id)", named_into(input.id_key, "--id-key"));
  list.flag("--pass-through", "copy the other keys of JSON Lines inputs into the results",
            [&] { input.pass_through = true; });
  list.value("--on-error", "POLICY", "bad inputs: fail, skip, record or replace (default fail)",
             [&](const std::string& word) {
               input.on_error = choose<OnError>("--on-error", word,
                                                {{"fail", OnError::fail},
                                                 {"skip", OnError::skip},
                                                 {"record", OnError::record},
                                                 {"replace", OnError::replace}});
             });
  list.value("--shard", "K/N", "every N-th input only, beginning with the K-th; indices stay those of the whole input",
             [&](const std::string& text) { parse_shard(text, input); });
  list.flag("--latency", "answer each input before the next is read, all threads on it", [&] { input.latency = true; });
}

void declare_tokenizing(OptionList& list, TokenizingOptions& tokenizing) {
  list.group("Tokens");
  list.value("--truncation", "SIDE", "keep head or tail of an input that is too long, or error (default head)",
             [&](const std::string& word) {
               tokenizing.truncation = choose<Truncation>(
                   "--truncation", word,
                   {{"head", Truncation::head}, {"tail", Truncation::tail}, {"error", Truncation::error}});
             });
  list.value("--max-length", "N", "most tokens of an input, specials included (default: what the model says)",
             [&](const std::string& text) { tokenizing.max_length = parse_count("--max-length", text, 1); });
  list.flag("--no-special-tokens", "add no special tokens", [&] { tokenizing.no_special_tokens = true; });
  list.flag("--plain-specials", "special tokens inside the text are ordinary text (for untrusted input)",
            [&] { tokenizing.plain_specials = true; });
  list.value("--prompt", "TEXT", "put TEXT before each input, '' for none",
             [&](const std::string& text) { tokenizing.prompt.text = text; });
  list.value("--prompt-name", "NAME", "put the model's prompt of that name before each input",
             [&](const std::string& name) { tokenizing.prompt.name = name; });
  list.value(
      "--role", "ROLE", "put the model's prompt for a query or a document before each input",
      [&](const std::string& word) {
        tokenizing.prompt.role = choose<const char*>("--role", word, {{"query", "query"}, {"document", "document"}});
      });
}

void declare_pooling(OptionList& list, EncodingOptions& encoding) {
  list.group("Sentence vectors");
  list.value("--pooling", "MODE", "auto, cls, mean, max, last or pooler (default auto: what the model says)",
             [&](const std::string& word) {
               using Modes = std::vector<PoolingMode>;
               encoding.pooling = choose<Modes>("--pooling", word,
                                                {{"auto", Modes{}},
                                                 {"cls", Modes{PoolingMode::cls}},
                                                 {"mean", Modes{PoolingMode::mean}},
                                                 {"max", Modes{PoolingMode::max}},
                                                 {"last", Modes{PoolingMode::last}},
                                                 {"pooler", Modes{PoolingMode::pooler}}});
             });
  list.value(
      "--normalize", "HOW", "auto, l2 or none (default auto: what the model says)", [&](const std::string& word) {
        using Choice = std::optional<bool>;
        encoding.normalize =
            choose<Choice>("--normalize", word, {{"auto", Choice()}, {"l2", Choice(true)}, {"none", Choice(false)}});
      });
  list.value("--dims", "N", "keep the first N numbers, then normalise",
             [&](const std::string& text) { encoding.dims = parse_count("--dims", text, 1); });
}

void declare_windows(OptionList& list, WindowOptions& windows) {
  list.group("Long texts");
  list.value("--chunk", "TOKENS",
             "cut each text into windows of at most TOKENS tokens, specials and prompt included; a record each",
             [&](const std::string& text) { windows.tokens = parse_count("--chunk", text, 1); });
  list.value(
      "--stride", "N",
      "tokens that neighbouring windows share (default 0); with --late-chunk what a further pass repeats (default "
      "a quarter of it)",
      [&](const std::string& text) { windows.overlap = parse_count("--stride", text, 0); });
  list.flag("--late-chunk",
            "windows are sentences, joined up to --chunk tokens, each pooled from one pass over the whole text, or as "
            "much as the model reads at once",
            [&] { windows.late = true; });
  list.value("--chunk-pooling", "HOW",
             "none: a record a window; mean: one vector an input, windows weighted by their tokens (default none)",
             [&](const std::string& word) {
               windows.joined = choose<bool>("--chunk-pooling", word, {{"none", false}, {"mean", true}});
             });
}

void declare_quantize(OptionList& list, QuantizeOptions& quantize) {
  list.group("Sentence vectors");
  list.value("--quantize", "TYPE",
             "int8, or a bit a number: binary (bytes less 128) or ubinary, as sentence-transformers does",
             [&](const std::string& word) {
               quantize.type = choose<VectorType>(
                   "--quantize", word,
                   {{"int8", VectorType::int8}, {"binary", VectorType::binary}, {"ubinary", VectorType::ubinary}});
             });
  list.value("--quantize-ranges", "FILE",
             "for int8: [[least…],[greatest…]] as JSON, a number a dimension (default: unit vectors times 127)",
             into(quantize.ranges));
  list.value("--calibrate", "FILE", "for int8: ranges from the vectors of the texts in FILE", into(quantize.calibrate));
}

void declare_selection(OptionList& list, EncodingOptions& encoding, bool explains) {
  list.group("Heads");
  list.value("--layer", "LIST", explains ? "the layer (default 0)" : "layers, such as 0,3-5,-1 (default all)",
             [&](const std::string& text) { encoding.layers = parse_ranges(text, "--layer"); });
  list.value("--head", "LIST", "heads, such as 0,3-5,-1 (default all)",
             [&](const std::string& text) { encoding.heads = parse_ranges(text, "--head"); });
}

void declare_questions(OptionList& list, AttentionQuestions& questions) {
  list.group("Questions");
  list.flag("--words", "join pieces to words: weights to a word are summed, from a word averaged",
            [&] { questions.words = true; });
  list.flag("--hide-specials", "leave special tokens out of what is shown; weights are not rescaled",
            [&] { questions.hide_specials = true; });
  list.value("--average", "AXIS", "mean over layers, heads or all", [&](const std::string& word) {
    const auto [layers, heads] = choose<std::pair<bool, bool>>(
        "--average", word, {{"layers", {true, false}}, {"heads", {false, true}}, {"all", {true, true}}});
    questions.average_layers = layers;
    questions.average_heads = heads;
  });
  list.flag("--rollout", "attention rolled out over all layers (Abnar & Zuidema 2020)",
            [&] { questions.rollout = true; });
  list.value("--find", "'QUERY>KEY'",
             "rank all heads by that weight; a token is its text, or #3 by position (repeatable)",
             [&](const std::string& text) {
               const std::size_t sign = text.find('>', 1);
               if (sign == std::string::npos || sign + 1 == text.size()) {
                 throw_usage("--find: expected QUERY>KEY such as 'She>leader', got \"" + text + '"');
               }
               questions.find.emplace_back(text.substr(0, sign), text.substr(sign + 1));
             });
  list.value("--top", "K", "the K strongest edges of each query",
             [&](const std::string& text) { questions.top = parse_count("--top", text, 1); });
  list.flag("--stats", "a row a head: entropy, shares and distance", [&] { questions.stats = true; });
}

void declare_corpus(OptionList& list, AttentionQuestions& questions, StudyOptions& study) {
  list.group("Heads");
  list.value("--conllu", "FILE", "score heads against a treebank, - is stdin", named_into(study.conllu, "--conllu"));
  list.flag("--importance", "change of the sentence vectors when each head is ablated",
            [&] { study.importance = true; });
  list.flag("--hide-specials", "leave special tokens out of the averages over queries",
            [&] { questions.hide_specials = true; });
}

void declare_against(OptionList& list, StudyOptions& study) {
  list.group("Comparison");
  list.value("--against", "MODEL", "compare the model with MODEL on every input (else two TEXTs in one model)",
             named_into(study.against, "--against"));
  list.value("--tolerance", "X", "exit 1 when 1 - cosine, a difference or a distance is over X",
             [&](const std::string& text) {
               double value = 0;
               if (!parse_double(text, value) || value < 0) {
                 throw_usage("--tolerance: expected a number from 0, got \"" + text + '"');
               }
               study.tolerance = value;
             });
}

void declare_output(OptionList& list, const Command& command, OutputOptions& output) {
  list.group("Output");
  list.value("--format", "FORMAT",
             format_list(command) + " (default " + std::string(format_name(command.formats[0])) + ")",
             [&command, &output](const std::string& word) { output.format = parse_format(command, word); });
  list.value("-o,--output", "FILE", "write FILE when all is done, - is stdout", named_into(output.file, "--output"));
  list.value("--digits", "N", "round numbers to N places (default: shortest text of the same float32)",
             [&](const std::string& text) {
               output.digits = static_cast<int>(parse_bounded("--digits", text, 0, kMostDigits));
             });
}

void declare_offsets(OptionList& list, OutputOptions& output) {
  list.group("Output");
  list.value("--offsets", "UNIT", "code-points or bytes (default code-points)", [&](const std::string& word) {
    output.offsets =
        choose<OffsetUnit>("--offsets", word, {{"code-points", OffsetUnit::code_points}, {"bytes", OffsetUnit::bytes}});
  });
}

void declare_parts(OptionList& list, OutputOptions& output) {
  list.group("Output");
  list.value("--with", "LIST",
             "parts of a record: text, tokens, embedding, last_hidden_state, hidden_states, attentions, all",
             [&](const std::string& text) { output.parts = parse_parts(text); });
  declare_offsets(list, output);
}

void declare_tokenize(OptionList& list, TokenizeOptions& tokenize) {
  list.group("Tokenize");
  list.flag("--decode", "inputs are ids, separated by blanks or commas; print their text",
            [&] { tokenize.decode = true; });
  list.flag("--count", "print only how many tokens each input has", [&] { tokenize.count = true; });
  list.value("--stride", "N", "cut long inputs into windows that share N tokens, a record each",
             [&](const std::string& text) { tokenize.stride = parse_count("--stride", text, 0); });
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    item = item.substr(0, item.find_last_not_of(' ') + 1);
    if (item.empty()) throw_usage(std::string(option) + ": expected a list such as a,b, got an empty item");
    items.emplace_back(item);
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

void declare_task(OptionList& list, const Command& command, TaskOptions& task) {
  list.group("Task");
  if (command.has(kTopK)) {
    list.value("--top-k", "N", command.has(kFilling) ? "results of each mask (default 5)" : "the N best results only",
               [&](const std::string& text) { task.top_k = parse_count("--top-k", text, 1); });
  }
  if (command.has(kFilling)) {
    list.value("--targets", "LIST",
               "score only these words, separated by commas; scores stay those of the whole vocabulary",
               [&](const std::string& text) { task.targets = parse_list("--targets", text); });
  }
  if (command.has(kLabels)) {
    list.flag("--all-scores", "every label with its score, best first", [&] { task.all_scores = true; });
    list.value("--labels", "LIST", "labels of your own, separated by commas, for a model of natural language inference",
               [&](const std::string& text) { task.labels = parse_list("--labels", text); });
    list.value("--hypothesis", "TEXT", "sentence that {} stands in for a label (default \"This example is {}.\")",
               [&](const std::string& text) {
                 if (text.find("{}") == std::string::npos) {
                   throw_usage("--hypothesis: expected a sentence with {} for the label, got \"" + text + '"');
                 }
                 task.hypothesis = text;
               });
    list.flag("--multi-label", "each of --labels is true or not by itself", [&] { task.multi_label = true; });
  }
  if (command.has(kEntities)) {
    list.value("--aggregation", "HOW", "none, simple, first, average or max: how tokens become entities (default none)",
               [&](const std::string& word) {
                 task.aggregation = choose<Aggregation>("--aggregation", word,
                                                        {{"none", Aggregation::none},
                                                         {"simple", Aggregation::simple},
                                                         {"first", Aggregation::first},
                                                         {"average", Aggregation::average},
                                                         {"max", Aggregation::max}});
               });
  }
  if (command.has(kAnswers)) {
    list.value("--stride", "N", "tokens that windows of a long text share (default: half of a window, at most 128)",
               [&](const std::string& text) { task.stride = parse_count("--stride", text, 0); });
    list.value("--longest", "N", "most tokens of an answer (default 15)",
               [&](const std::string& text) { task.longest = parse_count("--longest", text, 1); });
    list.flag("--no-answer",
              "no answer, an empty one, is a result too, with the probability that the model gives it (SQuAD 2)",
              [&] { task.no_answer = true; });
  }
}

void declare_bench(OptionList& list, BenchOptions& bench) {
  list.group("Bench");
  list.value("--batch", "B", "inputs of a batch (default: a grid)",
             [&](const std::string& text) { bench.batch = parse_count("--batch", text, 1); });
  list.value("--tokens", "T", "tokens of an input (default: a grid)",
             [&](const std::string& text) { bench.tokens = parse_count("--tokens", text, 1); });
  list.value("--runs", "N", "timed runs a point (default: as many as fit a second, at least 5)",
             [&](const std::string& text) { bench.runs = parse_count("--runs", text, 1); });
  list.value("--quality", "FILE", "rows of score, tab, text, tab, text: rank correlation, and cosine to float32",
             into(bench.quality));
  list.flag("--attentions", "capture all attention maps in each forward pass", [&] { bench.attentions = true; });
}

void declare_convert(OptionList& list, const Command& command, ModelOptions& model, OutputOptions& output) {
  list.group("Convert");
  list.value("--to", "KIND", "json or safetensors", [&](const std::string& word) {
    model.to = choose<const char*>("--to", word, {{"json", "json"}, {"safetensors", "safetensors"}});
  });
  list.value("-o,--output", "PATH", "folder or file to write", named_into(model.output, "--output"));
  list.value("--quality", "FILE", "compare the sentence vectors of the texts in FILE with those of the model as it was",
             into(model.quality));
  list.value("--format", "FORMAT", "of what --quality prints: " + format_list(command),
             [&command, &output](const std::string& word) { output.format = parse_format(command, word); });
}

void declare_init(OptionList& list, ModelOptions& model) {
  list.group("Init");
  const auto size = [&list](const char* name, const char* help, std::size_t& target, std::size_t least) {
    list.value(name, "N", std::string(help) + " (default " + std::to_string(target) + ")",
               [name, &target, least](const std::string& text) { target = parse_count(name, text, least); });
  };
  size("--d-model", "width of a token vector", model.d_model, 1);
  size("--heads", "heads of a layer", model.n_heads, 1);
  size("--layers", "layers", model.n_layers, 1);
  size("--d-ff", "width inside the feed-forward, 0 for none", model.d_ff, 0);
  size("--max-positions", "most tokens of an input", model.max_positions, 1);
  size("--seed", "of the random numbers", model.seed, 0);
  list.value("--words", "FILE", "vocabulary of whole words, one a line", named_into(model.words, "--words"));
  list.value("--tokenizer", "FILE", "a tokenizer.json instead", named_into(model.tokenizer, "--tokenizer"));
  list.value("--to", "KIND", "json or safetensors (default json)", [&](const std::string& word) {
    model.to = choose<const char*>("--to", word, {{"json", "json"}, {"safetensors", "safetensors"}});
  });
  list.value("-o,--output", "PATH", "file or folder to write", named_into(model.output, "--output"));
}

void check_windows(const Options& options) {
  const WindowOptions& windows = options.windows;
  if (!windows.asked()) {
    if (windows.overlap) throw_usage("--stride: expected --chunk or --late-chunk with it, got none");
    if (windows.joined) throw_usage("--chunk-pooling: expected --chunk or --late-chunk with it, got none");
    return;
  }
  if (options.input.pair) throw_usage("--pair: expected a single text to cut into windows, got a pair");
  if (options.tokenizing.truncation == Truncation::error) {
    throw_usage("--truncation error: expected texts that may be cut, got --chunk or --late-chunk, which cut them");
  }
  if (!windows.late && windows.overlap && *windows.overlap >= windows.tokens) {
    throw_usage("--stride: expected less than the " + std::to_string(windows.tokens) + " tokens of --chunk, got " +
                std::to_string(*windows.overlap));
  }
  if (const std::optional<Parts>& parts = options.output.parts;
      parts && (parts->tokens || parts->last_hidden_state || parts->hidden_states || parts->attentions)) {
    throw_usage("--with: expected text or embedding of windows, got another part; leave --chunk and --late-chunk out");
  }
}

void check_quantize(const QuantizeOptions& quantize) {
  const bool ranged = !quantize.ranges.empty() || !quantize.calibrate.empty();
  if (ranged && quantize.type != VectorType::int8) {
    throw_usage(std::string(quantize.ranges.empty() ? "--calibrate" : "--quantize-ranges") +
                ": expected --quantize int8 with it, got none");
  }
  if (!quantize.ranges.empty() && !quantize.calibrate.empty()) {
    throw_usage("--quantize-ranges and --calibrate: expected one of them, got both; leave one out");
  }
}

}  // namespace

std::string_view format_name(Format format) {
  for (const auto& [value, name] : kFormatNames) {
    if (value == format) return name;
  }
  return "auto";
}

OptionList global_options(Options& options, const Command* command) {
  const bool converts = command != nullptr && command->has(kConverting);
  GlobalOptions& global = options.global;
  OptionList list;
  list.group("Global");
  list.value("-m,--model", "MODEL", "folder, file or name of a model (default: $MHA_MODEL, else the built-in one)",
             named_into(global.model, "--model"));
  list.value("-t,--threads", "N", "threads to work with (default: the CPUs this process may use)",
             [&](const std::string& text) { global.threads = parse_bounded("--threads", text, 1, kMostThreads); });
  list.value("--backend", "NAME", "auto, native, onednn, openblas or reference", [&](const std::string& word) {
    global.backend = choose<const char*>("--backend", word,
                                         {{"auto", "auto"},
                                          {"native", "native"},
                                          {"onednn", "onednn"},
                                          {"openblas", "openblas"},
                                          {"reference", "reference"}});
  });
  list.value("--dtype", "TYPE",
             converts ? "numbers that are written: f32, f16, bf16 or int8 (default: as they are)"
                      : "arithmetic: auto, f32, bf16, int8 or bf16x3 (auto has the accuracy of f32)",
             [&](const std::string& word) {
               global.dtype = choose<const char*>("--dtype", word,
                                                  {{"auto", "auto"},
                                                   {"f32", "f32"},
                                                   {"bf16", "bf16"},
                                                   {"int8", "int8"},
                                                   {"bf16x3", "bf16x3"},
                                                   {"f16", "f16"}});
             });
  list.flag("-q,--quiet", "no warnings, no progress", [&] { global.quiet = true; });
  list.flag("-v,--verbose", "say more about what happens (repeatable)", [&] { ++global.verbose; });
  list.value("--log-format", "FORMAT", "text or json: one object a line on stderr", [&](const std::string& word) {
    global.log_format = choose<LogFormat>("--log-format", word, {{"text", LogFormat::text}, {"json", LogFormat::json}});
  });
  list.value("--color", "WHEN", "auto, always or never (auto: on a terminal, unless NO_COLOR is set)",
             [&](const std::string& word) { global.color = parse_when("--color", word); });
  list.value("--progress", "WHEN", "auto, always or never (auto: when stderr is a terminal)",
             [&](const std::string& word) { global.progress = parse_when("--progress", word); });
  return list;
}

OptionList command_options(const Command& command, Options& options) {
  OptionList list;
  if (command.has(kDecoding)) declare_tokenize(list, options.tokenize);
  if (command.has(kMatrix)) {
    list.group("Similarity");
    list.flag("--matrix", "compare every input with every other", [&] { options.matrix = true; });
  }
  if (command.has(kTopK) || command.has(kEntities)) declare_task(list, command, options.task);
  if (command.has(kMeasuring)) declare_bench(list, options.bench);
  if (command.has(kConverting)) declare_convert(list, command, options.model, options.output);
  if (command.has(kFresh)) declare_init(list, options.model);
  if (command.has(kToken)) {
    list.group("Explanation");
    list.value("--token", "TOKEN", "the token that is followed, by its text, or #3 by position",
               into(options.study.token));
  }
  if (command.has(kAgainst)) declare_against(list, options.study);
  if (command.has(kCorpus)) declare_corpus(list, options.questions, options.study);
  if (command.has(kQuestions)) declare_questions(list, options.questions);
  if (command.has(kSelection)) declare_selection(list, options.encoding, command.has(kToken));
  if (command.has(kAblation)) {
    list.group("Heads");
    list.value("--ablate", "LIST", "heads that contribute nothing, such as 0.3,1.* (layer.head)",
               [&](const std::string& text) { options.encoding.ablate = parse_ablate(text); });
  }
  if (command.has(kPooling)) declare_pooling(list, options.encoding);
  if (command.has(kQuantize)) declare_quantize(list, options.quantize);
  if (command.has(kWindows)) declare_windows(list, options.windows);
  if (command.has(kInputs)) declare_inputs(list, options.input);
  if (command.has(kTokenizing)) declare_tokenizing(list, options.tokenizing);
  if (command.has(kParts)) declare_parts(list, options.output);
  if (command.has(kOffsets)) declare_offsets(list, options.output);
  if (command.has(kOutput)) declare_output(list, command, options.output);
  if (command.has(kResume)) {
    list.flag("--resume",
              "go on where an earlier run of the same command stopped; needs --format jsonl and --output FILE",
              [&] { options.output.resume = true; });
  }
  return list;
}

void check_options(const Options& options) {
  const InputOptions& input = options.input;
  if (!input.texts.empty() && !input.files.empty()) {
    throw_usage("TEXT and --input: expected one of them, got both; leave one out");
  }
  if (input.pair && input.texts.size() != 1) {
    throw_usage("--pair: expected exactly one TEXT, got " + std::to_string(input.texts.size()) +
                "; for many pairs use JSON Lines with text and text_pair");
  }
  if (input.pair && options.command->has(kSingle)) {
    throw_usage("--pair: expected a single text for " + std::string(options.command->name) + ", got a pair");
  }
  if (input.pair && !options.task.labels.empty()) {
    throw_usage("--pair and --labels: expected one of them, got both; a label is the second segment");
  }
  check_windows(options);
  check_quantize(options.quantize);
  if (input.text_key == input.pair_key || input.text_key == input.id_key || input.pair_key == input.id_key) {
    throw_usage("--text-key, --pair-key and --id-key: expected three different keys, got " + input.text_key + ", " +
                input.pair_key + " and " + input.id_key);
  }
  if (options.tokenizing.prompt.text && options.tokenizing.prompt.name) {
    throw_usage("--prompt and --prompt-name: expected one of them, got both; leave one out");
  }
  if (options.global.dtype == (options.command->has(kConverting) ? "bf16x3" : "f16")) {
    throw_usage(options.command->has(kConverting) ? "--dtype: expected f32, f16, bf16 or int8 to write, got bf16x3"
                                                  : "--dtype: expected auto, f32, bf16, int8 or bf16x3, got f16");
  }
  const TaskOptions& task = options.task;
  if (task.labels.empty() && task.multi_label) throw_usage("--multi-label: expected --labels with it, got none");
  if (task.all_scores && task.top_k) {
    throw_usage("--all-scores and --top-k: expected one of them, got both; leave one out");
  }
  const AttentionQuestions& questions = options.questions;
  if (questions.rollout && (questions.average_layers || questions.average_heads)) {
    throw_usage("--rollout and --average: expected one of them, got both; leave one out");
  }
  if (questions.rollout && (!options.encoding.layers.empty() || !options.encoding.heads.empty())) {
    throw_usage("--rollout: expected all layers and heads, got a selection; leave --layer and --head out");
  }
  if ((options.output.format == Format::csv || options.output.format == Format::tsv) &&
      !questions.find.empty() + (questions.top > 0) + questions.stats > 1) {
    throw_usage("--format " + std::string(format_name(options.output.format)) +
                ": expected one of --find, --top and --stats, got more; leave one out");
  }
  const bool reads_stdin = options.command->has(kInputs) && !options.command->has(kMeasuring) && input.texts.empty() &&
                           input.files.empty() && options.study.conllu.empty();
  if (reads_stdin && isatty(STDIN_FILENO) != 0) {
    const std::string name(options.command->name);
    throw_usage(name + ": expected TEXT, --input FILE or a pipe on standard input, got a terminal\nUsage: mha-cli " +
                name + " [OPTION]… TEXT…; see 'mha-cli " + name + " --help'");
  }
  if (options.output.resume && (options.output.file.empty() || options.output.file == "-")) {
    throw_usage("--resume: expected --output FILE with it, got none");
  }
  const Format format =
      options.output.format == Format::automatic ? options.command->formats[0] : options.output.format;
  if (options.output.resume && format != Format::jsonl) {
    throw_usage("--resume: expected --format jsonl, got " + std::string(format_name(format)));
  }
  const bool rows_only = options.output.format == Format::npy || options.output.format == Format::npz ||
                         options.output.format == Format::raw || options.output.format == Format::ids;
  if (input.on_error == OnError::record && rows_only) {
    throw_usage("--on-error record: expected a format with room for messages (json, jsonl, csv, tsv, table), got " +
                std::string(format_name(options.output.format)));
  }
}

}  // namespace mha::cli
