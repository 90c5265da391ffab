#include "io/arrow_stream.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

using namespace mha;
using Type = ArrowStream::Type;

namespace {

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool ends_with_floats(const std::string& bytes, const std::vector<float>& values) {
  constexpr std::size_t kPadded = 64;
  const std::size_t at = bytes.size() - kPadded;
  return std::memcmp(bytes.data() + at, values.data(), values.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("arrow: messages are framed, padded and end the stream", "[arrow]") {
  ArrowStream stream({{"index", Type::int64}, {"v", Type::float32_list, 2}});
  const std::string schema = stream.begin();
  CHECK(u32_at(schema, 0) == 0xFFFFFFFFU);
  CHECK(u32_at(schema, 4) + 8 == schema.size());
  CHECK(schema.size() % 8 == 0);
  const std::vector<float> row{1.5F, -2.0F};
  stream.add(0, std::int64_t{7});
  stream.add(1, std::span<const float>(row));
  stream.end_row();
  CHECK(stream.rows() == 1);
  const std::string batch = stream.batch();
  CHECK(stream.rows() == 0);
  CHECK(u32_at(batch, 4) % 8 == 0);
  CHECK((batch.size() - 8 - u32_at(batch, 4)) % 64 == 0);
  CHECK(ends_with_floats(batch, row));
  CHECK(ArrowStream::end() == std::string("\xFF\xFF\xFF\xFF\0\0\0\0", 8));
}

TEST_CASE("arrow: what is not added is null, and a list of another width is refused", "[arrow]") {
  ArrowStream stream({{"t", Type::text}, {"v", Type::float32_list, 2}, {"w", Type::int8_list}});
  stream.end_row();
  const std::string nulls = stream.batch();
  stream.add(0, std::string_view("x"));
  const std::vector<float> two{1.0F, 2.0F};
  stream.add(1, std::span<const float>(two));
  stream.add(2, std::span<const std::uint8_t>());
  stream.end_row();
  CHECK(nulls.size() != stream.batch().size());
  const std::vector<float> three{1.0F, 2.0F, 3.0F};
  CHECK_THROWS(stream.add(1, std::span<const float>(three)));
}
