#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mha/encoder/heads.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "model/head_labels.hpp"
#include "output/records.hpp"
#include "output/results.hpp"
#include "pipeline/model_worker.hpp"
#include "pipeline/pipeline.hpp"

namespace mha {

/// What one task makes of an input, around the forward pass: the encodings that it is made of, the tokens whose logits
/// it looks at, and what these mean. Immutable, shared by threads. Errors: input.
class TaskReader {
 public:
  virtual ~TaskReader() = default;

  /// Fills `record.encoding` and, where an input is several (windows, hypotheses), its `overflowing`. `text` is prompt
  /// and text.
  virtual void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const = 0;
  /// Appends the tokens that are looked at; unused where the head reads whole inputs.
  virtual void choose_tokens(const Encoding& encoding, std::vector<std::size_t>& tokens) const;
  /// Adds to `record.result`. Called for every encoding, in order; `logits` [tokens that were chosen, or 1][outputs].
  virtual void read(const Encoding& encoding, std::size_t number, ConstMatrix logits, Record& record) const = 0;
  /// After all encodings of an input were read.
  virtual void finish(Record&) const {}

  /// How its results look.
  virtual ResultLayout layout() const = 0;
};

/// What a run asks of a model with a head. Everything that is pointed to must outlive the pipeline.
struct TaskWork {
  const ModelWork* model = nullptr;  ///< tokenizer, encoder, prompt; its parts are not looked at
  const Head* head = nullptr;
  const TaskReader* reader = nullptr;
  std::size_t batch_tokens = 1024;  ///< of one forward pass, or one encoding
};

/// Makes workers that fill `Record::result`. `work` must outlive them.
WorkerFactory task_workers(const TaskWork& work);

struct FillMaskSettings {
  std::size_t top_k = 5;
  std::vector<std::int32_t> targets;  ///< only these are scored; empty: the whole vocabulary
  std::size_t outputs = 0;            ///< entries that the head scores
};
/// `fills`: for each mask token the likeliest entries, scores as softmax over the whole vocabulary.
/// transformers 5.24, pipelines/fill_mask.py. Throws Error{model} where the tokenizer has no mask token.
std::unique_ptr<TaskReader> fill_mask_reader(const ModelWork& work, const FillMaskSettings& settings);

/// How logits of labels become scores.
enum class LabelScores { softmax, sigmoid, none };

/// As the model's config.json says: sigmoid where several labels may hold or there is one, none for a regression.
/// transformers 5.24, pipelines/text_classification.py.
LabelScores label_scores(const HeadLabels& labels);

struct ClassifySettings {
  std::vector<std::string> labels;
  LabelScores scores = LabelScores::softmax;
  std::size_t top_k = 0;  ///< `scores` with so many labels; 0: the best label as members of the record
};
/// `label` and `score`, or `scores`. transformers 5.24, pipelines/text_classification.py.
std::unique_ptr<TaskReader> classify_reader(const ModelWork& work, const ClassifySettings& settings);

struct ZeroShotSettings {
  std::vector<std::string> labels;      ///< as the user gave them
  std::vector<std::string> hypotheses;  ///< a sentence for each
  std::size_t entailment = 0;           ///< outputs of the NLI model
  std::size_t contradiction = 0;
  bool multi_label = false;  ///< each label alone, against contradiction
  std::size_t top_k = 0;     ///< as in ClassifySettings
};
/// The same by a model of natural language inference. transformers 5.24, pipelines/zero_shot_classification.py.
std::unique_ptr<TaskReader> zero_shot_reader(const ModelWork& work, const ZeroShotSettings& settings);

/// `score` of the pair of a query and the text. sentence-transformers 6.2, CrossEncoder.
std::unique_ptr<TaskReader> rerank_reader(const ModelWork& work, std::string query, LabelScores scores);

enum class Aggregation { none, simple, first, average, max };

struct TagSettings {
  std::vector<std::string> labels;
  Aggregation aggregation = Aggregation::none;
  OffsetUnit offsets = OffsetUnit::code_points;
};
/// `entities`. transformers 5.24, pipelines/token_classification.py.
std::unique_ptr<TaskReader> tag_reader(const ModelWork& work, const TagSettings& settings);

struct AnswerSettings {
  std::string question;
  std::size_t longest = 15;  ///< tokens of an answer
  std::size_t top_k = 0;     ///< `answers` with so many; 0: the best one as members of the record
  OffsetUnit offsets = OffsetUnit::code_points;
  /// An empty answer stands among the results, with the least probability of its windows that the first token is start
  /// and end (the reference's handle_impossible_answer).
  bool no_answer = false;
};
/// `answer`, `score`, `start`, `end`: the best span of the text. `work.encode` has the stride of its windows.
/// transformers 4.57, pipelines/question_answering.py, with spans of tokens (align_to_words=False).
std::unique_ptr<TaskReader> answer_reader(const ModelWork& work, const AnswerSettings& settings);

}  // namespace mha
