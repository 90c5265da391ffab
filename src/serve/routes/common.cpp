#include "serve/json_append.hpp"
#include "serve/routes/all.hpp"

namespace mha::serve {

Preparation read_preparation(Fields& fields, Service& service) {
  Preparation how;
  how.truncate = fields.flag("truncate").value_or(service.settings().auto_truncate);
  const auto side = fields.choice("truncation_direction", {"Right", "right", "Left", "left"});
  if (side && *side >= 2) how.keep = TruncationSide::tail;
  how.prompt = &service.model().prompt(fields.text("prompt_name"));
  return how;
}

void read_job_keys(Fields& fields, CallJob& job) {
  constexpr std::int64_t kMostPriority = 1000;
  job.priority = static_cast<int>(fields.integer("priority", -kMostPriority, kMostPriority).value_or(0));
  job.record_errors = fields.choice("on_error", {"fail", "record"}).value_or(0) == 1;
}

void prepare_inputs(Inputs inputs, const Preparation& how, const void* lane, std::size_t bytes_per_input,
                    std::size_t bytes_per_token, CallJob& job) {
  job.inputs = std::vector<JobInput>(inputs.list.size());
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < inputs.list.size(); ++i) {
    Input& input = inputs.list[i];
    JobInput& out = job.inputs[i];
    out.input.index = i;
    out.input.set_place(input.place);
    out.lane = lane;
    job.characters += input.text.size();
    try {
      job.call->service.model().prepare(input, how, out);
    } catch (const ApiError& error) {
      if (!job.record_errors) throw;
      out.input.error = error.message;
    }
    tokens += out.Record::tokens();
    std::string().swap(input.text);
  }
  job.call->hold(inputs.list.size() * (kInputBytes + bytes_per_input) + tokens * (kTokenBytes + bytes_per_token));
}

void append_bad(std::string& out, std::size_t index, const JobInput& input) {
  out += "{\"index\":";
  append_number(out, index);
  out += ",\"error\":";
  append_json_piece(out, input.input.error);
  out += '}';
}

}  // namespace mha::serve
