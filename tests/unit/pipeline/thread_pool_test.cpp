#include "pipeline/thread_pool.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

TEST_CASE("every piece of a run is done once, whatever the number of threads") {
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    mha::ThreadPool pool(threads);
    for (std::size_t count = 0; count < 200; ++count) {
      std::vector<std::atomic<int>> done(count);
      pool.run(count, [&](std::size_t i) { ++done[i]; });
      for (const auto& times : done) REQUIRE(times == 1);
    }
  }
}

TEST_CASE("many short runs one after the other lose and repeat no piece") {
  mha::ThreadPool pool(4);
  std::size_t sum = 0;
  for (std::size_t run = 0; run < 20000; ++run) {
    std::atomic<std::size_t> of_run{0};
    pool.run(1 + run % 5, [&](std::size_t i) { of_run += i + 1; });
    sum += of_run;
  }
  std::size_t expected = 0;
  for (std::size_t run = 0; run < 20000; ++run) expected += (1 + run % 5) * (2 + run % 5) / 2;
  CHECK(sum == expected);
}

TEST_CASE("the first exception of a piece is rethrown, and the pool goes on working") {
  mha::ThreadPool pool(3);
  CHECK_THROWS_AS(pool.run(10,
                           [](std::size_t i) {
                             if (i == 4) throw std::runtime_error("piece");
                           }),
                  std::runtime_error);
  std::atomic<int> done{0};
  pool.run(10, [&](std::size_t) { ++done; });
  CHECK(done == 10);
}

TEST_CASE("a run inside a piece happens on the piece's own thread") {
  mha::ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.run(4, [&](std::size_t) {
    const auto outer = std::this_thread::get_id();
    pool.run(3, [&](std::size_t) {
      REQUIRE(std::this_thread::get_id() == outer);
      ++done;
    });
  });
  CHECK(done == 12);
}

TEST_CASE("no thread is started before there is work for two, and idle threads use no CPU") {
  mha::ThreadPool pool(8);
  std::set<std::thread::id> seen;
  pool.run(1, [&](std::size_t) { seen.insert(std::this_thread::get_id()); });
  CHECK(seen == std::set{std::this_thread::get_id()});
  pool.run(64, [](std::size_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // all asleep by then
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.05);
}
