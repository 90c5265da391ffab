#include <ctime>
#include <string>
#include <utility>

#include "serve/json_append.hpp"
#include "serve/routes/all.hpp"

extern "C" {
extern const unsigned char mha_embedded_openapi[];
extern const std::size_t mha_embedded_openapi_size;
extern const unsigned char mha_embedded_studio_page[];
extern const std::size_t mha_embedded_studio_page_size;
}

namespace mha::serve {
namespace {

std::string text_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

Response json_answer(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

void append_member(std::string& out, const char* key, std::string_view value) {
  ((out += ",\"") += key) += "\":";
  append_json_piece(out, value);
}
void append_member(std::string& out, const char* key, std::size_t value) {
  ((out += ",\"") += key) += "\":";
  append_number(out, value);
}

std::string labels_json(const HeadLabels& labels) {
  std::string out = "{\"id2label\":{";
  for (std::size_t i = 0; i < labels.names.size(); ++i) {
    out += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":";
    append_json_piece(out, labels.names[i]);
  }
  out += "},\"label2id\":{";
  for (std::size_t i = 0; i < labels.names.size(); ++i) {
    if (i > 0) out += ',';
    append_json_piece(out, labels.names[i]);
    out += ':' + std::to_string(i);
  }
  return out + "}}";
}

std::string model_type(ServedModel& model) {
  if (model.has(Task::classify)) {
    const bool ranks = model.task(Task::classify, "a classifier").head->outputs() == 1;
    return std::string(ranks ? "{\"reranker\":" : "{\"classifier\":") + labels_json(model.labels(Task::classify)) + '}';
  }
  std::string pooling;
  for (const PoolingMode mode : model.sentence().pooling) (pooling += pooling.empty() ? "" : "+") += name_of(mode);
  return "{\"embedding\":{\"pooling\":\"" + pooling + "\"}}";
}

std::string model_json(const Service& service) {
  std::string out = "{\"id\":";
  append_json_piece(out, service.model_name());
  return out + ",\"object\":\"model\",\"created\":" + std::to_string(service.started()) + ",\"owned_by\":\"mha-cli\"}";
}

}  // namespace

void info_route(const CallPtr& call) {
  Service& service = call->service;
  const ServiceSettings& settings = service.settings();
  ServedModel& model = service.model();
  std::string out = "{\"model_id\":";
  append_json_piece(out, settings.model);
  out += ",\"model_sha\":null";
  append_member(out, "model_dtype", name_of(model.model().encoder().precision()));
  append_member(out, "served_model_name", service.model_name());
  out += ",\"model_type\":" + model_type(model);
  append_member(out, "max_concurrent_requests", settings.max_concurrent_requests);
  out += ",\"max_input_length\":";
  out += model.model().max_length() ? std::to_string(*model.model().max_length()) : "null";
  append_member(out, "max_batch_tokens", settings.max_batch_tokens);
  out += ",\"max_batch_requests\":";
  out += settings.max_batch_requests > 0 ? std::to_string(settings.max_batch_requests) : "null";
  append_member(out, "max_client_batch_size", settings.max_client_batch_size);
  out += settings.auto_truncate ? ",\"auto_truncate\":true" : ",\"auto_truncate\":false";
  append_member(out, "tokenization_workers", std::size_t{2});
  append_member(out, "version", settings.version);
  out += ",\"sha\":null,\"docker_label\":null";
  append_member(out, "dimensions", model.width());
  append_member(out, "n_layers", model.model().config().n_layers);
  append_member(out, "n_heads", model.model().config().n_heads);
  append_member(out, "vocab_size", model.model().tokenizer().vocab_size());
  out += ",\"tasks\":[";
  const auto tasks = model.tasks();
  for (std::size_t i = 0; i < tasks.size(); ++i) out += (i == 0 ? "\"" : ",\"") + std::string(name_of(tasks[i])) + '"';
  out += "],\"prompts\":[";
  std::string names;
  for (const auto& [name, text] : model.sentence().prompts) {
    if (!names.empty()) names += ',';
    append_json_piece(names, name);
  }
  call->answer(json_answer(out + names + "]}"));
}

// Alive and of use: 503 while the model is loaded and while the server drains.
void ready(const CallPtr& call) {
  if (!call->service.ready()) fail(503, "Unhealthy", "the server is starting or stopping");
  call->answer(json_answer("{\"status\":\"ok\"}"));
}

void health(const CallPtr& call) { ready(call); }

void metrics(const CallPtr& call) {
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = call->service.metrics_text();
  call->answer(std::move(response));
}

void openapi(const CallPtr& call) {
  call->answer(json_answer(text_of(mha_embedded_openapi, mha_embedded_openapi_size)));
}

void studio(const CallPtr& call) {
  Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = text_of(mha_embedded_studio_page, mha_embedded_studio_page_size);
  response.headers.emplace_back("referrer-policy", "no-referrer");
  response.headers.emplace_back("x-frame-options", "SAMEORIGIN");
  call->answer(std::move(response));
}

void models(const CallPtr& call) {
  call->answer(json_answer("{\"object\":\"list\",\"data\":[" + model_json(call->service) + "]}"));
}

void model(const CallPtr& call) {
  const std::string name = call->exchange->head().path.substr(std::string_view("/v1/models/").size());
  if (name != call->service.model_name()) {
    fail(404, "NotFound", "no model " + name + "; this server has " + call->service.model_name(), "model");
  }
  call->answer(json_answer(model_json(call->service)));
}

}  // namespace mha::serve
