#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mha/encoder/encoder.hpp"
#include "mha/tokenizer/encoding.hpp"

namespace mha {

/// Encodings one after the other, as the encoder takes them, and the memory of one thread's forward passes.
class PackedInputs {
 public:
  PackedInputs(const ModelConfig& config, Executor* executor)
      : team_(executor), alone_(nullptr), rows_worth_threads_(kOperationsWorthThreads / operations_a_row(config)) {}

  void clear() {
    ids_.clear();
    types_.clear();
    row_begin_.assign(1, 0);
  }
  void add(const Encoding& encoding) {
    append(encoding, 0, encoding.size());
    end_input();
  }
  /// Appends tokens [first, last) of an encoding to the input that `end_input` completes.
  void append(const Encoding& encoding, std::size_t first, std::size_t last) {
    ids_.insert(ids_.end(), encoding.input_ids.data() + first, encoding.input_ids.data() + last);
    types_.insert(types_.end(), encoding.token_type_ids.data() + first, encoding.token_type_ids.data() + last);
  }
  void end_input() { row_begin_.push_back(ids_.size()); }
  std::size_t rows() const { return ids_.size(); }
  Batch batch() const { return {ids_, types_, row_begin_}; }
  Workspace& workspace() { return rows() < rows_worth_threads_ ? alone_ : team_; }

 private:
  // Less work than this takes less time than to start or wake another thread.
  static constexpr std::size_t kOperationsWorthThreads = 10'000'000;

  static std::size_t operations_a_row(const ModelConfig& config) {
    const std::size_t weights = config.d_model * (4 * config.d_query() + 2 * config.d_ff);
    return std::max<std::size_t>(2 * config.n_layers * weights, 1);
  }

  Workspace team_;
  Workspace alone_;
  std::size_t rows_worth_threads_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> types_;
  std::vector<std::size_t> row_begin_;
};

}  // namespace mha
