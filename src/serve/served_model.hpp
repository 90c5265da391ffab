#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mha/model/model.hpp"
#include "model/head_labels.hpp"
#include "pipeline/model_worker.hpp"
#include "pipeline/tasks.hpp"
#include "serve/engine.hpp"
#include "serve/json_body.hpp"

namespace mha::serve {

/// How the inputs of a request become tokens.
struct Preparation {
  bool truncate = true;  ///< else an input that is too long is refused
  TruncationSide keep = TruncationSide::head;
  bool special_tokens = true;
  const std::string* prompt = nullptr;  ///< stands before each input; must outlive the request; null: none
};

/// The model of the server with the lanes of the engine that compute with it. Threads: any, unless said otherwise.
class ServedModel {
 public:
  /// `prompt` is the default prompt; `pooling`, if not empty, replaces the model's own.
  ServedModel(ModelHeader header, std::shared_ptr<const Model> model, const PromptChoice& prompt,
              const std::vector<PoolingMode>& pooling, Engine& engine);

  const Model& model() const { return *model_; }
  const ModelHeader& header() const { return header_; }
  const SentenceConfig& sentence() const { return work_.sentence; }
  /// Numbers of a sentence vector.
  std::size_t width() const { return width_; }
  /// The default prompt, or the model's prompt of that name. Throws ApiError 422 for an unknown one.
  const std::string& prompt(const std::optional<std::string>& name);

  /// The model's prompt for `query` or `document`, which may be empty.
  const std::string& prompt_of_role(const std::string& role);

  /// Tokenises a text, or takes the ids of one, for an input of a job. Throws ApiError 422 for an input that is too
  /// long or cannot be encoded, and for ids that are not in the vocabulary.
  void prepare(const Input& input, const Preparation& how, JobInput& out) const;
  /// The same for what a task makes of `out.text`, with `out.reader`.
  void prepare_task(const Preparation& how, const std::string& place, JobInput& out) const;

  /// Sentence vectors as they are pooled: neither cut nor normalised.
  const void* vectors(const std::string& prompt);
  /// `last_hidden_state`.
  const void* token_vectors();

  /// A head of the model.
  struct TaskLane {
    std::shared_ptr<const Head> head;
    std::unique_ptr<TaskReader> reader;  ///< hands logits on to the reader of each input
    TaskWork work;
    const void* lane = nullptr;
  };
  bool has(Task task) const;
  std::vector<Task> tasks() const { return tasks_; }
  /// Throws ApiError 424, with the routes that do work, if the model has no such head.
  const TaskLane& task(Task task, const char* what);
  /// Labels of the classifying or tagging head.
  const HeadLabels& labels(Task task);

  /// What readers of tasks need; without prompt.
  const ModelWork& work(TruncationSide keep = TruncationSide::head) const {
    return keep == TruncationSide::head ? work_ : tail_work_;
  }

 private:
  void encode_ids(const Input& input, const Preparation& how, Encoding& out) const;
  void check_length(const Encoding& encoding, const Preparation& how, const std::string& place) const;
  EncodeOptions options(const Preparation& how) const;

  ModelHeader header_;
  std::shared_ptr<const Model> model_;
  Engine& engine_;
  ModelWork work_;        ///< sentence vectors without a prompt
  ModelWork tail_work_;   ///< the same, the end of a long text is kept
  ModelWork token_work_;  ///< token vectors
  std::size_t width_ = 0;
  std::vector<Task> tasks_;
  std::string default_prompt_;
  std::map<std::string, std::string> role_prompts_;
  std::vector<std::int32_t> opening_;  ///< special tokens before a text
  std::vector<std::int32_t> closing_;
  std::mutex mutex_;  // guards what follows
  struct Prompted {
    ModelWork work;
    const void* lane;
  };
  std::map<std::string, Prompted> prompted_;
  const void* vectors_ = nullptr;
  const void* token_vectors_ = nullptr;
  std::map<Task, TaskLane> task_lanes_;
  std::map<Task, HeadLabels> labels_;
};

}  // namespace mha::serve
