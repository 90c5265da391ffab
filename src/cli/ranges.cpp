#include "cli/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/record_run.hpp"
#include "io/json.hpp"
#include "io/mapped_file.hpp"
#include "io/text_reader.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

using nlohmann::json;

std::vector<float> row_of(const json& row, const std::string& place, std::size_t width) {
  if (!row.is_array() || row.size() != width) {
    throw_input(place + ": expected " + std::to_string(width) + " numbers, one a dimension, got " +
                (row.is_array() ? std::to_string(row.size()) : std::string("no array")));
  }
  std::vector<float> values;
  for (const json& value : row) {
    const auto number = value.is_number() ? static_cast<float>(value.get<double>()) : NAN;
    if (!std::isfinite(number)) throw_input(place + ": expected finite numbers, got " + value.dump());
    values.push_back(number);
  }
  return values;
}

// Steps are cut from the difference, which two finite numbers need not have.
void require_finite_range(float least, float greatest, const std::string& place) {
  if (std::isfinite(greatest - least)) return;
  throw_input(place + ": expected a range that float32 can hold, got one that is larger");
}

class TextsOfFile : public RecordSource {
 public:
  explicit TextsOfFile(const std::string& file) : reader_(TextReader::from_files({file})) {}

  bool next(Record& record) override {
    if (!reader_.next(record.input)) return false;
    return true;
  }
  bool ready() override { return true; }

 private:
  TextReader reader_;
};

/// Least and greatest value of each dimension.
class RangeSink : public RecordSink {
 public:
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.input.error);
    if (record.windows.empty()) add(record.embedding);
    for (const Record& window : record.windows) add(window.embedding);
    return true;
  }
  void flush() override {}

  std::vector<float> least;
  std::vector<float> greatest;

 private:
  void add(const std::vector<float>& vector) {
    if (least.empty()) least = greatest = vector;
    for (std::size_t i = 0; i < vector.size(); ++i) {
      least[i] = std::min(least[i], vector[i]);
      greatest[i] = std::max(greatest[i], vector[i]);
    }
  }
};

}  // namespace

void read_ranges(const std::string& file, std::size_t width, VectorQuantization& quantization) {
  const json ranges = parse_json(read_file(file, ErrorKind::input), file, ErrorKind::input);
  if (!ranges.is_array() || ranges.size() != 2) {
    throw_input(file + ": expected [[least…],[greatest…]], got " +
                (ranges.is_array() ? "an array of " + std::to_string(ranges.size()) : "no array"));
  }
  quantization.least = row_of(ranges[0], file + ": [0]", width);
  quantization.greatest = row_of(ranges[1], file + ": [1]", width);
  for (std::size_t i = 0; i < width; ++i) {
    if (!(quantization.least[i] < quantization.greatest[i])) {
      throw_input(file + ": [1][" + std::to_string(i) + "]: expected more than " + ranges[0][i].dump() + ", got " +
                  ranges[1][i].dump());
    }
    require_finite_range(quantization.least[i], quantization.greatest[i], file + ": [1][" + std::to_string(i) + "]");
  }
}

VectorQuantization calibrate(const Options& options, const ModelWork& work,
                             const std::function<WorkerFactory(const ModelWork&)>& workers) {
  ModelWork plain = work;
  plain.quantization = {};
  plain.parts = {.embedding = true};
  TextsOfFile texts(options.quantize.calibrate);
  RangeSink ranges;
  run_workers(options, batch_tokens(*work.encoder), workers(plain), texts, ranges);
  if (ranges.least.empty()) throw_input("--calibrate: " + options.quantize.calibrate + ": expected texts, got none");
  for (std::size_t i = 0; i < ranges.least.size(); ++i) {
    const std::string place = "--calibrate: " + options.quantize.calibrate + ": dimension " + std::to_string(i);
    require_finite_range(ranges.least[i], ranges.greatest[i], place);
    if (ranges.least[i] == ranges.greatest[i]) {
      throw_input(place + ": expected a range of values, got one value alone; more texts that differ give ranges");
    }
  }
  return {work.quantization.type, std::move(ranges.least), std::move(ranges.greatest)};
}

}  // namespace mha::cli
