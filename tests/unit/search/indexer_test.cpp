#include "search/indexer.hpp"

#include <catch2/catch.hpp>

#include "mha/model/model.hpp"
#include "support/temporary_folder.hpp"

using namespace mha;

namespace {

// "Embeds" by the length of the text, and counts what it is asked.
class LengthWorker : public RecordWorker {
 public:
  explicit LengthWorker(std::size_t& count) : count_(count) {}
  void prepare(Record& record) override { record.encoding.input_ids.assign(1, 0); }
  std::size_t floats(const Record&) const override { return 2; }
  void encode(std::span<Record* const> batch) override {
    for (Record* record : batch) {
      record->embedding = {static_cast<float>(record->input.text.size()), 1.0F};
      ++count_;
    }
  }

 private:
  std::size_t& count_;
};

struct Run {
  Index& index;
  std::size_t embedded = 0;
  std::vector<std::string> warnings;
  IndexerResult result;

  void update(const std::vector<std::filesystem::path>& paths, bool remove_missing = true) {
    embedded = 0;
    warnings.clear();
    static const auto opened = load_tokenizer(find_model("two-heads", {}), {});
    IndexerSettings settings;
    settings.rules = {.tokens = 64, .by_line = true};
    settings.reader.pass_through = true;
    settings.warn = [&](const std::string& text) { warnings.push_back(text); };
    settings.commit_every = 2;
    std::vector<FileToIndex> files = look_at(paths, settings.warn);
    for (FileToIndex& file : files) file.named = true;
    result = update_index(index, files, remove_missing, settings, *opened.tokenizer, {},
                          [&](Executor*) { return std::make_unique<LengthWorker>(embedded); });
  }
};

IndexHeader header_of_two() {
  IndexHeader header;
  header.width = 2;
  header.similarity = "dot";
  header.spaces = {{"lengths", {1.0F, 1.0F}}};
  return header;
}

}  // namespace

TEST_CASE("an index follows its files: new, changed, touched, removed", "[search]") {
  test::TemporaryFolder folder;
  const auto a = folder.write("a.txt", "one\ntwo\nthree\n");
  const auto b = folder.write("b.txt", "four\n");
  Index index = Index::create(folder / "x.db", header_of_two());
  Run run{index, 0, {}, {}};
  run.update({a, b});
  CHECK(run.result.files == 2);
  CHECK(run.embedded == 4);
  CHECK(index.passage(2).passage.text == "three");
  CHECK(index.passage(2).passage.line == 3);
  CHECK(index.vector(2) == std::vector<float>{5.0F, 1.0F});

  run.update({a, b});
  CHECK(run.embedded == 0);
  CHECK(run.result.unchanged == 2);

  std::filesystem::last_write_time(a, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  run.update({a, b});
  CHECK(run.embedded == 0);
  CHECK(run.result.unchanged == 2);

  folder.write("b.txt", "five!\nsix\n");
  run.update({a, b});
  CHECK(run.embedded == 2);
  CHECK(index.passages() == 5);

  run.update({b}, false);
  CHECK(index.sources().size() == 2);
  run.update({b});
  CHECK(run.result.removed == 1);
  CHECK(index.passages() == 2);
  CHECK(index.verify().empty());
}

TEST_CASE("files of records bring ids and members, bad ones are told", "[search]") {
  test::TemporaryFolder folder;
  const auto records = folder.write("r.jsonl",
                                    "{\"id\": 7, \"text\": \"alpha\", \"lang\": \"en\"}\n{\"no\": 1}\n"
                                    "{\"id\": \"x\", \"text\": \"beta gamma\"}\n");
  Index index(header_of_two());
  Run run{index, 0, {}, {}};
  run.update({records});
  CHECK(index.passages() == 2);
  CHECK(index.passage(0).passage.id == "7");
  CHECK(index.passage(0).passage.extra.find("\"lang\":") != std::string::npos);
  CHECK(index.passage(1).passage.line == 3);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("line 2") != std::string::npos);
}

TEST_CASE("binary and unreadable files are told and left out, broken text is replaced", "[search]") {
  test::TemporaryFolder folder;
  const auto binary = folder.write("a.bin", std::string("ab\0cd", 5));
  const auto broken = folder.write("b.txt", "caf\xE9\n");
  const auto empty = folder.write("c.txt", "");
  Index index(header_of_two());
  Run run{index, 0, {}, {}};
  run.update({binary, broken, empty, folder / "none.txt"});
  CHECK(run.result.skipped == 1);
  CHECK(run.warnings.size() == 3);
  CHECK(index.passages() == 1);
  CHECK(index.passage(0).passage.text == "caf\xEF\xBF\xBD");
  CHECK(index.find_source((folder / "c.txt").string())->complete);
}
