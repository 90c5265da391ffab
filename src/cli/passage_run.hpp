#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/models.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "search/index.hpp"
#include "search/indexer.hpp"

namespace mha::cli {

class Log;

/// A loaded model that makes the vectors of passages and queries.
class PassageRun {
 public:
  /// `dims`: numbers that are kept of each vector; 0, or more than there are: all. Errors: usage for a model whose
  /// similarity cannot be searched; as loading a model.
  PassageRun(const Options& options, std::size_t dims, Log& log);

  /// What a new index of this model says of itself. Embeds the probe.
  IndexHeader header(const std::vector<VectorForm>& forms);
  /// Throws Error{usage} that names both sides if the index was made by another model or with another prompt or width.
  void check(const Index& index);
  VectorSpace space();

  /// The prompt of passages and that of queries: what the options say, else the model's for that role.
  std::string passage_prompt() const;
  std::string query_prompt() const;
  std::vector<std::vector<float>> vectors(const std::vector<std::string>& texts, const std::string& prompt);

  /// Finds the files below the paths and brings the index up to date with them.
  IndexerResult update(Index& index, const std::vector<std::string>& paths, bool remove_missing);

  const std::string& name() const { return location_.name; }
  std::size_t width() const { return width_; }

 private:
  std::size_t room(const std::string& prompt) const;
  PipelineSettings settings() const;

  const Options& options_;
  Log& log_;
  ModelLocation location_;
  ModelHeader header_;
  std::shared_ptr<const Model> model_;
  ModelWork work_;
  std::size_t width_ = 0;
};

}  // namespace mha::cli
