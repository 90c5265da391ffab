#include "cli/plan.hpp"

#include <algorithm>

#include "cli/command.hpp"
#include "cli/ranges.hpp"
#include "cli/source.hpp"
#include "cli/terminal.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

// `asks`: answers are written instead of the maps that they rest on.
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
Parts single_array(RecordKind kind, const std::optional<Parts>& asked, const FormatInfo& format) {
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
      throw_usage("--with: expected one array for --format " + std::string(format.name) + ", got " +
                  std::to_string(count));
    }
  }
  Parts parts;
  parts.*chosen = true;
  return parts;
}

// What a format has no place for is not computed.
Parts parts_for(RecordKind kind, const FormatInfo& format, const std::optional<Parts>& asked, bool asks) {
  if (format.one_array) return single_array(kind, asked, format);
  Parts parts = asked.value_or(default_parts(kind, format.format, asks));
  if (format.delimited) {
    if (kind == RecordKind::attention) parts = {.attentions = true};
    if (kind == RecordKind::encode) parts = {.tokens = true, .last_hidden_state = parts.last_hidden_state};
    if (kind == RecordKind::embed) parts = {.text = parts.text, .embedding = parts.embedding};
  }
  if (format.drawn || (kind == RecordKind::attention && format.format == Format::table)) {
    parts = {.text = true, .tokens = true, .attentions = true};
  }
  return parts;
}

bool holds_one_input(const FormatInfo& format, RecordKind kind) {
  return format.one_input && !(format.one_array && kind == RecordKind::embed);
}

// `embed` and `similarity` use the model's default prompt, other commands only one that was asked for.
std::string prompt_of(const Options& options, RecordKind kind, const SentenceConfig& sentence) {
  const TokenOptions& asked = options.tokens;
  if (kind == RecordKind::embed || kind == RecordKind::similarity) return choose_prompt(sentence, asked.prompt);
  if (!asked.prompt.text && !asked.prompt.name && !asked.prompt.role) return "";
  SentenceConfig without_default = sentence;
  without_default.default_prompt_name.clear();
  return choose_prompt(without_default, asked.prompt);
}

Plan common_plan(const Options& options, const PlanRequest& request, const SentenceConfig& sentence) {
  Plan plan;
  plan.format = options.format();
  const FormatInfo& format = info(plan.format);
  if (format.drawn && format.one_input && options.questions.asks()) {
    throw_usage("--format " + std::string(format.name) +
                ": expected a format with room for answers (table, json, jsonl, csv, tsv), got a page or picture");
  }
  if (options.input.texts.size() > 1 && holds_one_input(format, request.kind)) {
    throw_usage("--format " + std::string(format.name) + ": expected one input, got " +
                std::to_string(options.input.texts.size()));
  }
  RecordSchema& schema = plan.schema;
  schema.kind = request.kind;
  schema.parts =
      parts_for(request.kind, format, options.output.parts, options.questions.asks() || options.questions.rollout);
  schema.offsets = options.output.offsets;
  schema.digits = options.output.digits;
  schema.questions = options.questions;
  schema.ids = reads_json_lines(options.input);
  schema.extra = options.input.pass_through;
  schema.errors = options.input.on_error == OnError::record;
  schema.scratch_folder = scratch_folder();
  schema.to_terminal = writes_to_terminal(options.output);
  schema.columns = terminal_columns(STDOUT_FILENO);
  schema.color = options.output.to_stdout() || options.global.color == When::always
                     ? color_depth(options.global.color, STDOUT_FILENO)
                     : ColorDepth::none;

  ModelWork& work = plan.work;
  work.encode.add_special_tokens = !options.tokens.no_special_tokens;
  work.encode.plain_specials = options.tokens.plain_specials;
  work.encode.keep = options.tokens.truncation == Truncation::tail ? TruncationSide::tail : TruncationSide::head;
  work.encode.stride = request.stride;
  work.refuse_long = options.tokens.truncation == Truncation::error;
  work.prompt = prompt_of(options, request.kind, sentence);
  work.parts = request.parts.value_or(schema.parts);
  return plan;
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

void plan_vectors(Plan& plan, const Options& options, const ModelHeader& header) {
  ModelWork& work = plan.work;
  work.sentence = header.sentence;
  if (!options.pooling.modes.empty()) work.sentence.pooling = options.pooling.modes;
  work.normalize = options.pooling.normalize.value_or(header.sentence.normalize);
  work.dims = options.pooling.dims;
  const std::size_t width = work.sentence.full_width(header.config.d_model);
  if (work.dims > width) {
    throw_usage("--dims: expected at most " + std::to_string(width) + ", got " + std::to_string(work.dims));
  }
  plan_quantization(plan, options, work.dims > 0 ? work.dims : work.sentence.width(header.config.d_model));
  plan_windows(plan, options);
}

// A model without layers has no attention: who asks for it is told, by default it is not shown.
void leave_attention_out(Plan& plan, const Options& options, const PlanRequest& request) {
  const bool asked = options.output.parts && options.output.parts->attentions;
  if (asked || request.kind == RecordKind::attention || (request.parts && request.parts->attentions)) {
    throw_usage("attention: expected a model with layers, got word vectors alone (a static embedding)");
  }
  plan.schema.parts.attentions = plan.work.parts.attentions = false;
}

}  // namespace

Plan make_plan(const Options& options, const PlanRequest& request, const ModelHeader& header) {
  Plan plan = common_plan(options, request, header.sentence);
  const ModelConfig& config = header.config;
  RecordSchema& schema = plan.schema;
  ModelWork& work = plan.work;

  schema.n_layers = config.n_layers;
  schema.d_model = config.d_model;
  schema.layers = resolve(options.heads.layers, config.n_layers, "--layer");
  schema.heads = resolve(options.heads.heads, config.n_heads, "--head");
  schema.name_layers_and_heads = !options.heads.layers.empty() || !options.heads.heads.empty();
  if (request.kind == RecordKind::similarity) work.parts.embedding = true;
  if (request.kind == RecordKind::attention && (options.questions.asks() || options.questions.changes_maps())) {
    work.parts.attentions = true;
  }
  plan_vectors(plan, options, header);
  if (config.n_layers == 0) leave_attention_out(plan, options, request);

  work.wanted.hidden_states = work.parts.hidden_states;
  if (work.parts.attentions) {
    work.wanted.attention_layers = schema.layers;
    work.wanted.attention_heads = schema.heads;
  }
  work.wanted.ablated = resolve_ablated(options.heads.ablate, config.n_layers, config.n_heads, "--ablate");
  for (std::size_t i = 0; i < work.wanted.ablated.size(); ++i) {
    if (work.wanted.ablated[i] != 0) schema.ablated.emplace_back(i / config.n_heads, i % config.n_heads);
  }
  return plan;
}

Plan make_plan(const Options& options, const PlanRequest& request, const SentenceConfig& sentence) {
  Plan plan = common_plan(options, request, sentence);
  const Parts& parts = plan.schema.parts;
  if (parts.embedding || parts.last_hidden_state || parts.hidden_states || parts.attentions) {
    throw_usage("--with: expected text or tokens, got a part that needs the model; use encode");
  }
  return plan;
}

PlannedWork with_tokenizer(const Plan& plan, const Options& options, const Tokenizer& tokenizer,
                           std::optional<std::size_t> max_length) {
  PlannedWork planned{plan.schema, plan.work};
  planned.schema.tokenizer = &tokenizer;
  planned.work.tokenizer = &tokenizer;
  planned.work.encode.max_length = max_length;
  if (options.tokens.truncation == Truncation::by_model) planned.work.encode.keep = tokenizer.kept_side();
  if (!max_length || options.tokens.no_special_tokens) return planned;
  const std::size_t specials = tokenizer.special_count(options.input.pair.has_value());
  if (*max_length < specials) {
    throw_usage("--max-length: expected room for the " + std::to_string(specials) + " special tokens, got " +
                std::to_string(*max_length));
  }
  return planned;
}

PlannedWork with_model(const Plan& plan, const Options& options, const Model& model) {
  PlannedWork planned = with_tokenizer(plan, options, model.tokenizer(), model.max_length());
  ModelWork& work = planned.work;
  work.encoder = &model.encoder();
  work.sentence = model.sentence();  // with the weights of its dense modules
  work.sentence.pooling = plan.work.sentence.pooling;
  const std::vector<PoolingMode>& pooling = work.sentence.pooling;
  const bool pools = std::find(pooling.begin(), pooling.end(), PoolingMode::pooler) != pooling.end();
  if (work.parts.embedding && pools && !model.encoder().weights().pooler.weight.present()) {
    throw_usage("--pooling pooler: expected a model with pooler weights, got " + model.location().name +
                " without; use cls or mean");
  }
  return planned;
}

}  // namespace mha::cli
