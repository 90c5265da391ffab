#include "core/shared_pages.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace mha {

TEST_CASE("shared pages are aligned, apart from each other and outlive their neighbours") {
  struct Array {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
    int fill;
  };
  std::vector<Array> arrays;
  // From nothing to more than a chunk takes from its neighbours.
  for (const std::size_t bytes :
       {0U, 1U, 64U, 1000U, 300'000U, 5'000'000U, 20'000'000U, 7'000'000U, 8'000'000U, 8'000'000U}) {
    const int fill = static_cast<int>(arrays.size()) + 1;
    arrays.push_back({shared_pages(bytes), bytes, fill});
    CHECK(reinterpret_cast<std::uintptr_t>(arrays.back().memory.get()) % 64 == 0);
    std::memset(arrays.back().memory.get(), fill, bytes);
  }
  for (std::size_t i = 0; i < arrays.size(); i += 2) arrays[i].memory.reset();
  for (const Array& array : arrays) {
    if (array.memory == nullptr) continue;
    for (std::size_t i = 0; i < array.bytes; ++i) {
      if (array.memory.get()[i] != static_cast<std::byte>(array.fill))
        FAIL("array " << array.fill << " changed at " << i);
    }
  }
}

TEST_CASE("shared pages from many threads do not overlap") {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t] {
      const auto mark = static_cast<std::byte>(t + 1);
      std::vector<std::shared_ptr<std::byte>> kept;
      for (std::size_t i = 0; i < 200; ++i) {
        kept.push_back(shared_pages(1 + i * 37));
        std::memset(kept.back().get(), static_cast<int>(mark), 1 + i * 37);
      }
      for (std::size_t i = 0; i < kept.size(); ++i) {
        for (std::size_t at = 0; at < 1 + i * 37; ++at) wrong[t] += kept[i].get()[at] != mark ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

TEST_CASE("arrays that grow a little at a time ask for more") {
  CHECK(grown_size(0, 100) == 100);
  CHECK(grown_size(100, 101) == 150);
  CHECK(grown_size(100, 1000) == 1000);
  // A large array grows only as far as needed.
  CHECK(grown_size(100'000'000, 100'000'001) == 100'000'001);
  CHECK_THROWS_AS(shared_pages(~std::size_t{0}), std::bad_alloc);
}

}  // namespace mha
