#include "mha/io/tensor_convert.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "mha/core/numbers.hpp"
#include "support/throws.hpp"

using Catch::Matchers::Contains;
using mha::DType;
using mha::TensorView;

namespace {

// The values behind one byte of other data, so that nothing is aligned.
template <class T>
std::vector<std::byte> shifted(const std::vector<T>& values) {
  std::vector<std::byte> bytes(1 + values.size() * sizeof(T));
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
  return bytes;
}

}  // namespace

TEST_CASE("every half and bfloat16 of a tensor becomes the float32 of the same value") {
  std::vector<unsigned short> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned short>(i);
  const auto bytes = shifted(all);
  std::vector<float> out(all.size());
  const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
  mha::to_float32({DType::f16, {256, 256}, bytes.data() + 1}, "t", out);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(same(out[i], mha::float_from_f16(all[i])));
  mha::to_float32({DType::bf16, {256, 256}, bytes.data() + 1}, "t", out);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(same(out[i], mha::float_from_bf16(all[i])));
}

TEST_CASE("float32 is copied, float64 rounded to nearest, int8 multiplied by its row's scale") {
  std::vector<float> out(2);
  const auto singles = shifted(std::vector<float>{0.1F, -3});
  mha::to_float32({DType::f32, {2}, singles.data() + 1}, "t", out);
  CHECK(out == std::vector<float>{0.1F, -3});
  const auto doubles = shifted(std::vector<double>{0.1, 1e300});
  mha::to_float32({DType::f64, {2}, doubles.data() + 1}, "t", out);
  CHECK(out[0] == 0.1F);
  CHECK(std::isinf(out[1]));
  const auto small = shifted(std::vector<signed char>{1, -128, 127, 0});
  const auto scales = shifted(std::vector<float>{0.5F, 2});
  std::vector<float> four(4);
  mha::to_float32({DType::i8, {2, 2}, small.data() + 1}, {DType::f32, {2}, scales.data() + 1}, "t", four);
  CHECK(four == std::vector<float>{0.5F, -64, 254, 0});
  mha::to_float32({DType::f32, {0, 7}, nullptr}, "t", {});
}

TEST_CASE("a tensor of another type is refused with its name and type") {
  using mha::test::error_of;
  std::vector<float> out(2);
  const std::vector<std::byte> bytes(16);
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::boolean, DType::f8_e4m3, DType::i8}) {
    CHECK_THAT(error_of(mha::ErrorKind::model,
                        [&] {
                          mha::to_float32({type, {2}, bytes.data()}, "some.weight", out);
                        }),
               Contains("some.weight") && Contains(std::string(mha::name_of(type))));
  }
  const TensorView weight{DType::i8, {2}, bytes.data()};
  for (const TensorView& scale :
       {TensorView{DType::f32, {1}, bytes.data()}, TensorView{DType::f16, {2}, bytes.data()},
        TensorView{DType::f32, {2, 1}, bytes.data()}, TensorView{DType::f32, {}, bytes.data()}}) {
    CHECK_THAT(error_of(mha::ErrorKind::model, [&] { mha::to_float32(weight, scale, "some.weight", out); }),
               Contains("some.weight") && Contains("scale"));
  }
}
