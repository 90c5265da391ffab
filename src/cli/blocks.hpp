#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/pipeline.hpp"

namespace mha::cli {

/// The next inputs, at most `count`; none at the end. Throws Error{input} for a bad one.
inline std::vector<Record> read_block(RecordSource& source, std::size_t count) {
  std::vector<Record> block;
  while (block.size() < count) {
    Record record;
    if (!source.next(record)) break;
    if (record.bad()) throw_input(record.input.error);
    block.push_back(std::move(record));
  }
  return block;
}

/// The texts of a block, for one of several runs over it. The block must outlive it.
class BlockSource : public RecordSource {
 public:
  explicit BlockSource(const std::vector<Record>& records) : records_(records) {}
  bool next(Record& record) override {
    if (next_ == records_.size()) return false;
    record.clear();
    record.input = records_[next_].input;
    ++next_;
    return true;
  }
  bool ready() override { return true; }

 private:
  const std::vector<Record>& records_;
  std::size_t next_ = 0;
};

}  // namespace mha::cli
