#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "ops/native/engines.hpp"
#include "support/linear_case.hpp"

namespace mha {
namespace {

/// How products are asked for: block by block with the epilogue after each, or a panel at a time.
enum class Asked { blocks, panels };

struct Tail {
  Activation activation = Activation::none;
  const std::vector<float>* residual = nullptr;  // [rows, out]
  std::size_t result_bits = 24;
  bool to_operand = false;  // the result is the next product's operand, whose bytes are given back
};

/// The engine's product with x [rows, in].
std::vector<float> product_of(const native::Engine& engine, const test::LinearCase& layer, const std::vector<float>& x,
                              std::size_t rows, Asked asked, const Tail& tail = {}) {
  const LinearWeights* parts[] = {&layer.weights};
  const auto packed = engine.pack(JoinedWeights(parts));
  const native::Layout& layout = engine.layout();
  const std::size_t block = layout.row_block();
  const std::size_t width = layout.panel();
  const std::size_t padded = round_up(rows, block);
  native::Bytes memory(layout.operand_bytes(padded, packed->in));
  std::vector<native::RowCode> codes(padded);
  const native::Operand operand{memory.data(), layout.operand_stride(packed->in), codes.data()};
  layout.convert(*packed, {x.data(), rows, packed->in}, operand);
  native::Bytes decoded(std::max<std::size_t>(64, engine.decoded_bytes(packed->steps)));
  FloatBuffer sums(engine.sum_blocks() * block * width);
  std::vector<float> y(rows * packed->out);
  const std::size_t wide = packed->panels * width;
  const std::size_t next_bytes = tail.to_operand ? layout.operand_bytes(padded, wide) : 0;
  native::Bytes next(std::max<std::size_t>(64, next_bytes));
  std::fill_n(next.data(), next_bytes, std::byte{0});
  native::PendingBlock pending;
  engine.begin();
  for (std::size_t p = 0; p < packed->panels; ++p) {
    const std::size_t column = p * width;
    native::Epilogue epilogue;
    epilogue.bias = packed->bias.data() + column;
    if (!packed->column_scale.empty()) epilogue.scale = packed->column_scale.data() + column;
    if (!packed->sum.empty()) {
      epilogue.codes = codes.data();
      epilogue.code_sums = packed->sum.data() + column;
    }
    epilogue.activation = tail.activation;
    epilogue.result_bits = tail.result_bits;
    if (tail.residual != nullptr) {
      epilogue.residual = tail.residual->data() + column;
      epilogue.residual_stride = packed->out;
    }
    if (tail.to_operand) {
      epilogue.operand = {next.data(), layout.operand_stride(wide), nullptr};
      epilogue.column = column;
      epilogue.cols = width;
    } else {
      epilogue.y = y.data() + column;
      epilogue.y_stride = packed->out;
      epilogue.cols = std::min(width, packed->out - column);
    }
    const native::PanelCall call{*packed, p, 0, packed->steps, decoded.data(), operand, rows};
    engine.decode_weights(call, decoded.data());
    if (asked == Asked::panels) {
      engine.multiply_panel(call, epilogue, sums.data(), pending, {packed->panel(0), packed->panel_bytes});
      continue;
    }
    for (std::size_t row = 0; row < rows; row += block) {
      const native::SumBlock of{sums.data(), width, row, std::min(block, rows - row)};
      engine.multiply(call, of, false, {});
      engine.apply(epilogue, of);
    }
  }
  engine.apply(pending);
  engine.end();
  if (tail.to_operand) {
    y.resize(next_bytes / sizeof(float));
    std::memcpy(y.data(), next.data(), next_bytes);
  }
  return y;
}

}  // namespace

TEST_CASE("int8 sums are the same by every instruction", "[kernels]") {
  const native::Engine* const engines[] = {native::engine_int8_amx(), native::engine_int8_quadruples(),
                                           native::engine_int8_avx_vnni()};
  for (const native::Engine* engine : engines) {
    if (engine == nullptr) {
      WARN("skipped: this CPU does not have all instructions");
      continue;
    }
    CAPTURE(engine->name());
    for (const std::size_t in : {1U, 70U, 384U, 1100U}) {
      const test::LinearCase layer(in, 75, 81);
      const std::vector<float> x = test::normals(45 * in, 82);
      CHECK(product_of(*engine, layer, x, 45, Asked::blocks) ==
            product_of(*native::engine_int8_pairs(), layer, x, 45, Asked::blocks));
    }
  }
}

TEST_CASE("finer codes of the input lose half of their step", "[kernels]") {
  const native::Engine* const engines[] = {native::engine_w8a16_pairs(), native::engine_w8a16_avx_vnni(),
                                           native::engine_w8a16_avx512_vnni()};
  for (const native::Engine* engine : engines) {
    if (engine == nullptr) {
      WARN("skipped: this CPU does not have all instructions");
      continue;
    }
    // So many columns that sums of 15 bits would overflow are read with fewer.
    for (const std::size_t in : {1U, 70U, 384U, 3001U}) {
      CAPTURE(engine->name(), in);
      test::LinearCase layer(in, 75, 91);
      layer.to_codes();
      const std::vector<float> x = test::normals(13 * in, 92);
      const std::vector<float> got = product_of(*engine, layer, x, 13, Asked::blocks);
      const double codes = std::min(32767.0, 0x1p31 / (128.0 * static_cast<double>(in)) - 1.0);
      for (std::size_t r = 0; r < 13; ++r) {
        const auto [least, largest] = std::minmax_element(x.data() + r * in, x.data() + (r + 1) * in);
        const double step = (std::max(0.0F, *largest) - std::min(0.0F, *least)) / codes;
        for (std::size_t o = 0; o < 75; ++o) {
          double exact = layer.bias[o];
          double weights = 0.0;
          for (std::size_t i = 0; i < in; ++i) {
            const double weight = static_cast<double>(layer.codes[o * in + i]) * static_cast<double>(layer.steps[o]);
            exact += static_cast<double>(x[r * in + i]) * weight;
            weights += std::fabs(weight);
          }
          REQUIRE(std::fabs(got[r * 75 + o] - exact) <= 0.5001 * step * weights + 1e-6 * std::fabs(exact) + 1e-6);
        }
      }
    }
  }
}

TEST_CASE("codes at the ends of their range do not overflow", "[kernels]") {
  // Each pair of products is 2 · 255 · 127 or 2 · 255 · −128: more than 16 bits hold.
  std::vector<std::int8_t> codes(2 * 1536, 127);
  std::fill(codes.begin() + 1536, codes.end(), std::int8_t{-128});
  const std::vector<float> steps{1.0F, 1.0F};
  LinearWeights weights;
  weights.weight = {
      "w", {DType::i8, {2, 1536}, reinterpret_cast<const std::byte*>(codes.data())}, test::view_of(steps, {2})};
  const LinearWeights* parts[] = {&weights};
  const std::vector<float> x(1536, 255.0F);
  std::vector<float> y(2);
  const Backend& backend = backend_named("native");
  backend.linear(*backend.pack(parts, Precision::int8), {x.data(), 1, 1536}, {y.data(), 1, 2}, {}, nullptr);
  CHECK(y == std::vector<float>{255.0F * 127.0F * 1536.0F, -255.0F * 128.0F * 1536.0F});
}

TEST_CASE("a row's products do not depend on the number of rows beside it", "[kernels]") {
  for (const native::Engine* engine :
       {native::engine_f32(), native::engine_bf16_by_conversion(), native::engine_bf16_pairs(),
        native::engine_bf16_amx(), native::engine_int8_pairs(), native::engine_int8_avx_vnni(),
        native::engine_int8_quadruples(), native::engine_int8_amx(), native::engine_w8a16_pairs(),
        native::engine_w8a16_avx_vnni(), native::engine_w8a16_avx512_vnni()}) {
    if (engine == nullptr) continue;
    for (const std::size_t in : {3U, 300U}) {
      CAPTURE(engine->name(), in);
      const test::LinearCase layer(in, 75, 93);
      const std::vector<float> x = test::normals(49 * in, 94);
      const std::vector<float> all = product_of(*engine, layer, x, 49, Asked::blocks);
      for (std::size_t rows = 1; rows < 49; ++rows) {
        const std::vector<float> some = product_of(*engine, layer, x, rows, Asked::blocks);
        REQUIRE(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("bfloat16 sums agree between tiles, dot products and conversion", "[kernels]") {
  const test::LinearCase layer(200, 75, 83);
  const std::vector<float> x = test::normals(45 * 200, 84);
  const std::vector<float> expected = product_of(*native::engine_bf16_by_conversion(), layer, x, 45, Asked::blocks);
  for (const native::Engine* engine : {native::engine_bf16_amx(), native::engine_bf16_pairs()}) {
    if (engine == nullptr) {
      WARN("skipped: this CPU has not all instructions");
      continue;
    }
    CAPTURE(engine->name());
    const std::vector<float> got = product_of(*engine, layer, x, 45, Asked::blocks);
    // The same products, exact in float32, added in another order: 200 of about 0.04.
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::fabs(got[i] - expected[i]) <= 200 * 0x1p-24F * 3.0F);
  }
}

TEST_CASE("panels give the same bits as their blocks one by one", "[kernels]") {
  struct Kind {
    const native::Engine* engine;
    bool codes;  // weights that are int8 in their file
  };
  const Kind kinds[] = {{native::engine_f32(), false},
                        {native::engine_bf16_by_conversion(), false},
                        {native::engine_bf16_pairs(), false},
                        {native::engine_bf16_amx(), false},
                        {native::engine_bf16x3_amx(), false},
                        {native::engine_bf16x6_amx(), false},
                        {native::engine_int8_amx(), false},
                        {native::engine_int8_quadruples(), false},
                        {native::engine_int8_avx_vnni(), false},
                        {native::engine_int8_pairs(), false},
                        {native::engine_w8a16_pairs(), false},
                        {native::engine_codes_bf16_amx(), true},
                        {native::engine_codes_bf16x3_amx(), true},
                        {native::engine_codes_bf16x6_amx(), true}};
  for (const auto& [engine, codes] : kinds) {
    if (engine == nullptr) continue;
    // Whole depths, and depths that are taken in runs whose last is short.
    for (const std::size_t in : {70U, 384U, 1100U}) {
      test::LinearCase layer(in, 107, 85);
      if (codes) layer.to_codes();
      // Blocks that are whole, halves and less; groups that are whole and not.
      for (const std::size_t rows : {33U, 64U, 110U, 161U, 300U}) {
        const std::vector<float> x = test::normals(rows * in, 86);
        const std::vector<float> residual = test::normals(rows * 107, 87);
        CAPTURE(engine->name(), in, rows);
        for (const Tail& tail : {Tail{}, Tail{Activation::none, &residual}, Tail{Activation::gelu, nullptr},
                                 Tail{Activation::gelu_tanh, &residual}, Tail{Activation::relu, nullptr, 24, true},
                                 Tail{Activation::gelu, nullptr, 8, true}}) {
          if (tail.to_operand && !engine->layout().splits_depth()) continue;
          const auto blocks = product_of(*engine, layer, x, rows, Asked::blocks, tail);
          const auto panels = product_of(*engine, layer, x, rows, Asked::panels, tail);
          REQUIRE(std::memcmp(blocks.data(), panels.data(), blocks.size() * sizeof(float)) == 0);
        }
      }
    }
  }
}

TEST_CASE("operands by conversion are rounded as bfloat16 numbers are", "[kernels]") {
  const native::Engine& engine = *native::engine_bf16_by_conversion();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = test::normals(83, 88);
  for (const float value : {0.0F, -0.0F, 1.00390625F, 1.01171875F, 3.4e38F, -3.4e38F, 1e-40F, inf, -inf,
                            std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7F800001U)}) {
    x.push_back(value);
  }
  const test::LinearCase layer(x.size(), 3, 89);
  const LinearWeights* parts[] = {&layer.weights};
  const auto packed = engine.pack(JoinedWeights(parts));
  const native::Layout& layout = engine.layout();
  native::Bytes memory(layout.operand_bytes(layout.row_block(), x.size()));
  layout.convert(*packed, {x.data(), 1, x.size()}, {memory.data(), layout.operand_stride(x.size()), nullptr});
  const auto* rounded = reinterpret_cast<const float*>(memory.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i, x[i]);
    CHECK(std::bit_cast<std::uint32_t>(rounded[i]) == std::uint32_t{bf16_from_float(x[i])} << 16);
  }
}

}  // namespace mha
