#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/record_run.hpp"
#include "cli/terminal.hpp"
#include "core/json_text.hpp"
#include "core/numbers.hpp"
#include "io/mapped_file.hpp"
#include "io/output_stream.hpp"
#include "io/text_reader.hpp"
#include "mha/core/error.hpp"
#include "model/model_tools.hpp"
#include "output/json_values.hpp"
#include "output/terminal_text.hpp"
#include "output/text_table.hpp"

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

bool wants_json(const Options& options) { return options.format() == Format::json; }

/// Members of one JSON object, in the order they are added.
class JsonObject {
 public:
  JsonObject& text(const char* key, std::string_view value) {
    name(key);
    append_json_piece(out_, value);
    return *this;
  }
  JsonObject& number(const char* key, std::size_t value) {
    name(key);
    append_number(out_, value);
    return *this;
  }
  JsonObject& raw(const char* key, std::string_view json) {
    name(key);
    out_ += json;
    return *this;
  }
  std::string done() const { return out_ + '}'; }

 private:
  void name(const char* key) {
    if (out_.size() > 1) out_ += ',';
    append_json_string(out_, key);
    out_ += ':';
  }

  std::string out_ = "{";
};

template <class Values, class ToJson>
std::string json_list(const Values& values, ToJson to_json) {
  std::string out = "[";
  for (const auto& value : values) (out += out.size() > 1 ? "," : "") += to_json(value);
  return out + ']';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_piece(out, text);
  return out;
}

std::string pooling_text(const SentenceConfig& sentence) {
  std::string text;
  for (const PoolingMode mode : sentence.pooling) (text += text.empty() ? "" : "+") += name_of(mode);
  return text;
}

void write_all(const Options& options, std::string_view text) {
  const auto out = open_output(options);
  out->write(text);
  out->commit();
}

int list(const Options& options, Log&) {
  refuse_arguments(options);
  const std::vector<ModelLocation> models = list_models(model_search());
  const auto kind = [](const ModelLocation& model) {
    switch (model.kind) {
      case ModelLocation::Kind::folder:
        return "folder";
      case ModelLocation::Kind::json_file:
        return "file";
      case ModelLocation::Kind::builtin:
        return "built-in";
    }
    return "";
  };
  std::string text;
  if (wants_json(options)) {
    text = json_list(
               models,
               [&](const ModelLocation& model) {
                 return JsonObject().text("name", model.name).text("kind", kind(model)).text("path", model.path).done();
               }) +
           '\n';
  } else {
    TextTable table({{"name"}, {"kind"}, {"path"}});
    for (const ModelLocation& model : models) {
      table.add({model.name, kind(model), model.kind == ModelLocation::Kind::builtin ? "" : model.path});
    }
    table.append_to(text, terminal_columns(STDOUT_FILENO));
  }
  write_all(options, text);
  return 0;
}

std::string info_json(const ModelInfo& info) {
  JsonObject object;
  object.text("name", info.name).text("path", info.path).text("family", info.family).raw("config", info.config_json);
  object.number("parameters", info.parameters).number("bytes", info.bytes).text("dtype", info.dtype);
  object.raw("parts", json_list(info.parts, [](const ModelInfo::Part& part) {
               return JsonObject()
                   .text("name", part.name)
                   .number("parameters", part.parameters)
                   .number("bytes", part.bytes)
                   .done();
             }));
  object.number("memory", info.memory);
  object.raw("max_length", info.max_length ? std::to_string(*info.max_length) : "null");
  object.text("pooling", pooling_text(info.sentence)).raw("normalize", info.sentence.normalize ? "true" : "false");
  JsonObject prompts;
  for (const auto& [name, text] : info.sentence.prompts) prompts.text(name.c_str(), text);
  JsonObject tokenizer;
  for (const auto& [name, value] : info.tokenizer) tokenizer.text(name.c_str(), value);
  object.raw("prompts", prompts.done()).raw("tokenizer", tokenizer.done());
  object.raw("decisions", json_list(info.decisions, [](const Decision& decision) {
               return JsonObject()
                   .text("what", decision.what)
                   .text("value", decision.value)
                   .text("from", decision.from)
                   .done();
             }));
  object.raw("files", json_list(info.files, [](const ModelFile& file) {
               return JsonObject().text("path", file.path).number("bytes", file.bytes).done();
             }));
  object.raw("unused_tensors", json_list(info.unused_tensors, quoted));
  object.number("embedding_width", info.embedding_width).raw("tasks", json_list(info.tasks, quoted));
  object.raw("ignored_keys", json_list(info.ignored_keys, quoted)).raw("notes", json_list(info.notes, quoted));
  return object.done() + '\n';
}

// Decisions as a table. Where they came from is never cut: it goes on below, as far as columns go.
void append_decisions(std::string& text, const std::vector<Decision>& decisions, std::size_t columns) {
  std::size_t what_width = display_width("what");
  std::size_t value_width = display_width("value");
  for (const Decision& decision : decisions) {
    what_width = std::max(what_width, display_width(escape_controls(decision.what)));
    value_width = std::max(value_width, display_width(escape_controls(decision.value)));
  }
  what_width = std::min(what_width, columns / 3);
  value_width = std::min(value_width, columns / 4);
  const std::size_t indent = what_width + value_width + 4;
  const std::size_t room = columns > indent + 8 ? columns - indent : columns;
  const auto row = [&](const std::string& what, const std::string& value, const std::string& from) {
    text += pad_right(escape_controls(what), what_width) + "  " + pad_right(escape_controls(value), value_width) + "  ";
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < from.size();) {
      const std::size_t end = std::min(from.find(' ', begin), from.size());
      const std::string_view word = std::string_view(from).substr(begin, end - begin);
      if (used > 0 && used + 1 + display_width(word) > room) {
        (text += '\n').append(columns - room, ' ');
        used = 0;
      }
      if (used > 0) text += ' ';
      used += (used > 0 ? 1 : 0) + display_width(word);
      text += word;
      begin = end + 1;
    }
    text += '\n';
  };
  row("what", "value", "from");
  for (const Decision& decision : decisions) row(decision.what, decision.value, escape_controls(decision.from));
}

std::string info_table(const ModelInfo& info) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  std::string text;
  TextTable facts({{""}, {""}});
  facts.add({"name", info.name});
  facts.add({"path", info.path});
  facts.add({"family", info.family});
  facts.add({"parameters", std::to_string(info.parameters)});
  facts.add({"bytes", std::to_string(info.bytes)});
  facts.add({"dtype", info.dtype});
  facts.add({"max length", info.max_length ? std::to_string(*info.max_length) : "none"});
  facts.add({"embedding width", std::to_string(info.embedding_width)});
  facts.append_to(text, columns);
  text += "\nDecisions\n";
  append_decisions(text, info.decisions, columns);
  text += "\nParameters\n";
  TextTable parts({{"part"}, {"numbers", Align::right}, {"bytes", Align::right}});
  for (const ModelInfo::Part& part : info.parts) {
    parts.add({part.name, std::to_string(part.parameters), std::to_string(part.bytes)});
  }
  parts.append_to(text, columns);
  text += "in memory: " + std::to_string(info.memory) + " bytes\n";
  text += "\nTokenizer\n";
  TextTable tokenizer({{""}, {""}});
  for (const auto& [name, value] : info.tokenizer) tokenizer.add({name, value});
  tokenizer.append_to(text, columns);
  if (!info.sentence.prompts.empty()) {
    text += "\nPrompts\n";
    TextTable prompts({{""}, {""}});
    for (const auto& [name, value] : info.sentence.prompts) prompts.add({name, value});
    prompts.append_to(text, columns);
  }
  text += "\nFiles\n";
  TextTable files({{"path"}, {"bytes", Align::right}});
  for (const ModelFile& file : info.files) files.add({file.path, std::to_string(file.bytes)});
  files.append_to(text, columns);
  const auto add_list = [&](const char* title, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    ((text += '\n') += title) += '\n';
    TextTable table(std::vector<TextTable::Column>{{""}});
    for (const std::string& entry : entries) table.add({entry});
    table.append_to(text, columns);
  };
  add_list("Heads", info.tasks);
  add_list("Unused tensors", info.unused_tensors);
  add_list("Ignored config keys", info.ignored_keys);
  add_list("Notes", info.notes);
  return text;
}

int info(const Options& given, Log&) {
  const Options options = with_named_model(given);
  const ModelInfo model = model_info(choose_model(options), load_options(options));
  write_all(options, wants_json(options) ? info_json(model) : info_table(model));
  return 0;
}

int verify(const Options& given, Log& log) {
  const Options options = with_named_model(given);
  const ModelLocation location = choose_model(options);
  const ModelReport report = verify_model(location, load_options(options));
  std::string text;
  if (wants_json(options)) {
    JsonObject object;
    object.text("name", location.name).raw("sound", report.problems.empty() ? "true" : "false");
    object.raw("problems", json_list(report.problems, quoted)).raw("notes", json_list(report.notes, quoted));
    object.raw("abilities", json_list(report.abilities, quoted));
    object.raw("files", json_list(report.files, [](const ModelFile& file) {
                 return JsonObject().text("path", file.path).number("bytes", file.bytes).done();
               }));
    text = object.done() + '\n';
  } else {
    const std::size_t columns = terminal_columns(STDOUT_FILENO);
    TextTable files({{"checked"}, {"bytes", Align::right}});
    for (const ModelFile& file : report.files) files.add({file.path, std::to_string(file.bytes)});
    files.append_to(text, columns);
    for (const std::string& note : report.notes) text += "note: " + note + '\n';
    for (const std::string& ability : report.abilities) text += ability + '\n';
    if (report.problems.empty()) text += location.name + ": sound\n";
  }
  write_all(options, text);
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
  for (InputRecord input; reader.next(input);) {
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
  const EmbeddingDrift drift = embedding_drift(*before, *after, texts);
  const auto number = [](double value) {
    std::string text;
    append_float(text, static_cast<float>(value));
    return text;
  };
  std::string text;
  if (wants_json(options)) {
    text = JsonObject()
               .number("texts", drift.texts)
               .raw("mean_cosine", number(drift.mean_cosine))
               .raw("least_cosine", number(drift.least_cosine))
               .raw("max_abs", number(drift.max_abs))
               .done() +
           '\n';
  } else {
    TextTable table({{""}, {"", Align::right}});
    table.add({"texts", std::to_string(drift.texts)});
    table.add({"mean cosine", number(drift.mean_cosine)});
    table.add({"least cosine", number(drift.least_cosine)});
    table.add({"largest difference", number(drift.max_abs)});
    table.append_to(text, terminal_columns(STDOUT_FILENO));
  }
  OutputStream out("-");
  out.write(text);
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
