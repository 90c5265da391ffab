#include <array>
#include <bit>
#include <string>
#include <utility>

#include "core/json_text.hpp"
#include "ops/vector.hpp"
#include "output/picture.hpp"
#include "serve/json_append.hpp"
#include "serve/routes/all.hpp"

namespace mha::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 vectors are little-endian floats");

/// Sentence vectors of every dialect.
class VectorsJob : public CallJob {
 public:
  using CallJob::CallJob;

  std::size_t dims = 0;  ///< 0: all
  bool normalize = true;
  bool as_base64 = false;

 protected:
  void render_good(JobInput& input) override {
    std::vector<float> vector = std::move(input.embedding);
    if (dims > 0) vector.resize(dims);
    if (normalize) normalize_l2(vector);
    if (as_base64) {
      input.rendered += '"';
      const std::string bytes(reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float));
      (input.rendered += base64(bytes)) += '"';
    } else {
      append_json_array(input.rendered, vector);
    }
  }

  void append_vector(std::string& out, std::size_t index) {
    JobInput& input = inputs[index];
    if (input.bad()) return append_bad(out, index, input);
    out += input.rendered;
    std::string().swap(input.rendered);
  }

  void append_vectors(std::string& out) {
    std::size_t bytes = 0;
    for (const JobInput& input : inputs) bytes += input.rendered.size() + 1;
    out.reserve(out.size() + bytes + 256);
    out += '[';
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) out += ',';
      append_vector(out, i);
    }
    out += ']';
  }

  std::size_t tokens() const {
    std::size_t sum = 0;
    for (const JobInput& input : inputs) sum += input.Record::tokens();
    return sum;
  }
};

class TeiVectors : public VectorsJob {
 public:
  using VectorsJob::VectorsJob;

 private:
  void compose(Response& response) override { append_vectors(response.body); }
};

class OpenAiVectors : public VectorsJob {
 public:
  using VectorsJob::VectorsJob;
  std::string model;

 private:
  void compose(Response& response) override {
    std::string& out = response.body;
    out += "{\"object\":\"list\",\"data\":[";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) out += ',';
      if (inputs[i].bad()) {
        append_bad(out, i, inputs[i]);
        continue;
      }
      out += "{\"object\":\"embedding\",\"embedding\":";
      append_vector(out, i);
      out += ",\"index\":";
      append_number(out, i);
      out += '}';
    }
    out += "],\"model\":";
    append_json_piece(out, model);
    const std::string count = std::to_string(tokens());
    out += ",\"usage\":{\"prompt_tokens\":" + count + ",\"total_tokens\":" + count + "}}";
  }
};

class OllamaVectors : public VectorsJob {
 public:
  using VectorsJob::VectorsJob;
  std::string model;

 private:
  void compose(Response& response) override {
    std::string& out = response.body;
    out += "{\"model\":";
    append_json_piece(out, model);
    out += ",\"embeddings\":";
    append_vectors(out);
    const auto total = std::chrono::duration_cast<std::chrono::nanoseconds>(Call::Clock::now() - call->begin).count();
    out += ",\"total_duration\":" + std::to_string(total) +
           ",\"load_duration\":0,\"prompt_eval_count\":" + std::to_string(tokens()) + "}";
  }
};

class TokenVectors : public CallJob {
 public:
  using CallJob::CallJob;

 private:
  void render_good(JobInput& input) override {
    const std::array<std::size_t, 2> shape{input.Record::tokens(), input.d_model};
    JsonWriter(input.rendered).numbers(input.last_hidden_state, shape);
    std::vector<float>().swap(input.last_hidden_state);
  }
  void compose(Response& response) override {
    std::string& out = response.body;
    out += '[';
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) out += ',';
      if (inputs[i].bad()) {
        append_bad(out, i, inputs[i]);
      } else {
        out += inputs[i].rendered;
      }
      std::string().swap(inputs[i].rendered);
    }
    out += ']';
  }
};

class Similarities : public CallJob {
 public:
  using CallJob::CallJob;

 private:
  void render_good(JobInput& input) override {
    if (call->service.model().sentence().normalize) normalize_l2(input.embedding);
  }
  void compose(Response& response) override {
    std::string& out = response.body;
    const SentenceConfig& sentence = call->service.model().sentence();
    if (inputs[0].bad()) serve::fail(422, "Validation", inputs[0].input.error);
    out += '[';
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (i > 1) out += ',';
      if (inputs[i].bad()) {
        append_bad(out, i - 1, inputs[i]);
      } else {
        append_number(out, static_cast<float>(similarity(sentence, inputs[0].embedding, inputs[i].embedding)));
      }
    }
    out += ']';
  }
};

nlohmann::json& inputs_of(Call& call, const char* key) {
  call.fields().require(key, "a string or an array");
  return call.body[key];
}

void read_dimensions(Fields& fields, VectorsJob& job) {
  const auto width = static_cast<std::int64_t>(job.call->service.model().width());
  job.dims = static_cast<std::size_t>(fields.integer("dimensions", 1, width).value_or(0));
}

void submit_vectors(const CallPtr& call, std::shared_ptr<VectorsJob> job, const char* key, const Preparation& how) {
  Inputs inputs = read_inputs(inputs_of(*call, key), key, call->service.settings().max_client_batch_size);
  call->batch = !inputs.single;
  ServedModel& model = call->service.model();
  const std::size_t answer = (job->dims > 0 ? job->dims : model.width()) * kFloatBytes;
  prepare_inputs(std::move(inputs), how, model.vectors(*how.prompt), answer, 0, *job);
  call->submit(std::move(job));
}

// Asked for by OpenAI's clients, which decode base64 when the caller did not choose.
void read_encoding(Fields& fields, VectorsJob& job) {
  job.as_base64 = fields.choice("encoding_format", {"float", "base64"}).value_or(0) == 1;
}

}  // namespace

void embed(const CallPtr& call) {
  auto job = std::make_shared<TeiVectors>(call);
  Fields& fields = call->fields();
  const Preparation how = read_preparation(fields, call->service);
  read_job_keys(fields, *job);
  read_dimensions(fields, *job);
  read_encoding(fields, *job);
  job->normalize = fields.flag("normalize").value_or(true);
  submit_vectors(call, std::move(job), "inputs", how);
}

void openai_embeddings(const CallPtr& call) {
  auto job = std::make_shared<OpenAiVectors>(call);
  Fields& fields = call->fields();
  Preparation how = read_preparation(fields, call->service);
  read_job_keys(fields, *job);
  read_dimensions(fields, *job);
  read_encoding(fields, *job);
  fields.text("user");
  // The name of the model only labels the answer: the server has one model.
  job->model = fields.text("model").value_or(call->service.model_name());
  how.special_tokens = fields.flag("add_special_tokens").value_or(true);
  submit_vectors(call, std::move(job), "input", how);
}

void ollama_embed(const CallPtr& call) {
  auto job = std::make_shared<OllamaVectors>(call);
  Fields& fields = call->fields();
  const Preparation how = read_preparation(fields, call->service);
  read_job_keys(fields, *job);
  read_dimensions(fields, *job);
  job->model = fields.text("model").value_or(call->service.model_name());
  submit_vectors(call, std::move(job), "input", how);
}

void embed_all(const CallPtr& call) {
  auto job = std::make_shared<TokenVectors>(call);
  Fields& fields = call->fields();
  const Preparation how = read_preparation(fields, call->service);
  read_job_keys(fields, *job);
  Inputs inputs = read_inputs(inputs_of(*call, "inputs"), "inputs", call->service.settings().max_client_batch_size);
  call->batch = !inputs.single;
  ServedModel& model = call->service.model();
  prepare_inputs(std::move(inputs), how, model.token_vectors(), 0, model.model().config().d_model * kFloatBytes, *job);
  call->submit(std::move(job));
}

void similarity_route(const CallPtr& call) {
  auto job = std::make_shared<Similarities>(call);
  Fields& fields = call->fields();
  read_job_keys(fields, *job);
  Fields sides(fields.require("inputs", "an object with source_sentence and sentences"), "inputs.");
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json* given = fields.find("parameters");
  Fields parameters(given != nullptr ? *given : none, "parameters.");
  const Preparation how = read_preparation(parameters, call->service);
  const std::string source = sides.text("source_sentence").value_or("");
  std::vector<std::string> sentences = sides.texts("sentences");
  if (source.empty()) fail(400, "Empty", "`inputs.source_sentence` cannot be empty", "inputs.source_sentence");
  if (sentences.empty()) fail(400, "Empty", "`inputs.sentences` cannot be empty", "inputs.sentences");
  check_batch_size(sentences.size(), call->service.settings().max_client_batch_size);
  Inputs inputs;
  inputs.list.push_back({source, {}, false, "inputs.source_sentence"});
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::string place = "inputs.sentences[" + std::to_string(i) + ']';
    if (sentences[i].empty()) fail(400, "Empty", "`" + place + "` cannot be empty", place);
    inputs.list.push_back({std::move(sentences[i]), {}, false, place});
  }
  for (const Fields& object : {sides, parameters}) {
    const auto unread = object.unread();
    call->ignored.insert(call->ignored.end(), unread.begin(), unread.end());
  }
  call->batch = true;
  ServedModel& model = call->service.model();
  prepare_inputs(std::move(inputs), how, model.vectors(*how.prompt), model.width() * sizeof(float), 0, *job);
  call->submit(std::move(job));
}

}  // namespace mha::serve
