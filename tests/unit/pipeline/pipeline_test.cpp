#include "pipeline/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"

namespace {

using mha::Record;

/// Texts; those that begin with `!` are bad when read. Only the first `waiting` are there at once, the others come one
/// by one.
class Texts : public mha::RecordSource {
 public:
  explicit Texts(std::vector<std::string> texts, std::size_t waiting = SIZE_MAX)
      : texts_(std::move(texts)), waiting_(waiting) {}

  bool next(Record& record) override {
    if (given == texts_.size()) return false;
    record.input.index = given;
    record.input.text = texts_[given++];
    record.input.set_place("text " + std::to_string(record.input.index));
    if (record.input.text.starts_with('!')) record.fail("unreadable");
    return true;
  }
  bool ready() override { return given < waiting_; }

  std::size_t given = 0;

 private:
  std::vector<std::string> texts_;
  std::size_t waiting_;
};

/// A stand-in for a model: one token per character, and an embedding made from the characters.
/// Texts with `?` cannot be tokenised; a batch with a `*` in it fails.
class FakeWorker : public mha::RecordWorker {
 public:
  explicit FakeWorker(std::atomic<std::size_t>& largest) : largest_(largest) {}

  void prepare(Record& record) override {
    if (record.input.text.find('?') != std::string::npos) mha::throw_input("no such character");
    for (const char c : record.input.text) record.encoding.input_ids.push_back(c);
    record.encoding.full_length = record.encoding.size();
  }
  std::size_t floats(const Record& record) const override { return record.tokens(); }
  void encode(std::span<Record* const> batch) override {
    std::size_t tokens = 0;
    for (const Record* record : batch) {
      if (record->input.text.find('*') != std::string::npos) mha::throw_input("not finite");
      tokens += record->tokens();
    }
    for (Record* record : batch) {
      record->embedding.assign(1, 0.0F);
      for (const std::int32_t id : record->encoding.input_ids) record->embedding[0] += static_cast<float>(id);
    }
    std::size_t before = largest_;
    while (batch.size() > 1 && before < tokens && !largest_.compare_exchange_weak(before, tokens)) {
    }
  }

 private:
  std::atomic<std::size_t>& largest_;
};

class Collected : public mha::RecordSink {
 public:
  void render(Record& record) const override {
    record.rendered = record.bad() ? record.input.error : std::to_string(static_cast<long>(record.embedding.at(0)));
  }
  bool accept(Record& record) override {
    indices.push_back(record.input.index);
    lines.push_back(record.rendered);
    return !(stops_at_bad && record.bad());
  }
  void flush() override { flushed_at.push_back(lines.size()); }

  bool stops_at_bad = false;
  std::vector<std::size_t> indices;
  std::vector<std::string> lines;
  std::vector<std::size_t> flushed_at;
};

struct Run {
  Collected sink;
  std::atomic<std::size_t> largest{0};

  void operator()(Texts& source, const mha::PipelineSettings& settings) {
    mha::Pipeline(settings, [&](mha::Executor*) { return std::make_unique<FakeWorker>(largest); }).run(source, sink);
  }
};

std::vector<std::string> random_texts(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) text.assign(random() % 60, static_cast<char>('a' + random() % 26));
  return texts;
}

std::string sum_of(const std::string& text) {
  long sum = 0;
  for (const char c : text) sum += c;
  return std::to_string(sum);
}

}  // namespace

TEST_CASE("results leave in input order, whatever the threads") {
  const std::vector<std::string> texts = random_texts(5000);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    Texts source(texts);
    Run run;
    run(source, {.threads = threads, .batch_tokens = 100});
    REQUIRE(run.sink.lines.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      REQUIRE(run.sink.indices[i] == i);
      REQUIRE(run.sink.lines[i] == sum_of(texts[i]));
    }
    CHECK(run.largest <= 100);
    CHECK(run.largest > 50);
  }
}

TEST_CASE("a slow writer is answered line by line, a fast one in bulk, and the first answer is early") {
  Run slow;
  Texts one_by_one(random_texts(20), 0);
  slow(one_by_one, {.threads = 2});
  CHECK(slow.sink.flushed_at.size() == 20);

  Run fast;
  Texts all_at_once(random_texts(5000));
  fast(all_at_once, {.threads = 1});
  CHECK(fast.sink.flushed_at.front() <= 16);
  CHECK(fast.sink.flushed_at.size() < 30);

  Run latency;
  Texts patient(random_texts(10));
  latency(patient, {.threads = 1, .latency = true});
  CHECK(latency.sink.flushed_at.size() == 10);
}

TEST_CASE("a bad input does not spoil its neighbours, in whatever stage it goes wrong") {
  std::vector<std::string> texts = random_texts(100);
  texts[3] = "!bytes";
  texts[50] = "why?";
  texts[99] = "**";
  for (const std::size_t threads : {1U, 2U}) {
    Texts source(texts);
    Run run;
    run(source, {.threads = threads});
    REQUIRE(run.sink.lines.size() == 100);
    CHECK(run.sink.lines[3] == "text 3: unreadable");
    CHECK(run.sink.lines[50] == "text 50: no such character");
    CHECK(run.sink.lines[99] == "text 99: not finite");
    for (const std::size_t i : {0U, 2U, 4U, 49U, 51U, 98U}) CHECK(run.sink.lines[i] == sum_of(texts[i]));
  }
}

TEST_CASE("nothing is read behind a bad input that ends the run") {
  std::vector<std::string> texts = random_texts(1000);
  texts[20] = "!bytes";
  Texts source(texts);
  Run run;
  run.sink.stops_at_bad = true;
  run(source, {.threads = 1, .stop_at_bad = true});
  CHECK(run.sink.indices.back() == 20);
  CHECK(source.given == 21);
}

TEST_CASE("results held at once are bounded") {
  Texts source(std::vector<std::string>(200, std::string(50, 'x')));
  Run run;
  run(source, {.threads = 1, .round_floats = 500});
  std::size_t before = 0;
  for (const std::size_t count : run.sink.flushed_at) {
    CHECK(count - before <= 10);
    before = count;
  }
}

TEST_CASE("what is no input's fault ends the run") {
  class Broken : public mha::RecordWorker {
   public:
    void prepare(Record&) override {}
    std::size_t floats(const Record&) const override { return 0; }
    void encode(std::span<Record* const>) override { mha::throw_model("weights: gone"); }
  };
  for (const std::size_t threads : {1U, 2U}) {
    Texts source(random_texts(100));
    Collected sink;
    mha::Pipeline pipeline({.threads = threads}, [](mha::Executor*) { return std::make_unique<Broken>(); });
    CHECK_THROWS_AS(pipeline.run(source, sink), mha::Error);
  }
}
