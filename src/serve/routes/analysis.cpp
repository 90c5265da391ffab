#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "analysis/comparison.hpp"
#include "analysis/head_selection.hpp"
#include "core/utf8.hpp"
#include "io/output_stream.hpp"
#include "mha/analysis/head_statistics.hpp"
#include "mha/core/error.hpp"
#include "output/answers.hpp"
#include "output/comparison_report.hpp"
#include "output/explanation.hpp"
#include "output/format.hpp"
#include "output/record_maps.hpp"
#include "pipeline/explain_layer.hpp"
#include "serve/routes/all.hpp"

namespace mha::serve {
namespace {

constexpr std::size_t kStepNumbers = 64;  // matrices of an explanation, at most, counted by their rows

/// A file in memory, for formatters, which write to files.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("answer", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw_internal(std::string("serve: memory file: ") + std::strerror(errno));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(descriptor_); }
  std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const auto got = ::pread(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (got <= 0) throw_internal("serve: memory file: cannot be read");
      done += static_cast<std::size_t>(got);
    }
    return text;
  }

 private:
  int descriptor_;
};

const char* content_type(Format format) {
  switch (format) {
    case Format::json:
      return "application/json";
    case Format::jsonl:
      return "application/x-ndjson";
    case Format::csv:
      return "text/csv; charset=utf-8";
    case Format::tsv:
      return "text/tab-separated-values; charset=utf-8";
    case Format::html:
      return "text/html; charset=utf-8";
    case Format::svg:
      return "image/svg+xml";
    case Format::png:
      return "image/png";
    case Format::npz:
      return "application/zip";
    case Format::npy:
    case Format::raw:
      return "application/octet-stream";
    default:
      return "text/plain; charset=utf-8";
  }
}

Format read_format(Fields& fields, std::initializer_list<Format> allowed) {
  const auto word = fields.text("format");
  if (!word) return *allowed.begin();
  std::string list;
  for (const Format format : allowed) {
    if (*word == info(format).name) return format;
    (list += list.empty() ? "" : ", ") += info(format).name;
  }
  fail_shape("format", "one of " + list, utf8::quoted(*word));
}

// `2`, `[0, 2]` or `"0,3-5,-1"`.
std::vector<std::size_t> read_selection(Fields& fields, const char* key, std::size_t count, bool& selected) {
  const nlohmann::json* value = fields.find(key);
  if (value == nullptr) return resolve({}, count, key);
  selected = true;
  if (value->is_string()) return resolve(parse_ranges(value->get_ref<const std::string&>(), key), count, key);
  IndexRanges ranges;
  const auto add = [&](const nlohmann::json& number) {
    if (!number.is_number_integer() || number.dump().size() > 9) {
      fail_shape(key, "a whole number, an array of them, or text such as 0,3-5,-1", number.dump());
    }
    ranges.push_back({number.get<long>(), number.get<long>()});
  };
  if (!value->is_array()) {
    add(*value);
  } else {
    for (const nlohmann::json& number : *value) add(number);
    if (ranges.empty()) fail_shape(key, "at least one number", "an empty array");
  }
  return resolve(ranges, count, key);
}

AttentionQuestions read_questions(Fields& fields) {
  AttentionQuestions questions;
  questions.words = fields.flag("words").value_or(false);
  questions.hide_specials = fields.flag("hide_specials").value_or(false);
  if (const auto axis = fields.choice("average", {"layers", "heads", "all"})) {
    questions.average_layers = *axis != 1;
    questions.average_heads = *axis != 0;
  }
  questions.rollout = fields.flag("rollout").value_or(false);
  questions.stats = fields.flag("stats").value_or(false);
  questions.top = static_cast<std::size_t>(fields.integer("top", 1, 1000000).value_or(0));
  const nlohmann::json* find = fields.find("find");
  std::vector<std::string> edges;
  if (find != nullptr && find->is_string()) edges.push_back(find->get<std::string>());
  if (find != nullptr && !find->is_string()) edges = fields.texts("find");
  for (const std::string& edge : edges) {
    const std::size_t sign = edge.find('>', 1);
    if (sign == std::string::npos || sign + 1 == edge.size()) {
      fail_shape("find", "QUERY>KEY such as She>leader", utf8::quoted(edge));
    }
    questions.find.emplace_back(edge.substr(0, sign), edge.substr(sign + 1));
  }
  if (questions.rollout && (questions.average_layers || questions.average_heads)) {
    fail_shape("rollout", "no average beside it", "average");
  }
  return questions;
}

std::optional<Parts> read_parts(Fields& fields) {
  const nlohmann::json* with = fields.find("with");
  if (with == nullptr) return std::nullopt;
  static constexpr std::pair<const char*, bool Parts::*> kParts[] = {{"text", &Parts::text},
                                                                     {"tokens", &Parts::tokens},
                                                                     {"embedding", &Parts::embedding},
                                                                     {"last_hidden_state", &Parts::last_hidden_state},
                                                                     {"hidden_states", &Parts::hidden_states},
                                                                     {"attentions", &Parts::attentions}};
  Parts parts;
  for (const std::string& word : fields.texts("with")) {
    bool known = false;
    for (const auto& [name, member] : kParts) {
      if (word != name && word != "all") continue;
      parts.*member = known = true;
    }
    if (!known) {
      fail_shape("with", "text, tokens, embedding, last_hidden_state, hidden_states, attentions or all",
                 utf8::quoted(word));
    }
  }
  return parts;
}

/// What the requests of this file ask of the model, beside their inputs.
struct Asked {
  Asked(Fields& fields, Service& service)
      : how(read_preparation(fields, service)), work(service.model().work(how.keep)) {
    const ModelConfig& config = service.model().model().config();
    how.prompt = nullptr;  // only those that are asked for: tokens of a prompt would stand among those of the text
    if (const auto name = fields.text("prompt_name")) how.prompt = &service.model().prompt(name);
    if (how.prompt != nullptr) work.prompt = *how.prompt;
    work.encode.add_special_tokens = fields.flag("add_special_tokens").value_or(true);
    work.parts = {};
    schema.kind = RecordKind::attention;
    schema.tokenizer = work.tokenizer;
    schema.n_layers = config.n_layers;
    schema.d_model = config.d_model;
    schema.embedding_width = service.model().width();
    schema.layers = read_selection(fields, "layer", config.n_layers, schema.name_layers_and_heads);
    schema.heads = read_selection(fields, "head", config.n_heads, schema.name_layers_and_heads);
    work.normalize = work.sentence.normalize;
    if (const auto ablated = fields.text("ablate")) {
      work.wanted.ablated =
          resolve_ablated(parse_ablate(*ablated, "ablate"), config.n_layers, config.n_heads, "ablate");
      for (std::size_t i = 0; i < work.wanted.ablated.size(); ++i) {
        if (work.wanted.ablated[i] != 0) schema.ablated.emplace_back(i / config.n_heads, i % config.n_heads);
      }
    }
    schema.offsets = fields.choice("offsets", {"code-points", "bytes"}).value_or(0) == 1 ? OffsetUnit::bytes
                                                                                         : OffsetUnit::code_points;
    if (const auto digits = fields.integer("digits", 0, 40)) schema.digits = static_cast<int>(*digits);
  }

  void want_attention() {
    work.parts.attentions = true;
    work.wanted.attention_layers = schema.layers;
    work.wanted.attention_heads = schema.heads;
  }

  Preparation how;
  ModelWork work;
  RecordSchema schema;
};

/// Inputs that are computed one by one, each with all threads, because what is kept of the model differs from request
/// to request.
class AnalysisJob : public CallJob {
 public:
  AnalysisJob(std::shared_ptr<Call> c, Asked a) : CallJob(std::move(c)), asked(std::move(a)) {}

  Asked asked;

  void add(std::string text, std::optional<std::string> pair, std::string place) {
    JobInput& input = inputs.emplace_back();
    input.input.index = inputs.size() - 1;
    input.input.text = std::move(text);
    input.input.text_pair = std::move(pair);
    input.input.set_place(std::move(place));
  }

  void read_inputs(Fields& fields) {
    const nlohmann::json& given = fields.require("inputs", "a string or an array of strings");
    const auto pair = fields.text("text_pair");
    const auto text_of = [](const nlohmann::json& value, const std::string& place) {
      if (!value.is_string()) fail_shape(place, "a string", kind_of(value));
      return value.get<std::string>();
    };
    if (!given.is_array()) return add(text_of(given, "inputs"), pair, "inputs");
    if (given.empty()) serve::fail(400, "Empty", "`inputs` cannot be empty", "inputs");
    check_batch_size(given.size(), call->service.settings().max_client_batch_size);
    if (pair && given.size() > 1) fail_shape("text_pair", "a single input beside it", "several");
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string place = "inputs[" + std::to_string(i) + ']';
      add(text_of(given[i], place), pair, place);
    }
    call->batch = true;
  }

  /// Tokenises, counts `bytes(tokens)` per input, and enters the queue.
  template <class Bytes>
  void submit(Bytes bytes) {
    const auto worker = model_workers(asked.work)(nullptr);
    std::size_t held = 0;
    for (JobInput& input : inputs) {
      characters += input.input.text.size();
      try {
        worker->prepare(input);
        if (!asked.how.truncate && input.encoding.truncated()) {
          throw_input("must have less than " + std::to_string(*asked.work.encode.max_length + 1) +
                      " tokens. Given: " + std::to_string(input.encoding.full_length));
        }
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::input) throw;
        if (!record_errors)
          serve::fail(422, "Tokenizer", input.input.place() + ": " + error.what(), input.input.place());
        input.fail(error.what());
        continue;
      }
      held += kInputBytes + input.Record::tokens() * kTokenBytes + bytes(input.Record::tokens());
    }
    call->hold(held + 3 * characters);
    call->submit(shared_from_this());
  }

 protected:
  void run_alone(JobInput& input, ThreadPool& pool) override {
    Record* const one = &input;
    model_workers(asked.work)(&pool)->encode({&one, 1});
  }
  void render_good(JobInput&) override {}
};

/// Records of attention in any output format, with the bytes that the command line writes.
class AttentionJob : public AnalysisJob {
 public:
  using AnalysisJob::AnalysisJob;
  Format format = Format::json;
  std::unique_ptr<RecordFormatter> formatter;

 private:
  void render_good(JobInput& input) override {
    formatter->render(input, input.rendered);
    if (info(format).one_array || format == Format::npz) return;  // written from the arrays
    std::vector<float>().swap(input.attentions);
    std::vector<float>().swap(input.hidden_states);
  }
  void compose(Response& response) override {
    MemoryFile file;
    OutputStream out(file.path());
    formatter->begin(out);
    for (JobInput& input : inputs) {
      if (input.bad()) formatter->render(input, input.rendered);
      formatter->join(input, out);
      std::string().swap(input.rendered);
    }
    formatter->end(out);
    out.commit();
    response.body = file.text();
    response.content_type = content_type(format);
  }
};

class ExplainJob : public AnalysisJob {
 public:
  using AnalysisJob::AnalysisJob;
  Format format = Format::json;
  std::size_t layer = 0;
  std::string token;

 private:
  void run_alone(JobInput& input, ThreadPool& pool) override {
    if (input.Record::tokens() == 0) throw_input("no tokens to explain");
    const Explanation explanation =
        explain_layer(call->service.model().model(), asked.work, asked.schema, layer, input, &pool);
    ExplanationOptions how;
    how.digits = asked.schema.digits.value_or(-1);
    if (!token.empty()) {
      AttentionMaps named;
      named.labels = explanation.labels;
      how.token = find_label(named, token);
    }
    input.rendered = format == Format::html    ? explanation_html(explanation, how)
                     : format == Format::table ? explanation_table(explanation, how)
                                               : explanation_json(explanation, how);
  }
  void compose(Response& response) override {
    response.body = std::move(inputs[0].rendered);
    response.content_type = content_type(format);
  }
};

/// Statistics of every head over all inputs.
class HeadsJob : public AnalysisJob {
 public:
  using AnalysisJob::AnalysisJob;

 private:
  void run_alone(JobInput& input, ThreadPool& pool) override {
    AnalysisJob::run_alone(input, pool);
    if (input.Record::tokens() > 0) {
      sums_.add(attention_maps(input, asked.schema), asked.schema.questions.hide_specials);
    }
    std::vector<float>().swap(input.attentions);
  }
  void compose(Response& response) override {
    response.body = answers_text({statistics_answer(sums_.means())}, Format::json, 0, asked.schema.digits);
  }

  HeadStatisticsSum sums_;
};

/// Two texts in the model.
class CompareJob : public AnalysisJob {
 public:
  using AnalysisJob::AnalysisJob;
  std::optional<double> tolerance;

 private:
  ComparedSide side_of(JobInput& input) const {
    const ModelConfig& config = call->service.model().model().config();
    return {std::move(input.embedding),     input.Record::tokens(), config.d_model,
            std::move(input.hidden_states), config.n_layers,        config.n_heads,
            std::move(input.attentions)};
  }
  void compose(Response& response) override {
    const Comparison comparison = compare(side_of(inputs[0]), side_of(inputs[1]));
    const bool within = !tolerance || first_over(comparison, *tolerance).empty();
    MemoryFile file;
    OutputStream out(file.path());
    ComparisonReport report(Format::json, asked.schema.digits, 0, out);
    report.add(comparison, "", within);
    report.finish();
    out.commit();
    response.body = file.text();
  }
};

std::size_t map_bytes(const Asked& asked, std::size_t tokens) {
  return asked.schema.layers.size() * asked.schema.heads.size() * tokens * tokens * kFloatBytes;
}

}  // namespace

void attention(const CallPtr& call) {
  Fields& fields = call->fields();
  Asked asked(fields, call->service);
  RecordSchema& schema = asked.schema;
  schema.questions = read_questions(fields);
  const Format format =
      read_format(fields, {Format::json, Format::jsonl, Format::csv, Format::tsv, Format::table, Format::heatmap,
                           Format::npy, Format::npz, Format::raw, Format::html, Format::svg, Format::png});
  const FormatInfo& how = info(format);
  const bool asks = schema.questions.asks() || schema.questions.rollout;
  if (how.drawn && schema.questions.asks()) fail_shape("format", "one with room for answers", std::string(how.name));
  const auto parts = read_parts(fields);
  schema.parts = parts.value_or(Parts{.text = true, .tokens = true, .attentions = !asks});
  if (how.one_array || how.delimited) schema.parts = {.attentions = true};
  if (how.drawn || format == Format::heatmap || format == Format::table) {
    schema.parts = {.text = true, .tokens = true, .attentions = true};
  }
  asked.work.parts = schema.parts;
  if (schema.parts.attentions || schema.questions.asks() || schema.questions.changes_maps()) asked.want_attention();
  asked.work.wanted.hidden_states = schema.parts.hidden_states;

  auto job = std::make_shared<AttentionJob>(call, std::move(asked));
  read_job_keys(fields, *job);
  job->asked.schema.errors = job->record_errors;
  job->read_inputs(fields);
  if (how.one_input && job->inputs.size() > 1) {
    fail_shape("format", "one input", std::to_string(job->inputs.size()) + " inputs");
  }
  job->format = format;
  job->formatter = how.make(job->asked.schema, call->service.model_name());
  fields.require_all_read();
  const ModelConfig& config = call->service.model().model().config();
  const std::size_t states =
      ((schema.parts.hidden_states ? config.n_layers + 1 : 0) + (schema.parts.last_hidden_state ? 1 : 0)) *
      config.d_model;
  job->submit([&, states](std::size_t tokens) {
    return (job->asked.work.parts.attentions ? map_bytes(job->asked, tokens) : 0) + states * tokens * kFloatBytes;
  });
}

void explain(const CallPtr& call) {
  Fields& fields = call->fields();
  if (fields.find("layer") == nullptr) call->body["layer"] = 0;
  Asked asked(fields, call->service);
  if (asked.schema.layers.size() != 1) fail_shape("layer", "one layer", "several");
  auto job = std::make_shared<ExplainJob>(call, std::move(asked));
  read_job_keys(fields, *job);
  job->layer = job->asked.schema.layers[0];
  job->format = read_format(fields, {Format::json, Format::html, Format::table});
  job->token = fields.text("token").value_or("");
  job->read_inputs(fields);
  if (job->inputs.size() > 1) fail_shape("inputs", "one text", std::to_string(job->inputs.size()));
  fields.require_all_read();
  const ModelConfig& config = call->service.model().model().config();
  job->submit([&](std::size_t tokens) {
    const std::size_t wide = config.d_model * (16 + config.n_heads) + config.d_ff * 2;
    return (wide * tokens + 3 * config.n_heads * tokens * tokens + kStepNumbers * tokens) * kFloatBytes;
  });
}

void heads(const CallPtr& call) {
  Fields& fields = call->fields();
  Asked asked(fields, call->service);
  asked.schema.questions.hide_specials = fields.flag("hide_specials").value_or(false);
  asked.want_attention();
  auto job = std::make_shared<HeadsJob>(call, std::move(asked));
  read_job_keys(fields, *job);
  job->read_inputs(fields);
  fields.require_all_read();
  std::size_t largest = 0;
  // The maps of one input at a time are held.
  job->submit([&](std::size_t tokens) {
    const std::size_t bytes = map_bytes(job->asked, tokens);
    const std::size_t more = bytes > largest ? bytes - largest : 0;
    largest += more;
    return more;
  });
}

void compare_route(const CallPtr& call) {
  Fields& fields = call->fields();
  Asked asked(fields, call->service);
  asked.want_attention();
  asked.work.parts = {.embedding = true, .hidden_states = true, .attentions = true};
  asked.work.wanted.hidden_states = true;
  auto job = std::make_shared<CompareJob>(call, std::move(asked));
  read_job_keys(fields, *job);
  job->tolerance = fields.number("tolerance");
  job->read_inputs(fields);
  if (job->inputs.size() != 2) fail_shape("inputs", "two texts", std::to_string(job->inputs.size()));
  if (job->record_errors) fail_shape("on_error", "fail, because both texts are needed", "record");
  fields.require_all_read();
  const ModelConfig& config = call->service.model().model().config();
  job->submit([&](std::size_t tokens) {
    return map_bytes(job->asked, tokens) / 4 + (config.n_layers + 1) * config.d_model * tokens * 2 * sizeof(float);
  });
}

}  // namespace mha::serve
