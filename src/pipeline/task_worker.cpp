#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/packed_inputs.hpp"
#include "pipeline/pass_batcher.hpp"
#include "pipeline/tasks.hpp"

namespace mha {
namespace {

class TaskWorker : public RecordWorker {
 public:
  TaskWorker(const TaskWork& work, Executor* executor)
      : work_(work),
        inputs_(work.model->encoder->config(), executor),
        passes_(work.batch_tokens, [this](const std::vector<Part>& parts) { run(parts); }) {}

  void prepare(Record& record) override {
    const ModelWork& model = *work_.model;
    record.prompt = model.prompt;
    std::string_view text = record.input.text;
    if (!model.prompt.empty()) text = (joined_ = model.prompt) += record.input.text;
    work_.reader->encode(text, scratch_, record);
    record.truncated = record.encoding.truncated();
    if (model.refuse_long && record.truncated) {
      throw_input("too long: expected at most " + std::to_string(*model.encode.max_length) + " tokens, got " +
                  std::to_string(record.encoding.full_length) + "; truncation head or tail cuts it");
    }
    if (record.tokens() == 0) throw_input("no tokens to look at");
  }

  std::size_t floats(const Record&) const override { return 0; }

  void encode(std::span<Record* const> batch) override {
    for (Record* record : batch) {
      record->result = {};
      record->logits.clear();
      add({record, &record->encoding, 0});
      for (std::size_t i = 0; i < record->encoding.overflowing.size(); ++i) {
        add({record, &record->encoding.overflowing[i], i + 1});
      }
    }
    passes_.flush();
    for (Record* record : batch) {
      work_.reader->finish(*record);
      record->encoding.overflowing.clear();
    }
  }

 private:
  struct Part {
    Record* record;
    const Encoding* encoding;
    std::size_t number;
  };

  void add(const Part& part) { passes_.add(part, part.encoding->size()); }

  // One forward pass.
  void run(const std::vector<Part>& parts) {
    inputs_.clear();
    for (const Part& part : parts) inputs_.add(*part.encoding);
    const Batch batch = inputs_.batch();
    Workspace& workspace = inputs_.workspace();
    const ConstMatrix hidden = work_.model->encoder->forward(batch, workspace, {}, nullptr);
    const std::size_t outputs = work_.head->outputs();
    if (work_.head->pooling() != HeadPooling::tokens) {
      const Matrix logits = room_for(parts.size(), outputs);
      work_.head->logits(batch, hidden, logits, workspace);
      for (std::size_t i = 0; i < parts.size(); ++i) read(parts[i], logits.rows_of(i, 1));
      return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      rows_.clear();
      work_.reader->choose_tokens(*parts[i].encoding, rows_);
      for (std::size_t& row : rows_) row += batch.row_begin[i];
      const Matrix logits = room_for(rows_.size(), outputs);
      if (!rows_.empty()) work_.head->logits_at(rows_, hidden, logits, workspace);
      read(parts[i], logits);
    }
  }

  Matrix room_for(std::size_t rows, std::size_t outputs) {
    logits_.resize(rows * outputs);
    return {logits_.data(), rows, outputs};
  }

  void read(const Part& part, ConstMatrix logits) {
    const float* first = logits.data;
    if (!std::all_of(first, first + logits.rows * logits.cols, [](float value) { return std::isfinite(value); })) {
      throw_input("logits: expected finite numbers, got NaN or infinity");
    }
    work_.reader->read(*part.encoding, part.number, logits, *part.record);
  }

  const TaskWork& work_;
  TokenizerScratch scratch_;
  PackedInputs inputs_;
  std::string joined_;
  PassBatcher<Part> passes_;
  std::vector<std::size_t> rows_;
  std::vector<float> logits_;
};

}  // namespace

void TaskReader::choose_tokens(const Encoding&, std::vector<std::size_t>&) const {
  throw_internal("task: this one reads whole inputs");
}

WorkerFactory task_workers(const TaskWork& work) {
  return [&work](Executor* executor) { return std::make_unique<TaskWorker>(work, executor); };
}

}  // namespace mha
