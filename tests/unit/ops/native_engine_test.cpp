#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "ops/backend/native/engine.hpp"
#include "support/linear_case.hpp"

namespace mha {
namespace {

/// The sums of one engine, without a tail.
std::vector<float> sums_of(const native::Engine& engine, const test::LinearCase& layer, const std::vector<float>& x,
                           std::size_t rows) {
  const LinearWeights* parts[] = {&layer.weights};
  const auto packed = engine.pack(JoinedWeights(parts));
  const std::size_t block = engine.row_block();
  const std::size_t padded = (rows + block - 1) / block * block;
  native::Bytes memory(engine.operand_bytes(padded, packed->in));
  std::vector<native::RowCode> codes(padded);
  const native::Operand operand{memory.data(), engine.operand_stride(packed->in), codes.data()};
  engine.convert({x.data(), rows, packed->in}, operand);
  native::Bytes expanded(std::max<std::size_t>(64, engine.expanded_bytes(packed->steps)));
  const std::size_t stride = packed->panels * engine.panel();
  std::vector<float> sums(padded * stride);
  engine.begin();
  for (std::size_t p = 0; p < packed->panels; ++p) {
    engine.expand(*packed, p, 0, packed->steps, expanded.data());
    for (std::size_t row = 0; row < rows; row += block) {
      engine.multiply(*packed, p, 0, packed->steps, expanded.data(), operand, row, std::min(block, rows - row),
                      sums.data() + row * stride + p * engine.panel(), stride, false, {});
    }
  }
  engine.end();
  std::vector<float> out;
  for (std::size_t r = 0; r < rows; ++r) {
    out.insert(out.end(), sums.data() + r * stride, sums.data() + r * stride + packed->out);
  }
  return out;
}

}  // namespace

TEST_CASE("int8 sums are the same on tiles and by dot products") {
  const native::Engine* tiles = native::engine_int8_amx();
  const native::Engine* dots = native::engine_int8_quadruples();
  if (tiles == nullptr || dots == nullptr) {
    WARN("skipped: this CPU has not both instructions");
    return;
  }
  for (const std::size_t in : {1U, 70U, 384U}) {
    const test::LinearCase layer(in, 75, 81);
    const std::vector<float> x = test::normals(45 * in, 82);
    CHECK(sums_of(*tiles, layer, x, 45) == sums_of(*dots, layer, x, 45));
  }
}

TEST_CASE("bfloat16 sums agree between tiles, dot products and conversion") {
  const test::LinearCase layer(200, 75, 83);
  const std::vector<float> x = test::normals(45 * 200, 84);
  const std::vector<float> expected = sums_of(*native::engine_bf16_by_conversion(), layer, x, 45);
  for (const native::Engine* engine : {native::engine_bf16_amx(), native::engine_bf16_pairs()}) {
    if (engine == nullptr) {
      WARN("skipped: this CPU has not all instructions");
      continue;
    }
    CAPTURE(engine->name());
    const std::vector<float> got = sums_of(*engine, layer, x, 45);
    // The same products, exact in float32, added in another order: 200 of about 0.04.
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::fabs(got[i] - expected[i]) <= 200 * 0x1p-24F * 3.0F);
  }
}

}  // namespace mha
