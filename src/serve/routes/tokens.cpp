#include <string>
#include <utility>

#include "core/json_text.hpp"
#include "serve/json_append.hpp"
#include "serve/routes/all.hpp"

namespace mha::serve {
namespace {

void append_tokens(std::string& out, const Tokenizer& tokenizer, const Encoding& encoding, std::string_view text) {
  out += '[';
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const bool special = encoding.special_tokens_mask[i] != 0;
    const Span span = encoding.offsets[i];
    out += i == 0 ? "{\"id\":" : ",{\"id\":";
    append_number(out, encoding.input_ids[i]);
    out += ",\"text\":";
    append_json_piece(
        out, special ? tokenizer.token(encoding.input_ids[i]) : text.substr(span.begin, span.end - span.begin));
    out += special ? ",\"special\":true" : ",\"special\":false";
    if (special) {
      out += ",\"start\":null,\"stop\":null}";
      continue;
    }
    out += ",\"start\":";
    append_number(out, std::size_t{span.begin});
    out += ",\"stop\":";
    append_number(out, std::size_t{span.end});
    out += '}';
  }
  out += ']';
}

}  // namespace

void tokenize(const CallPtr& call) {
  Service& service = call->service;
  Fields& fields = call->fields();
  fields.require("inputs", "a string or an array of strings");
  Inputs inputs = read_inputs(call->body["inputs"], "inputs", service.settings().max_client_batch_size);
  ServedModel& model = service.model();
  const std::string& prompt = model.prompt(fields.text("prompt_name"));
  const bool specials = fields.flag("add_special_tokens").value_or(true);
  call->ignored = fields.unread();

  TokenizerScratch scratch;
  Encoding encoding;
  EncodeOptions options;
  options.add_special_tokens = specials;
  Response response;
  response.body += '[';
  for (std::size_t i = 0; i < inputs.list.size(); ++i) {
    const Input& input = inputs.list[i];
    if (input.is_ids) fail_shape(input.place, "a string", "token ids");
    const std::string text = prompt + input.text;
    model.model().tokenizer().encode(text, std::nullopt, options, scratch, encoding);
    if (i > 0) response.body += ',';
    append_tokens(response.body, model.model().tokenizer(), encoding, text);
    call->hold(response.body.capacity());
  }
  response.body += ']';
  call->answer(std::move(response));
}

void decode(const CallPtr& call) {
  Service& service = call->service;
  Fields& fields = call->fields();
  const nlohmann::json& ids = fields.require("ids", "an array of token ids, or of such arrays");
  const bool skip = fields.flag("skip_special_tokens").value_or(true);
  if (ids.is_string()) fail_shape("ids", "an array of token ids, or of such arrays", "a string");
  Inputs inputs = read_inputs(call->body["ids"], "ids", service.settings().max_client_batch_size);
  call->ignored = fields.unread();
  Response response;
  response.body += '[';
  for (std::size_t i = 0; i < inputs.list.size(); ++i) {
    const Input& input = inputs.list[i];
    if (!input.is_ids) fail_shape(input.place, "an array of token ids", "a string");
    if (i > 0) response.body += ',';
    append_json_piece(response.body, service.model().model().tokenizer().decode(input.ids, skip));
    call->hold(response.body.capacity());
  }
  response.body += ']';
  call->answer(std::move(response));
}

}  // namespace mha::serve
