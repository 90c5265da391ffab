#include "model/quantize.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/source_folder.hpp"

using namespace mha;

namespace {

using Values = std::vector<float>;

Values quantized(VectorQuantization quantization, Values vector) {
  quantize(quantization, vector);
  return vector;
}

}  // namespace

TEST_CASE("quantized vectors are those of sentence-transformers") {
  std::ifstream file(test::source_folder() / "tests/data/task_goldens.json");
  const nlohmann::json golden = nlohmann::json::parse(file).at("quantized").at(0);
  const auto ranges = golden.at("ranges").get<std::vector<Values>>();
  for (std::size_t i = 0; i < golden.at("vectors").size(); ++i) {
    const Values vector = golden.at("vectors").at(i).get<Values>();
    CHECK(quantized({VectorType::int8, ranges[0], ranges[1]}, vector) == golden.at("int8").at(i).get<Values>());
    CHECK(quantized({VectorType::binary}, vector) == golden.at("binary").at(i).get<Values>());
    CHECK(quantized({VectorType::ubinary}, vector) == golden.at("ubinary").at(i).get<Values>());
  }
}

TEST_CASE("values outside their range get the last level") {
  CHECK(quantized({VectorType::int8, {-1, 0, 5}, {1, 255, 5}}, {-9, 300, 5.5F}) == Values{-128, 127, -128});
}

TEST_CASE("unit vectors are scaled by 127 where there are no ranges") {
  const Values levels = quantized({VectorType::int8}, {1, -1, 0.5F, -0.001F, 0.1F});
  CHECK(levels == Values{127, -127, 64, 0, 13});
  CHECK_FALSE(std::signbit(levels[3]));
}

TEST_CASE("bits fill bytes from the highest, the last byte with zeros") {
  CHECK(quantized({VectorType::ubinary}, {1, -1, 0, 2, 0, 0, 0, 1, 3}) == Values{0b10010001, 0b10000000});
  CHECK(quantized({VectorType::binary}, {1, -1, 0, 2, 0, 0, 0, 1, 3}) == Values{0b10010001 - 128, 0});
  CHECK(quantized_width(VectorType::binary, 9) == 2);
  CHECK(quantized_width(VectorType::int8, 9) == 9);
  CHECK(quantized({VectorType::f32}, {0.25F}) == Values{0.25F});
}
