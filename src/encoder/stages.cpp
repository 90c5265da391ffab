#include "encoder/stages.hpp"

#include <algorithm>
#include <utility>

namespace mha {

Stage& StageRecorder::block(std::string name, std::size_t n_heads, std::size_t rows, std::size_t cols) {
  Stage stage;
  stage.name = std::move(name);
  stage.heads = n_heads;
  stage.rows = rows;
  stage.cols = cols;
  stage.values.resize((n_heads == 0 ? 1 : n_heads) * rows * cols);
  stages_.push_back(std::move(stage));
  return stages_.back();
}

void StageRecorder::matrix(std::string name, ConstMatrix x) {
  Stage& stage = block(std::move(name), 0, x.rows, x.cols);
  for (std::size_t r = 0; r < x.rows; ++r) std::copy_n(x.row(r), x.cols, stage.values.data() + r * x.cols);
}

void StageRecorder::heads(std::string name, ConstMatrix x, std::size_t n_heads) {
  const std::size_t width = x.cols / n_heads;
  Stage& stage = block(std::move(name), n_heads, x.rows, width);
  float* to = stage.values.data();
  for (std::size_t head = 0; head < n_heads; ++head) {
    for (std::size_t r = 0; r < x.rows; ++r, to += width) std::copy_n(x.row(r) + head * width, width, to);
  }
}

}  // namespace mha
