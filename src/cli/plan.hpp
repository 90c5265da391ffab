#pragma once

#include "cli/options.hpp"
#include "mha/model/model.hpp"
#include "output/records.hpp"
#include "pipeline/model_worker.hpp"

namespace mha::cli {

/// What a command will do with each input, decided from the options and the model's header alone.
struct Plan {
  Format format = Format::json;
  RecordSchema schema;
  ModelWork work;  ///< without tokenizer and encoder, which are not loaded yet
};

/// Options of the encoding commands against what the model has. Throws Error{usage}.
Plan plan_encoding(const Options& options, RecordKind kind, const ModelHeader& header);

/// The same for `tokenize`, which needs no model.
Plan plan_tokenizing(const Options& options, const SentenceConfig& sentence);

/// Gives the plan its tokenizer, and checks that `--max-length` leaves room for the special tokens.
void use_tokenizer(Plan& plan, const Options& options, const Tokenizer& tokenizer,
                   std::optional<std::size_t> max_length);

/// Gives the plan a loaded model.
void use_model(Plan& plan, const Options& options, const Model& model);

}  // namespace mha::cli
