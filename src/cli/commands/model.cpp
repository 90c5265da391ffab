#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/record_run.hpp"
#include "cli/terminal.hpp"
#include "io/mapped_file.hpp"
#include "io/output_stream.hpp"
#include "io/text_reader.hpp"
#include "mha/core/error.hpp"
#include "model/model_tools.hpp"
#include "output/model_texts.hpp"

namespace mha::cli {
namespace {

// `model info MODEL` is the same as `model info -m MODEL`.
Options with_named_model(const Options& options) {
  Options named = options;
  const std::vector<std::string>& names = options.input.texts;
  if (names.empty()) return named;
  if (names.size() > 1 || !options.global.model.empty()) {
    throw_usage(std::string(options.command->name) + ": expected one model, got more");
  }
  named.global.model = names[0];
  return named;
}

void refuse_arguments(const Options& options) {
  if (options.input.texts.empty()) return;
  throw_usage(std::string(options.command->name) + ": expected no argument, got \"" + options.input.texts[0] + '"');
}

std::size_t columns() { return terminal_columns(STDOUT_FILENO); }

void write_all(const Options& options, std::string_view text) {
  const auto out = open_output(options);
  out->write(text);
  out->commit();
}

int list(const Options& options, Log&) {
  refuse_arguments(options);
  write_all(options, model_list_text(list_models(model_search()), options.format(), columns()));
  return 0;
}

int info(const Options& given, Log&) {
  const Options options = with_named_model(given);
  const ModelInfo model = model_info(choose_model(options), load_options(options));
  write_all(options, model_info_text(model, options.format(), columns()));
  return 0;
}

int verify(const Options& given, Log& log) {
  const Options options = with_named_model(given);
  const ModelLocation location = choose_model(options);
  const ModelReport report = verify_model(location, load_options(options));
  write_all(options, model_report_text(location.name, report, options.format(), columns()));
  for (const std::string& problem : report.problems) log.error(problem);
  return report.problems.empty() ? 0 : 3;
}

struct ConvertRequest {
  std::string to;  ///< "json", "safetensors", or empty
  std::string dtype = "auto";
  std::string output;
  std::string quality;  ///< texts to measure the loss on
};

void declare_convert(OptionList& list, Options& options) {
  auto& own = options.own<ConvertRequest>();
  list.group("Convert");
  list.choice("--to", "KIND", "what is written", own.to, {{"json", "json"}, {"safetensors", "safetensors"}});
  list.choice("--dtype", "TYPE", "numbers that are written", own.dtype,
              {{"f32", "f32"}, {"f16", "f16"}, {"bf16", "bf16"}, {"int8", "int8"}, {"auto", "auto"}})
      .by_default("as they are");
  list.named("-o,--output", "PATH", "folder or file to write", ValueKind::output, own.output);
  list.value("--quality", "FILE", "compare the sentence vectors of the texts in FILE with those of the model as it was",
             ValueKind::file, [&own](const std::string& file) { own.quality = file; });
  declare_format(list, options, "format of what --quality prints");
}

// The texts of --quality, before anything is written.
std::vector<std::string> quality_texts(const std::string& file) {
  std::vector<std::string> texts;
  if (file.empty()) return texts;
  TextReader reader = TextReader::from_files({file});
  for (Input input; reader.next(input);) {
    if (!input.error.empty()) throw_input(input.error);
    texts.push_back(std::move(input.text));
  }
  if (texts.empty()) throw_input("--quality: " + file + ": expected texts, got none");
  return texts;
}

// How far the sentence vectors of the converted model are from those of the model as it was.
void write_quality(const Options& options, const ModelLocation& location, const std::vector<std::string>& texts) {
  LoadOptions load = load_options(options);
  load.dtype = "auto";
  const auto before = Model::load(location, load);
  const auto after = Model::load(find_model(options.own<ConvertRequest>().output, model_search()), load);
  OutputStream out("-");
  out.write(drift_text(embedding_drift(*before, *after, texts), options.format(), columns()));
  out.commit();
}

int convert(const Options& given, Log& log) {
  const Options options = with_named_model(given);
  const auto& own = options.own<ConvertRequest>();
  if (own.output.empty()) throw_usage("model convert: expected --output PATH, got none");
  ConvertOptions convert;
  convert.to = own.to == "json" ? ModelFormat::json : ModelFormat::safetensors;
  if (own.dtype != "auto") convert.dtype = own.dtype;
  convert.output = own.output;
  const ModelLocation location = choose_model(options);
  const std::vector<std::string> texts = quality_texts(own.quality);
  for (const std::string& fact : convert_model(location, convert)) log.fact(fact);
  if (!own.quality.empty()) write_quality(options, location, texts);
  return 0;
}

struct InitRequest {
  std::size_t d_model = 64;
  std::size_t n_heads = 4;
  std::size_t n_layers = 2;
  std::size_t d_ff = 256;
  std::size_t max_positions = 512;
  std::string words;      ///< a file with one word per line
  std::string tokenizer;  ///< a tokenizer.json
  std::uint64_t seed = 0;
  std::string to = "json";
  std::string output;
};

void declare_init(OptionList& list, Options& options) {
  auto& own = options.own<InitRequest>();
  list.group("Init");
  const auto size = [&list](const char* name, const char* help, std::size_t& target, std::size_t least) {
    list.count(name, "N", help, target, least).by_default(std::to_string(target));
  };
  size("--d-model", "width of a token vector", own.d_model, 1);
  size("--heads", "heads of a layer", own.n_heads, 1);
  size("--layers", "layers", own.n_layers, 1);
  size("--d-ff", "width inside the feed-forward, 0 for none", own.d_ff, 0);
  size("--max-positions", "most tokens of an input", own.max_positions, 1);
  size("--seed", "of the random numbers", own.seed, 0);
  list.named("--words", "FILE", "vocabulary of whole words, one per line", ValueKind::file, own.words);
  list.named("--tokenizer", "FILE", "a tokenizer.json instead", ValueKind::file, own.tokenizer).ends_in({".json"});
  list.choice("--to", "KIND", "what is written", own.to, {{"json", "json"}, {"safetensors", "safetensors"}});
  list.named("-o,--output", "PATH", "file or folder to write", ValueKind::output, own.output);
}

std::vector<std::string> words_of(const std::string& file) {
  std::vector<std::string> words;
  const std::string text = read_file(file, ErrorKind::input);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    if (word.ends_with('\r')) word.pop_back();
    if (!word.empty()) words.push_back(std::move(word));
    begin = end + 1;
  }
  return words;
}

int init(const Options& options, Log&) {
  refuse_arguments(options);
  const auto& asked = options.own<InitRequest>();
  if (asked.output.empty()) throw_usage("model init: expected --output PATH, got none");
  if (asked.words.empty() == asked.tokenizer.empty()) {
    throw_usage("model init: expected --words FILE or --tokenizer FILE, got " +
                std::string(asked.words.empty() ? "neither" : "both"));
  }
  if (asked.d_model % asked.n_heads != 0) {
    throw_usage("--d-model: expected a multiple of --heads (" + std::to_string(asked.n_heads) + "), got " +
                std::to_string(asked.d_model));
  }
  InitOptions init;
  init.config.d_model = asked.d_model;
  init.config.n_heads = asked.n_heads;
  init.config.n_kv_heads = asked.n_heads;
  init.config.d_head = asked.d_model / asked.n_heads;
  init.config.n_layers = asked.n_layers;
  init.config.d_ff = asked.d_ff;
  if (asked.d_ff == 0) init.config.feed_forward = ModelConfig::FeedForward::none;
  init.config.max_positions = asked.max_positions;
  init.config.position.sinusoidal = PositionConfig::Sinusoidal::interleaved;
  if (!asked.words.empty()) init.words = words_of(asked.words);
  init.tokenizer_file = asked.tokenizer;
  init.seed = asked.seed;
  init.format = asked.to == "safetensors" ? ModelFormat::safetensors : ModelFormat::json;
  init.output = asked.output;
  init_model(init);
  return 0;
}

}  // namespace

const Command kModelList{
    .name = "model list",
    .summary = "models that can be named",
    .about =
        "Prints the models that -m finds by name: built in, installed, in $MHA_MODEL_PATH, and in the Hugging Face "
        "cache.",
    .options = {&kOutput},
    .formats = {Format::table, Format::json},
    .run = list,
};

const Command kModelInfo{
    .name = "model info",
    .summary = "sizes and files of a model, and the source of every decision",
    .arguments = "[MODEL]",
    .about =
        "Prints sizes, switches, tokenizer, prompts and files of a model. For each decision of the loader it prints "
        "the file and key that decided.",
    .examples = {"mha-cli model info", "mha-cli model info models/all-MiniLM-L6-v2 --format json"},
    .options = {&kOutput},
    .formats = {Format::table, Format::json},
    .run = info,
};

const Command kModelVerify{
    .name = "model verify",
    .summary = "check every file of a model",
    .arguments = "[MODEL]",
    .about =
        "Checks every file of a model and runs the model once. Lists everything that is wrong; the exit code is then "
        "3.",
    .examples = {"mha-cli model verify models/all-MiniLM-L6-v2"},
    .options = {&kOutput},
    .formats = {Format::table, Format::json},
    .run = verify,
};

const Command kModelConvert{
    .name = "model convert",
    .summary = "write a model in another format or number type",
    .arguments = "[MODEL]",
    .about =
        "Writes a model as a safetensors folder or as one readable JSON file, if asked with another number type. "
        "--quality says what that costs: the cosine and the largest difference of the sentence vectors of some texts, "
        "before and after.",
    .examples = {"mha-cli model convert two-heads --to json -o two-heads.json",
                 "mha-cli model convert models/all-MiniLM-L6-v2 --to safetensors --dtype int8 -o minilm-int8 --quality "
                 "texts.txt"},
    .declare = declare_convert,
    .formats = {Format::table, Format::json},
    .run = convert,
};

const Command kModelInit{
    .name = "model init",
    .summary = "write a fresh model with random weights",
    .about =
        "Writes an encoder in the style of Vaswani et al. (2017) with random weights, to teach or to train: sinusoidal "
        "positions, a norm after each residual, ReLU. The same seed gives the same bytes on every machine.",
    .examples = {"mha-cli model init --words words.txt --d-model 64 --heads 4 --layers 2 -o small.json"},
    .declare = declare_init,
    .run = init,
};

}  // namespace mha::cli
