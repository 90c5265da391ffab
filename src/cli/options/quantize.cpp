#include "cli/options/quantize.hpp"

#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  QuantizeOptions& quantize = options.quantize;
  list.group("Sentence vectors");
  list.choice("--quantize", "TYPE", "whole numbers in place of float32, as sentence-transformers makes them",
              quantize.type,
              {{"int8", VectorType::int8}, {"binary", VectorType::binary}, {"ubinary", VectorType::ubinary}})
      .explain(
          "int8 has one byte per dimension. ubinary packs the signs of 8 dimensions into one byte, the first in the "
          "highest bit; binary is the same as signed bytes (minus 128).");
  list.value("--quantize-ranges", "FILE", "for int8: [[least…],[greatest…]] as JSON, one number per dimension",
             ValueKind::file, [&quantize](const std::string& file) { quantize.ranges = file; })
      .ends_in({".json"})
      .by_default("unit vectors times 127");
  list.value("--calibrate", "FILE", "for int8: ranges from the vectors of the texts in FILE", ValueKind::file,
             [&quantize](const std::string& file) { quantize.calibrate = file; });
}

void check(const Options& options) {
  const QuantizeOptions& quantize = options.quantize;
  const bool ranged = !quantize.ranges.empty() || !quantize.calibrate.empty();
  if (ranged && quantize.type != VectorType::int8) {
    throw_usage(std::string(quantize.ranges.empty() ? "--calibrate" : "--quantize-ranges") +
                ": expected --quantize int8 with it, got none");
  }
  if (!quantize.ranges.empty() && !quantize.calibrate.empty()) {
    throw_usage("--quantize-ranges and --calibrate: expected one of them, got both; leave one out");
  }
}

}  // namespace

const OptionGroup kQuantize{declare, check};

}  // namespace mha::cli
