#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "core/json_text.hpp"
#include "ops/vector.hpp"
#include "output/answers.hpp"
#include "serve/json_append.hpp"
#include "serve/routes/all.hpp"

namespace mha::serve {
namespace {

const nlohmann::json kNoParameters = nlohmann::json::object();

/// Inputs of a head, each read by the same reader.
class TaskJob : public CallJob {
 public:
  explicit TaskJob(std::shared_ptr<Call> c) : CallJob(std::move(c)) { predicts = true; }

  std::unique_ptr<TaskReader> reader;

  void add(std::string text, std::optional<std::string> pair, std::string place) {
    JobInput& input = inputs.emplace_back();
    input.input.index = inputs.size() - 1;
    input.input.text = std::move(text);
    input.input.text_pair = std::move(pair);
    input.input.set_place(std::move(place));
    characters += input.input.text.size() + (input.input.text_pair ? input.input.text_pair->size() : 0);
  }

  /// Tokenises all inputs, counts the memory and enters the queue.
  void submit(const Preparation& how, const void* lane, std::size_t bytes_per_input) {
    std::size_t tokens = 0;
    for (JobInput& input : inputs) {
      input.reader = reader.get();
      input.lane = lane;
      try {
        call->service.model().prepare_task(how, input.input.place(), input);
      } catch (const ApiError& error) {
        if (!record_errors) throw;
        input.input.error = error.message;
      }
      tokens += input.Record::tokens();
    }
    call->hold(inputs.size() * (kInputBytes + bytes_per_input) + characters + tokens * kTokenBytes);
    call->submit(shared_from_this());
  }

 protected:
  void render_good(JobInput& input) override {
    render_results(rows_of(input.result), input.rendered);
    input.result = {};
  }
  /// The results of one input as the client reads them.
  virtual void render_results(const std::vector<ResultRow>& results, std::string& out) = 0;

  void append_result(std::string& out, std::size_t i) {
    if (inputs[i].bad()) return append_bad(out, i, inputs[i]);
    out += inputs[i].rendered;
    std::string().swap(inputs[i].rendered);
  }
  void append_list(std::string& out) {
    out += '[';
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) out += ',';
      append_result(out, i);
    }
    out += ']';
  }
};

/// Rows as objects in one list, in the columns of the reader's layout.
class RowsJob : public TaskJob {
 public:
  using TaskJob::TaskJob;
  bool single = false;  ///< the answer is the list of the one input
  bool nested = false;  ///< even then it is a list of lists

 private:
  void render_results(const std::vector<ResultRow>& results, std::string& out) override {
    const ResultLayout layout = reader->layout();
    const bool lists = layout.shape == ResultLayout::Shape::lists && !results.empty() && results.back().list > 0;
    out += lists ? "[[" : "[";
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i > 0) out += lists && results[i].list != results[i - 1].list ? "],[" : ",";
      append_row(out, layout.columns, results[i].cells);
    }
    out += lists ? "]]" : "]";
  }
  void compose(Response& response) override {
    if (single && !nested) return append_result(response.body, 0);
    append_list(response.body);
  }
};

/// `answer`, `score`, `start` and `end` of the best span, or a list of spans.
class SpanJob : public TaskJob {
 public:
  using TaskJob::TaskJob;
  bool list = false;

 private:
  void render_results(const std::vector<ResultRow>& results, std::string& out) override {
    const ResultLayout layout = reader->layout();
    if (list) out += '[';
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i > 0) out += ',';
      append_row(out, layout.columns, results[i].cells);
      if (!list) return;
    }
    if (list) out += ']';
  }
  void compose(Response& response) override { append_result(response.body, 0); }
};

/// How documents leave a ranking, whatever scored them.
struct Ranked {
  bool results = false;  ///< Cohere's and Jina's object, else text-embeddings-inference's list
  std::size_t top = 0;   ///< 0: all
  bool with_text = false;
  std::string model;

  void append(std::string& out, const std::vector<float>& scores, const std::vector<JobInput>& documents,
              std::size_t first, std::size_t tokens) const {
    std::vector<std::size_t> order;
    for (std::size_t i = first; i < documents.size(); ++i) {
      if (!documents[i].bad()) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    if (top > 0 && order.size() > top) order.resize(top);
    if (results) {
      out += "{\"model\":";
      append_json_piece(out, model);
      out += ",\"results\":";
    }
    out += '[';
    bool more = false;
    for (const std::size_t i : order) {
      out += std::exchange(more, true) ? ",{\"index\":" : "{\"index\":";
      append_number(out, i - first);
      out += results ? ",\"relevance_score\":" : ",\"score\":";
      append_number(out, scores[i]);
      if (with_text) {
        out += results ? ",\"document\":{\"text\":" : ",\"text\":";
        append_json_string(out, documents[i].input.text);
        if (results) out += '}';
      }
      out += '}';
    }
    for (std::size_t i = first; i < documents.size(); ++i) {
      if (!documents[i].bad()) continue;
      if (std::exchange(more, true)) out += ',';
      append_bad(out, i - first, documents[i]);
    }
    out += ']';
    if (results) {
      const std::string count = std::to_string(tokens);
      out += ",\"usage\":{\"total_tokens\":" + count + ",\"prompt_tokens\":" + count + "}}";
    }
  }
};

/// Scored by a head that reads query and document together.
class PairRanking : public TaskJob {
 public:
  using TaskJob::TaskJob;
  Ranked how;

 private:
  void render_good(JobInput&) override {}
  void render_results(const std::vector<ResultRow>&, std::string&) override {}
  void compose(Response& response) override {
    std::vector<float> scores(inputs.size());
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tokens += inputs[i].Record::tokens();
      if (!inputs[i].bad()) scores[i] = static_cast<float>(std::get<Score>(inputs[i].result).value);
    }
    how.append(response.body, scores, inputs, 0, tokens);
  }
};

/// Scored by the similarity of the documents' vectors and the query's, which is the first input.
class VectorRanking : public CallJob {
 public:
  explicit VectorRanking(std::shared_ptr<Call> c) : CallJob(std::move(c)) { predicts = true; }
  Ranked how;

 private:
  void render_good(JobInput& input) override {
    if (call->service.model().sentence().normalize) normalize_l2(input.embedding);
  }
  void compose(Response& response) override {
    if (inputs[0].bad()) serve::fail(422, "Validation", inputs[0].input.error, "query");
    std::vector<float> scores(inputs.size());
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tokens += inputs[i].Record::tokens();
      if (i == 0 || inputs[i].bad()) continue;
      scores[i] =
          static_cast<float>(similarity(call->service.model().sentence(), inputs[0].embedding, inputs[i].embedding));
    }
    how.append(response.body, scores, inputs, 1, tokens);
  }
};

std::string text_at(const nlohmann::json& value, const std::string& place) {
  if (!value.is_string()) fail_shape(place, "a string", kind_of(value));
  if (value.get_ref<const std::string&>().empty()) fail(400, "Empty", "`" + place + "` cannot be empty", place);
  return value.get<std::string>();
}

// A text, or a pair of texts as an array of one or two.
void add_text_or_pair(TaskJob& job, const nlohmann::json& value, const std::string& place) {
  if (!value.is_array()) return job.add(text_at(value, place), std::nullopt, place);
  if (value.empty() || value.size() > 2) {
    fail_shape(place, "one text or a pair of texts", std::to_string(value.size()) + " elements");
  }
  std::optional<std::string> pair;
  if (value.size() == 2) pair = text_at(value[1], place + "[1]");
  job.add(text_at(value[0], place + "[0]"), std::move(pair), place);
}

bool is_list_of_lists(const nlohmann::json& value) { return value.is_array() && !value.empty() && value[0].is_array(); }

/// A list of texts and pairs, or one of them; says whether it is a list. In a flat list of strings each is an input if
/// `flat_list`, else the list is one pair.
bool add_inputs(TaskJob& job, const nlohmann::json& value, const std::string& place, bool flat_list) {
  if (value.is_array() && value.empty()) fail(400, "Empty", "`" + place + "` cannot be empty", place);
  const bool list = value.is_array() && (flat_list || is_list_of_lists(value));
  if (!list) {
    add_text_or_pair(job, value, place);
    return false;
  }
  check_batch_size(value.size(), job.call->service.settings().max_client_batch_size);
  for (std::size_t i = 0; i < value.size(); ++i) add_text_or_pair(job, value[i], place + '[' + std::to_string(i) + ']');
  return true;
}

void note_unread(Call& call, const Fields& fields) {
  const auto unread = fields.unread();
  call.ignored.insert(call.ignored.end(), unread.begin(), unread.end());
}

std::unique_ptr<TaskReader> labels_reader(ServedModel& model, const Preparation& how, bool raw, std::size_t top) {
  const HeadLabels& labels = model.labels(Task::classify);
  const std::size_t shown = top > 0 ? std::min(top, labels.names.size()) : labels.names.size();
  return classify_reader(model.work(how.keep), {labels.names, raw ? LabelScores::none : label_scores(labels), shown});
}

std::size_t most_label_bytes(const HeadLabels& labels) {
  std::size_t bytes = 0;
  for (const std::string& name : labels.names) bytes += 64 + 6 * name.size();
  return bytes;
}

/// The parts of a request to `POST /`, as the pipelines of the hub have them.
struct Pipelined {
  explicit Pipelined(Call& c)
      : call(c),
        fields(c.fields()),
        inputs(fields.require("inputs", "a text, a list or an object")),
        parameters(parameters_of(fields), "parameters.") {}

  static const nlohmann::json& parameters_of(Fields& fields) {
    const nlohmann::json* given = fields.find("parameters");
    return given != nullptr ? *given : kNoParameters;
  }
  std::size_t top_k(std::size_t standard) {
    return static_cast<std::size_t>(
        parameters.integer("top_k", 1, 1000000).value_or(static_cast<std::int64_t>(standard)));
  }

  Call& call;
  Fields& fields;
  const nlohmann::json& inputs;
  Fields parameters;
};

void pipeline_labels(const CallPtr& call, ServedModel& model) {
  auto job = std::make_shared<RowsJob>(call);
  Pipelined request(*call);
  read_job_keys(request.fields, *job);
  const auto& lane = model.task(Task::classify, "a classifier");
  Preparation how;
  how.truncate = true;
  const HeadLabels& labels = model.labels(Task::classify);
  const auto function = request.parameters.choice("function_to_apply", {"sigmoid", "softmax", "none"});
  static constexpr LabelScores kFunctions[] = {LabelScores::sigmoid, LabelScores::softmax, LabelScores::none};
  const std::size_t shown = std::min(request.top_k(labels.names.size()), labels.names.size());
  job->reader =
      classify_reader(model.work(), {labels.names, function ? kFunctions[*function] : label_scores(labels), shown});
  job->single = !add_inputs(*job, request.inputs, "inputs", true);
  job->nested = true;
  call->batch = !job->single;
  note_unread(*call, request.parameters);
  job->submit(how, lane.lane, most_label_bytes(labels));
}

void pipeline_fill_mask(const CallPtr& call, ServedModel& model) {
  auto job = std::make_shared<RowsJob>(call);
  Pipelined request(*call);
  read_job_keys(request.fields, *job);
  const auto& lane = model.task(Task::fill_mask, "a fill-mask");
  FillMaskSettings settings;
  settings.top_k = request.top_k(5);
  settings.outputs = lane.head->outputs();
  for (const std::string& word : request.parameters.texts("targets")) {
    const auto id = model.model().tokenizer().id_of(word);
    if (!id) fail_shape("parameters.targets", "words of the vocabulary", '"' + word + '"');
    settings.targets.push_back(*id);
  }
  job->reader = fill_mask_reader(model.work(), settings);
  job->single = !add_inputs(*job, request.inputs, "inputs", true);
  call->batch = !job->single;
  note_unread(*call, request.parameters);
  job->submit({}, lane.lane, settings.top_k * 512);
}

void pipeline_tags(const CallPtr& call, ServedModel& model) {
  auto job = std::make_shared<RowsJob>(call);
  Pipelined request(*call);
  read_job_keys(request.fields, *job);
  const auto& lane = model.task(Task::tag, "a token classifier");
  static constexpr Aggregation kAggregations[] = {Aggregation::simple, Aggregation::none, Aggregation::first,
                                                  Aggregation::average, Aggregation::max};
  const auto chosen = request.parameters.choice("aggregation_strategy", {"simple", "none", "first", "average", "max"});
  job->reader = tag_reader(model.work(),
                           {model.labels(Task::tag).names, kAggregations[chosen.value_or(0)], OffsetUnit::code_points});
  job->single = !add_inputs(*job, request.inputs, "inputs", true);
  call->batch = !job->single;
  note_unread(*call, request.parameters);
  job->submit({}, lane.lane, 1024);
}

void pipeline_answer(const CallPtr& call, ServedModel& model) {
  auto job = std::make_shared<SpanJob>(call);
  Pipelined request(*call);
  read_job_keys(request.fields, *job);
  const auto& lane = model.task(Task::answer, "a question answering");
  Fields inputs(request.inputs, "inputs.");
  AnswerSettings settings;
  settings.question = text_at(inputs.require("question", "a string"), "inputs.question");
  const auto top = request.parameters.integer("top_k", 1, 1000);
  const auto longest = request.parameters.integer("max_answer_len", 1, 100000);
  settings.top_k = static_cast<std::size_t>(top.value_or(0));
  settings.longest = static_cast<std::size_t>(longest.value_or(15));
  settings.no_answer = request.parameters.flag("handle_impossible_answer").value_or(false);
  job->list = top.value_or(1) > 1;
  job->reader = answer_reader(model.work(), settings);
  job->add(text_at(inputs.require("context", "a string"), "inputs.context"), std::nullopt, "inputs.context");
  note_unread(*call, inputs);
  note_unread(*call, request.parameters);
  job->submit({}, lane.lane, 65536);
}

}  // namespace

void predict(const CallPtr& call) {
  ServedModel& model = call->service.model();
  const auto& lane = model.task(Task::classify, "a classifier");
  auto job = std::make_shared<RowsJob>(call);
  Fields& fields = call->fields();
  const Preparation how = read_preparation(fields, call->service);
  read_job_keys(fields, *job);
  job->reader = labels_reader(model, how, fields.flag("raw_scores").value_or(false), 0);
  job->single = !add_inputs(*job, fields.require("inputs", "a text, a pair or a list of these"), "inputs", false);
  call->batch = !job->single;
  job->submit(how, lane.lane, most_label_bytes(model.labels(Task::classify)));
}

void rerank(const CallPtr& call) {
  ServedModel& model = call->service.model();
  Fields& fields = call->fields();
  const Preparation how = read_preparation(fields, call->service);
  const bool raw = fields.flag("raw_scores").value_or(false);
  const std::string query = text_at(fields.require("query", "a string"), "query");

  // Cohere's and Jina's clients say `documents`, those of text-embeddings-inference `texts`.
  Ranked ranked;
  const bool has_documents = fields.find("documents") != nullptr;
  ranked.results = has_documents || call->exchange->head().path != "/rerank";
  const char* const key = has_documents ? "documents" : "texts";
  const nlohmann::json& documents = fields.require(key, "an array of strings");
  if (!documents.is_array()) fail_shape(key, "an array of strings", kind_of(documents));
  if (documents.empty()) fail(400, "Empty", "`" + std::string(key) + "` cannot be empty", key);
  check_batch_size(documents.size(), call->service.settings().max_client_batch_size);
  ranked.top = static_cast<std::size_t>(fields.integer("top_n", 1, 1000000000).value_or(0));
  const bool returns_documents = fields.flag("return_documents").value_or(false);
  ranked.with_text = fields.flag("return_text").value_or(false) || returns_documents;
  ranked.model = fields.text("model").value_or(call->service.model_name());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string place = std::string(key) + '[' + std::to_string(i) + ']';
    const bool object = documents[i].is_object() && documents[i].contains("text");
    texts.push_back(text_at(object ? documents[i]["text"] : documents[i], object ? place + ".text" : place));
  }
  call->batch = true;
  const auto place_of = [&](std::size_t i) { return std::string(key) + '[' + std::to_string(i) + ']'; };

  if (!model.has(Task::classify)) {
    auto job = std::make_shared<VectorRanking>(call);
    read_job_keys(fields, *job);
    job->how = ranked;
    const std::string& query_prompt = model.prompt_of_role("query");
    const std::string& document_prompt = model.prompt_of_role("document");
    job->inputs = std::vector<JobInput>(texts.size() + 1);
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < job->inputs.size(); ++i) {
      JobInput& out = job->inputs[i];
      out.input.index = i;
      out.input.text = i == 0 ? query : std::move(texts[i - 1]);
      out.input.set_place(i == 0 ? "query" : place_of(i - 1));
      Preparation prepared = how;
      prepared.prompt = i == 0 ? &query_prompt : &document_prompt;
      out.lane = model.vectors(*prepared.prompt);
      job->characters += out.input.text.size();
      try {
        model.prepare({out.input.text, {}, false, out.input.place()}, prepared, out);
      } catch (const ApiError& error) {
        if (!job->record_errors || i == 0) throw;
        out.input.error = error.message;
      }
      tokens += out.Record::tokens();
    }
    call->hold(job->inputs.size() * (kInputBytes + model.width() * sizeof(float)) + 2 * job->characters +
               tokens * kTokenBytes);
    return call->submit(std::move(job));
  }

  const auto& lane = model.task(Task::classify, "a re-ranker");
  if (lane.head->outputs() != 1) fail(424, "Backend", "model is not a re-ranker model; it answers on /predict");
  auto job = std::make_shared<PairRanking>(call);
  read_job_keys(fields, *job);
  job->how = ranked;
  job->reader = rerank_reader(model.work(how.keep), query, raw ? LabelScores::none : LabelScores::sigmoid);
  for (std::size_t i = 0; i < texts.size(); ++i) job->add(std::move(texts[i]), std::nullopt, place_of(i));
  job->submit(how, lane.lane, 128);
}

void root(const CallPtr& call) {
  ServedModel& model = call->service.model();
  const nlohmann::json& inputs = call->fields().require("inputs", "a text, a list or an object");
  if (inputs.is_object() && inputs.contains("source_sentence")) return similarity_route(call);
  if (call->body.contains("query")) return rerank(call);
  if (model.has(Task::classify)) return pipeline_labels(call, model);
  if (model.has(Task::tag)) return pipeline_tags(call, model);
  if (model.has(Task::answer)) return pipeline_answer(call, model);
  if (model.has(Task::fill_mask)) return pipeline_fill_mask(call, model);
  embed(call);
}

}  // namespace mha::serve
