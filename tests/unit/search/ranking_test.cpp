#include "search/ranking.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "ops/row_scores.hpp"
#include "ops/vector.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_executor.hpp"

using namespace mha;

namespace {

std::vector<std::vector<float>> unit_vectors(std::size_t count, std::size_t width, unsigned seed) {
  const std::vector<float> all = test::normals(count * width, seed);
  std::vector<std::vector<float>> vectors;
  for (std::size_t i = 0; i < count; ++i) {
    vectors.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * width),
                         all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    normalize_l2(vectors.back());
  }
  return vectors;
}

IndexHeader header_of(std::size_t width) {
  IndexHeader header;
  header.width = width;
  header.forms = {VectorForm::f32, VectorForm::int8, VectorForm::binary};
  header.spaces = {{"test", std::vector<float>(width, 0.1F)}};
  return header;
}

void fill(Index& index, const std::vector<std::vector<float>>& vectors) {
  const std::int64_t source = index.begin_source({.path = "a"});
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    index.add(source, {i + 1, i + 1, "line " + std::to_string(i), "", ""}, vectors[i]);
  }
  index.complete_source(source);
  index.commit();
}

// What NumPy would say: all scores in double, a stable sort.
std::vector<std::size_t> expected(const std::vector<std::vector<float>>& vectors, const std::vector<float>& query,
                                  std::size_t k) {
  std::vector<double> scores;
  for (const auto& vector : vectors) {
    double sum = 0;
    for (std::size_t i = 0; i < vector.size(); ++i) sum += double{vector[i]} * double{query[i]};
    scores.push_back(sum);
  }
  std::vector<std::size_t> order(vectors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(k, order.size()));
  return order;
}

std::vector<std::size_t> slots_of(const std::vector<Hit>& hits) {
  std::vector<std::size_t> slots;
  for (const Hit& hit : hits) slots.push_back(hit.slot);
  return slots;
}

}  // namespace

TEST_CASE("row scores equal sums in double at every width and alignment", "[search][level]") {
  for (const std::size_t width : {1U, 7U, 16U, 63U, 64U, 65U, 100U, 384U, 1031U}) {
    const auto vectors = unit_vectors(5, width, static_cast<unsigned>(width));
    const std::vector<float>& query = vectors[4];
    std::vector<float> scores(4);
    std::vector<std::byte> rows(3 + 4 * int8_row_bytes(width) + 4 * width * sizeof(float));
    std::byte* const begin = rows.data() + 3;
    for (std::size_t r = 0; r < 4; ++r) {
      std::copy_n(std::as_bytes(std::span(vectors[r])).data(), width * sizeof(float),
                  begin + r * width * sizeof(float));
    }
    score_f32(query, begin, 4, scores.data());
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(scores[r] == Approx(cosine(vectors[r], query)).margin(1e-6));
    }
    const CodedVector coded = code_int8(query);
    for (std::size_t r = 0; r < 4; ++r) write_int8_row(vectors[r], begin + r * int8_row_bytes(width));
    score_int8(coded, begin, 4, scores.data());
    for (std::size_t r = 0; r < 4; ++r) {
      const CodedVector row = code_int8(vectors[r]);
      double sum = 0;
      for (std::size_t i = 0; i < width; ++i) sum += coded.codes[i] * row.codes[i];
      CHECK(scores[r] == Approx(sum * double{coded.scale} * double{row.scale}).epsilon(1e-6));
    }
    std::vector<std::byte> signs(binary_row_bytes(width));
    write_binary_row(query, signs.data());
    for (std::size_t r = 0; r < 4; ++r) write_binary_row(vectors[r], begin + r * signs.size());
    score_binary(signs, width, begin, 4, scores.data());
    for (std::size_t r = 0; r < 4; ++r) {
      std::size_t differ = 0;
      for (std::size_t i = 0; i < width; ++i) differ += (vectors[r][i] > 0) != (query[i] > 0);
      CHECK(scores[r] == Approx(1.0 - 2.0 * static_cast<double>(differ) / static_cast<double>(width)).margin(1e-6));
    }
  }
}

TEST_CASE("ranking is that of all scores in double, ties by slot, at any number of threads", "[search]") {
  constexpr std::size_t kWidth = 100;
  auto vectors = unit_vectors(1500, kWidth, 1);
  for (std::size_t i = 700; i < 720; ++i) vectors[i] = vectors[3];  // ties
  test::TemporaryFolder folder;
  {
    Index index = Index::create(folder / "x.db", header_of(kWidth));
    fill(index, vectors);
  }
  auto queries = unit_vectors(5, kWidth, 2);
  queries.push_back(vectors[3]);
  for (const std::size_t threads : {1U, 2U, 3U}) {
    std::vector<Index> opened;
    for (std::size_t i = 0; i < threads; ++i) opened.push_back(Index::open(folder / "x.db", false));
    std::vector<Index*> readers;
    for (Index& index : opened) {
      index.begin_read();
      readers.push_back(&index);
    }
    test::ThreadExecutor executor(threads);
    RankingOptions options;
    options.k = 12;
    const auto hits = rank_vectors(opened[0], readers, &executor, queries, options);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      CHECK(slots_of(hits[q]) == expected(vectors, queries[q], 12));
    }
    for (const VectorForm form : {VectorForm::int8, VectorForm::binary}) {
      options.form = form;
      options.rescore = form == VectorForm::int8 ? 4 : 100;
      CHECK(slots_of(rank_vectors(opened[0], readers, &executor, queries, options)[0]) ==
            expected(vectors, queries[0], 12));
    }
  }
}

TEST_CASE("removed passages, filters and thresholds leave hits out", "[search]") {
  const auto vectors = unit_vectors(300, 24, 5);
  Index index(header_of(24));
  fill(index, vectors);
  const std::int64_t other = index.begin_source({.path = "b"});
  index.add(other, {1, 1, "b", "", "\"lang\":\"de\",\"n\":3"}, vectors[7]);
  index.complete_source(other);
  index.commit();
  index.begin_read();
  RankingOptions options;
  options.k = 2;
  CHECK(slots_of(rank_vectors(index, {}, nullptr, {vectors[7]}, options)[0]) == std::vector<std::size_t>{7, 300});
  options.allowed = std::make_shared<const std::vector<std::size_t>>(index.slots_where("lang", "de"));
  CHECK(slots_of(rank_vectors(index, {}, nullptr, {vectors[7]}, options)[0]) == std::vector<std::size_t>{300});
  CHECK(index.slots_where("n", "3") == std::vector<std::size_t>{300});
  CHECK(index.slots_where("path", "b") == std::vector<std::size_t>{300});
  CHECK(index.slots_where("lang", "en").empty());
  options.allowed.reset();
  options.threshold = 0.999;
  CHECK(rank_vectors(index, {}, nullptr, {vectors[7]}, options)[0].size() == 2);
  options.threshold.reset();
  auto hits = rank_vectors(index, {}, nullptr, {vectors[7]}, options)[0];
  drop_near_duplicates(index, hits, 0.99);
  CHECK(slots_of(hits) == std::vector<std::size_t>{7});
  index.remove_source(index.find_source("a")->id);
  index.commit();
  index.begin_read();
  CHECK(slots_of(rank_vectors(index, {}, nullptr, {vectors[7]}, options)[0]) == std::vector<std::size_t>{300});
  CHECK(measure_recall(index, options, 50) == 1.0);
}

TEST_CASE("reciprocal ranks: a passage found both ways comes first", "[search]") {
  const auto hits = fuse_ranks({{1, 0.9, {}, {}}, {2, 0.8, {}, {}}}, {{2, 7.0}, {3, 6.0}}, 2);
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].slot == 2);
  CHECK(hits[0].score == Approx(1.0 / 62 + 1.0 / 61));
  CHECK(hits[0].vector_rank == 2U);
  CHECK(hits[0].word_rank == 1U);
  CHECK(hits[1].slot == 1);
}
