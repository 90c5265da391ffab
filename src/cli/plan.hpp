#pragma once

#include <cstddef>
#include <optional>

#include "cli/options.hpp"
#include "mha/model/model.hpp"
#include "output/records.hpp"
#include "pipeline/model_worker.hpp"

namespace mha::cli {

/// The wishes of a command for each input, besides its options.
struct PlanRequest {
  RecordKind kind = RecordKind::encode;
  /// Parts that are computed whatever `--with` and the format say; empty: those that are written.
  std::optional<Parts> parts;
  /// Tokens that windows of a long input share; empty: it is cut.
  std::optional<std::size_t> stride;
};

/// How each input is processed and written, decided from the options and the model's header alone.
struct Plan {
  Format format = Format::json;
  RecordSchema schema;  ///< without the tokenizer, which is not loaded yet
  ModelWork work;       ///< without tokenizer and encoder
};

/// Options of a command that encodes, against what the model has. Throws Error{usage}.
Plan make_plan(const Options& options, const PlanRequest& request, const ModelHeader& header);

/// The same for a command that only needs a tokenizer.
Plan make_plan(const Options& options, const PlanRequest& request, const SentenceConfig& sentence);

/// A plan with what carries it out.
struct PlannedWork {
  RecordSchema schema;
  ModelWork work;
};

/// Throws Error{usage} if `--max-length` leaves no room for special tokens, or the pooling needs weights that the model
/// has not. The model must outlive the result.
PlannedWork with_model(const Plan& plan, const Options& options, const Model& model);
PlannedWork with_tokenizer(const Plan& plan, const Options& options, const Tokenizer& tokenizer,
                           std::optional<std::size_t> max_length);

}  // namespace mha::cli
