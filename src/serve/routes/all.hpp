#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/service.hpp"

/// What each route does (routes.cpp has the table). All throw ApiError and Error.
namespace mha::serve {

using CallPtr = std::shared_ptr<Call>;

void embed(const CallPtr& call);
void embed_all(const CallPtr& call);
void openai_embeddings(const CallPtr& call);
void ollama_embed(const CallPtr& call);
void similarity_route(const CallPtr& call);

void predict(const CallPtr& call);
void rerank(const CallPtr& call);
void root(const CallPtr& call);

void attention(const CallPtr& call);
void explain(const CallPtr& call);
void heads(const CallPtr& call);
void compare_route(const CallPtr& call);

void tokenize(const CallPtr& call);
void decode(const CallPtr& call);

void info_route(const CallPtr& call);
void health(const CallPtr& call);
void ready(const CallPtr& call);
void metrics(const CallPtr& call);
void openapi(const CallPtr& call);
void studio(const CallPtr& call);
void models(const CallPtr& call);
void model(const CallPtr& call);

/// Memory that an input takes beside its tokens: its record and its place in the queue.
constexpr std::size_t kInputBytes = 1280;
/// Memory that a token of an input takes.
constexpr std::size_t kTokenBytes = 32;
/// Text of a float in an answer, and the float itself, while the answer is put together.
constexpr std::size_t kFloatBytes = 32;

/// The keys that text-embeddings-inference has on all routes with inputs: `truncate`, `truncation_direction`,
/// `prompt_name`; and ours: `priority` (lower is sooner, 0 by default) and `on_error` (`fail` or `record`).
Preparation read_preparation(Fields& fields, Service& service);
void read_job_keys(Fields& fields, CallJob& job);

/// Reads the inputs of `key` into the job and tokenises them; a bad one fails the request, or is marked if the job
/// records errors. Counts the memory with `bytes_per_input` and `bytes_per_token` for the answer.
void prepare_inputs(Inputs inputs, const Preparation& how, const void* lane, std::size_t bytes_per_input,
                    std::size_t bytes_per_token, CallJob& job);

/// `{"index":3,"error":"…"}` in place of a bad input.
void append_bad(std::string& out, std::size_t index, const JobInput& input);

}  // namespace mha::serve
