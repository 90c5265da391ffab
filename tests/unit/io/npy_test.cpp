#include "io/npy.hpp"

#include <fcntl.h>
#include <minizip/unzip.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include "io/output_stream.hpp"
#include "support/npy.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using mha::NpyType;
using mha::NpyWriter;
using mha::NpzWriter;
using mha::OutputStream;
using mha::test::content_of;
using mha::test::parse_npy;
using mha::test::TemporaryFolder;

namespace {

// The bytes that `write` sends through a pipe.
template <class Write>
std::string through_pipe(Write&& write) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::string got;
  std::thread reader([&] {
    char block[1 << 16];
    for (ssize_t n = 0; (n = ::read(ends[0], block, sizeof block)) > 0;) got.append(block, static_cast<std::size_t>(n));
  });
  {
    OutputStream out("/dev/fd/" + std::to_string(ends[1]));
    write(out);
    out.commit();
  }
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  return got;
}

std::map<std::string, std::string> entries_of(const std::filesystem::path& path) {
  std::map<std::string, std::string> entries;
  unzFile zip = unzOpen64(path.c_str());
  REQUIRE(zip != nullptr);
  for (int result = unzGoToFirstFile(zip); result == UNZ_OK; result = unzGoToNextFile(zip)) {
    unz_file_info64 info{};
    char name[200];
    REQUIRE(unzGetCurrentFileInfo64(zip, &info, name, sizeof name, nullptr, 0, nullptr, 0) == UNZ_OK);
    std::string content(info.uncompressed_size, '\0');
    REQUIRE(unzOpenCurrentFile(zip) == UNZ_OK);
    REQUIRE(unzReadCurrentFile(zip, content.data(), static_cast<unsigned>(content.size())) ==
            static_cast<int>(content.size()));
    REQUIRE(unzCloseCurrentFile(zip) == UNZ_OK);  // checks the CRC
    entries[name] = content;
  }
  unzClose(zip);
  return entries;
}

}  // namespace

TEST_CASE("an npy array holds the rows that were written, through a file and through a pipe") {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{20000}}) {
    std::vector<float> values(rows * 384);
    std::iota(values.begin(), values.end(), 0.5F);
    const auto write = [&](OutputStream& out) {
      NpyWriter writer(out, NpyType::float32, {384});
      const std::span<const float> all(values);
      for (std::size_t r = 0; r < rows; ++r) writer.write(all.subspan(r * 384, 384));
      writer.finish();
    };
    const TemporaryFolder folder;
    {
      OutputStream out(folder / "a.npy");
      write(out);
      out.commit();
    }
    const std::string file = content_of(folder / "a.npy");
    CHECK(file == through_pipe(write));
    const auto array = parse_npy(file);
    CHECK(array.descr == "<f4");
    CHECK(array.shape == std::vector<std::size_t>{rows, 384});
    CHECK(array.values<float>() == values);
  }
}

TEST_CASE("npy arrays of every type and rank are read back") {
  const auto one = parse_npy(through_pipe([](OutputStream& out) {
    NpyWriter writer(out, NpyType::int32, {});
    writer.write(std::vector<std::int32_t>{1, -2, 3});
    writer.finish();
  }));
  CHECK(one.shape == std::vector<std::size_t>{3});
  CHECK(one.values<std::int32_t>() == std::vector<std::int32_t>{1, -2, 3});
  const auto four = parse_npy(through_pipe([](OutputStream& out) {
    NpyWriter writer(out, NpyType::int64, {1, 2, 1});
    writer.write(std::vector<std::int64_t>{1, 2, 3, std::int64_t{1} << 40});
    writer.finish();
  }));
  CHECK(four.shape == std::vector<std::size_t>{2, 1, 2, 1});
  CHECK(four.values<std::int64_t>().back() == std::int64_t{1} << 40);
}

TEST_CASE("values that are no whole rows, or of another type, are refused") {
  const TemporaryFolder folder;
  OutputStream out(folder / "a.npy");
  NpyWriter writer(out, NpyType::float32, {2});
  CHECK_THROWS_AS(writer.write(std::vector<std::int32_t>{1}), mha::Error);
  writer.write(std::vector<float>{1, 2, 3});
  CHECK_THROWS_AS(writer.finish(), mha::Error);
}

TEST_CASE("an npz archive holds each array under its name, is the same each time, and goes through a pipe") {
  std::vector<float> large(3000000);
  std::iota(large.begin(), large.end(), -1.0F);
  const auto write = [&](OutputStream& out) {
    NpzWriter writer(out);
    writer.add("0.last_hidden_state", std::vector<std::size_t>{3, 1000000}, large);
    writer.add("0.input_ids", std::vector<std::size_t>{2}, std::vector<std::int32_t>{101, 102});
    writer.add("1.input_ids", std::vector<std::size_t>{0}, std::vector<std::int32_t>{});
    writer.add("1.wide", std::vector<std::size_t>{1, 1}, std::vector<std::int64_t>{7});
    CHECK_THROWS_AS(writer.add("wrong", std::vector<std::size_t>{2}, std::vector<float>{1}), mha::Error);
    writer.finish();
  };
  const TemporaryFolder folder;
  {
    OutputStream out(folder / "a.npz");
    write(out);
    out.commit();
  }
  const std::string file = content_of(folder / "a.npz");
  CHECK(file.starts_with("PK\x03\x04"));
  CHECK(file == through_pipe(write));
  const auto entries = entries_of(folder / "a.npz");
  CHECK(entries.size() == 4);
  CHECK(parse_npy(entries.at("0.last_hidden_state.npy")).values<float>() == large);
  CHECK(parse_npy(entries.at("0.input_ids.npy")).values<std::int32_t>() == std::vector<std::int32_t>{101, 102});
  CHECK(parse_npy(entries.at("1.input_ids.npy")).shape == std::vector<std::size_t>{0});
  CHECK(parse_npy(entries.at("1.wide.npy")).descr == "<i8");
}

TEST_CASE("an npz archive without arrays is an archive") {
  const TemporaryFolder folder;
  {
    OutputStream out(folder / "a.npz");
    NpzWriter writer(out);
    writer.finish();
    out.commit();
  }
  CHECK(content_of(folder / "a.npz") == "PK\x05\x06" + std::string(18, '\0'));
}
