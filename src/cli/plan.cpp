#include "cli/plan.hpp"

#include <algorithm>

#include "cli/choice.hpp"
#include "cli/command.hpp"
#include "cli/declare.hpp"
#include "cli/ranges.hpp"
#include "cli/source.hpp"
#include "cli/terminal.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

// `asks`: answers stand instead of the maps that they rest on.
Parts default_parts(RecordKind kind, Format format, bool asks) {
  Parts parts;
  switch (kind) {
    case RecordKind::encode:
      parts.text = parts.tokens = parts.embedding = parts.last_hidden_state = true;
      parts.attentions = format == Format::table;
      break;
    case RecordKind::embed:
      parts.embedding = true;
      break;
    case RecordKind::attention:
      parts.text = parts.tokens = true;
      parts.attentions = !asks;
      break;
    case RecordKind::tokenize:
      parts.text = parts.tokens = true;
      break;
    case RecordKind::decode:
    case RecordKind::task:
      parts.text = true;
      break;
    case RecordKind::similarity:
      break;
  }
  return parts;
}

// npy and raw hold one array: the only one that --with names, else the one that the command is about.
Parts single_array(RecordKind kind, const std::optional<Parts>& asked, Format format) {
  constexpr bool Parts::*kArrays[] = {&Parts::embedding, &Parts::last_hidden_state, &Parts::hidden_states,
                                      &Parts::attentions};
  bool Parts::*chosen = &Parts::embedding;
  if (kind == RecordKind::encode) chosen = &Parts::last_hidden_state;
  if (kind == RecordKind::attention) chosen = &Parts::attentions;
  if (asked && !((*asked).*chosen)) {
    std::size_t count = 0;
    for (bool Parts::*array : kArrays) {
      if (!((*asked).*array)) continue;
      chosen = array;
      ++count;
    }
    if (count != 1) {
      throw_usage("--with: expected one array for --format " + std::string(format_name(format)) + ", got " +
                  std::to_string(count));
    }
  }
  Parts parts;
  parts.*chosen = true;
  return parts;
}

// What a format has no place for is not computed.
Parts parts_for(RecordKind kind, Format format, const std::optional<Parts>& asked, bool asks) {
  if (format == Format::npy || format == Format::raw) return single_array(kind, asked, format);
  Parts parts = asked.value_or(default_parts(kind, format, asks));
  if (format == Format::csv || format == Format::tsv) {
    if (kind == RecordKind::attention) parts = {.attentions = true};
    if (kind == RecordKind::encode) parts = {.tokens = true, .last_hidden_state = parts.last_hidden_state};
    if (kind == RecordKind::embed) parts = {.text = parts.text, .embedding = parts.embedding};
  }
  const bool drawn =
      format == Format::heatmap || format == Format::html || format == Format::svg || format == Format::png;
  if (drawn || (kind == RecordKind::attention && format == Format::table))
    parts = {.text = true, .tokens = true, .attentions = true};
  return parts;
}

bool holds_one_input(Format format, RecordKind kind) {
  if (format == Format::npy) return kind != RecordKind::embed;
  return format == Format::html || format == Format::svg || format == Format::png;
}

// `embed` and `similarity` use the model's default prompt, other commands only one that was asked for.
std::string prompt_of(const Options& options, RecordKind kind, const SentenceConfig& sentence) {
  const TokenizingOptions& asked = options.tokenizing;
  if (kind == RecordKind::embed || kind == RecordKind::similarity) return choose_prompt(sentence, asked.prompt);
  if (!asked.prompt.text && !asked.prompt.name && !asked.prompt.role) return "";
  SentenceConfig without_default = sentence;
  without_default.default_prompt_name.clear();
  return choose_prompt(without_default, asked.prompt);
}

void plan_common(Plan& plan, const Options& options, RecordKind kind, const SentenceConfig& sentence) {
  plan.format = options.output.format == Format::automatic ? options.command->formats[0] : options.output.format;
  const bool picture = plan.format == Format::html || plan.format == Format::svg || plan.format == Format::png;
  if (picture && options.questions.asks()) {
    throw_usage("--format " + std::string(format_name(plan.format)) +
                ": expected a format with room for answers (table, json, jsonl, csv, tsv), got a picture");
  }
  if (options.input.texts.size() > 1 && holds_one_input(plan.format, kind)) {
    throw_usage("--format " + std::string(format_name(plan.format)) + ": expected one input, got " +
                std::to_string(options.input.texts.size()));
  }
  RecordSchema& schema = plan.schema;
  schema.kind = kind;
  schema.parts =
      parts_for(kind, plan.format, options.output.parts, options.questions.asks() || options.questions.rollout);
  schema.offsets = options.output.offsets;
  schema.digits = options.output.digits;
  schema.questions = options.questions;
  schema.ids = reads_json_lines(options.input);
  schema.errors = options.input.on_error == OnError::record;
  const bool to_stdout = options.output.file.empty() || options.output.file == "-";
  schema.columns = terminal_columns(STDOUT_FILENO);
  schema.color = to_stdout || options.global.color == When::always ? color_depth(options.global.color, STDOUT_FILENO)
                                                                   : ColorDepth::none;

  ModelWork& work = plan.work;
  work.encode.add_special_tokens = !options.tokenizing.no_special_tokens;
  work.encode.plain_specials = options.tokenizing.plain_specials;
  work.encode.keep = options.tokenizing.truncation == Truncation::tail ? TruncationSide::tail : TruncationSide::head;
  work.encode.stride = options.tokenize.stride;
  work.refuse_long = options.tokenizing.truncation == Truncation::error;
  work.prompt = prompt_of(options, kind, sentence);
  work.parts = schema.parts;
}

void plan_quantization(Plan& plan, const Options& options, std::size_t width) {
  const VectorType type = options.quantize.type;
  const bool bytes = type == VectorType::int8 || type == VectorType::binary;
  plan.schema.embedding_width = quantized_width(type, width);
  if (bytes) plan.schema.embedding_type = EmbeddingType::int8;
  if (type == VectorType::ubinary) plan.schema.embedding_type = EmbeddingType::uint8;
  plan.work.quantization.type = type;
  if (type != VectorType::int8) return;
  if (!options.quantize.ranges.empty()) {
    read_ranges(options.quantize.ranges, width, plan.work.quantization);
  } else if (options.quantize.calibrate.empty() && !plan.work.normalize) {
    throw_usage(
        "--quantize int8: expected unit vectors or ranges, got a model without normalisation; use --normalize l2, "
        "--quantize-ranges FILE or --calibrate FILE");
  }
}

void plan_windows(Plan& plan, const Options& options) {
  if (!options.windows.asked()) return;
  plan.schema.windows = !options.windows.joined;
  if (!options.windows.late) return;
  for (const PoolingMode mode : plan.work.sentence.pooling) {
    if (mode == PoolingMode::cls || mode == PoolingMode::pooler) {
      throw_usage("--late-chunk: expected a pooling over the tokens of a window (mean, max, last), got " +
                  std::string(name_of(mode)) + "; --pooling mean chooses another");
    }
  }
}

}  // namespace

Plan plan_encoding(const Options& options, RecordKind kind, const ModelHeader& header) {
  Plan plan;
  plan_common(plan, options, kind, header.sentence);
  const ModelConfig& config = header.config;
  const EncodingOptions& encoding = options.encoding;
  RecordSchema& schema = plan.schema;
  ModelWork& work = plan.work;

  schema.n_layers = config.n_layers;
  schema.d_model = config.d_model;
  schema.layers = resolve(encoding.layers, config.n_layers, "--layer");
  schema.heads = resolve(encoding.heads, config.n_heads, "--head");
  schema.name_layers_and_heads = !encoding.layers.empty() || !encoding.heads.empty();
  if (kind == RecordKind::similarity) work.parts.embedding = true;

  work.sentence = header.sentence;
  if (!encoding.pooling.empty()) work.sentence.pooling = encoding.pooling;
  work.normalize = encoding.normalize.value_or(header.sentence.normalize);
  work.dims = encoding.dims;
  const std::size_t width =
      work.sentence.dense.empty() ? config.d_model * work.sentence.pooling.size() : work.sentence.dense.back().out;
  if (work.dims > width) {
    throw_usage("--dims: expected at most " + std::to_string(width) + ", got " + std::to_string(work.dims));
  }
  plan_quantization(plan, options, work.dims > 0 ? work.dims : width);
  plan_windows(plan, options);

  work.wanted.hidden_states = work.parts.hidden_states;
  if (kind == RecordKind::attention && (options.questions.asks() || options.questions.changes_maps())) {
    work.parts.attentions = true;
  }
  if (work.parts.attentions) {
    work.wanted.attention_layers = schema.layers;
    work.wanted.attention_heads = schema.heads;
  }
  work.wanted.ablated = resolve_ablated(encoding.ablate, config.n_layers, config.n_heads);
  return plan;
}

Plan plan_tokenizing(const Options& options, const SentenceConfig& sentence) {
  Plan plan;
  plan_common(plan, options, options.tokenize.decode ? RecordKind::decode : RecordKind::tokenize, sentence);
  const Parts& parts = plan.schema.parts;
  if (parts.embedding || parts.last_hidden_state || parts.hidden_states || parts.attentions) {
    throw_usage("--with: expected text or tokens, got a part that needs the model; use encode");
  }
  return plan;
}

void use_tokenizer(Plan& plan, const Options& options, const Tokenizer& tokenizer,
                   std::optional<std::size_t> max_length) {
  plan.work.tokenizer = &tokenizer;
  plan.schema.tokenizer = &tokenizer;
  plan.work.encode.max_length = max_length;
  if (!max_length || options.tokenizing.no_special_tokens) return;
  const std::size_t specials = tokenizer.special_count(options.input.pair.has_value());
  if (*max_length < specials) {
    throw_usage("--max-length: expected room for the " + std::to_string(specials) + " special tokens, got " +
                std::to_string(*max_length));
  }
}

void use_model(Plan& plan, const Options& options, const Model& model) {
  use_tokenizer(plan, options, model.tokenizer(), model.max_length());
  plan.work.encoder = &model.encoder();
  const std::vector<PoolingMode> pooling = plan.work.sentence.pooling;
  plan.work.sentence = model.sentence();
  plan.work.sentence.pooling = pooling;
  const bool pools = std::find(pooling.begin(), pooling.end(), PoolingMode::pooler) != pooling.end();
  if (plan.work.parts.embedding && pools && !model.encoder().weights().pooler.weight.present()) {
    throw_usage("--pooling pooler: expected a model with pooler weights, got " + model.location().name +
                " without; use cls or mean");
  }
}

}  // namespace mha::cli
