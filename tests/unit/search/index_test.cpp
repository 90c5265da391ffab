#include "search/index.hpp"

#include <catch2/catch.hpp>

#include "support/random.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using namespace mha;

namespace {

IndexHeader header_of(std::size_t width) {
  IndexHeader header;
  header.width = width;
  header.forms = {VectorForm::f32, VectorForm::int8};
  header.prompt = "passage: ";
  header.passage_tokens = 64;
  header.spaces = {{"model", test::normals(width, 9)}};
  return header;
}

void add_source(Index& index, const std::string& path, std::size_t passages, unsigned seed) {
  const std::int64_t source = index.begin_source({.path = path, .size = 7, .modified = 8, .sha256 = "ab"});
  for (std::size_t i = 0; i < passages; ++i) {
    index.add(source, {i + 1, i + 2, path + " passage " + std::to_string(i), "", ""},
              test::normals(index.header().width, seed + static_cast<unsigned>(i)));
  }
  index.complete_source(source);
}

}  // namespace

TEST_CASE("an index keeps header, sources, passages and vectors", "[search]") {
  test::TemporaryFolder folder;
  {
    Index index = Index::create(folder / "a.db", header_of(300));
    add_source(index, "one.txt", 200, 10);
    index.commit();
    add_source(index, "never.txt", 3, 500);  // no commit
  }
  CHECK(Index::is_index(folder / "a.db"));
  Index index = Index::open(folder / "a.db", false);
  CHECK(index.header().width == 300);
  CHECK(index.header().prompt == "passage: ");
  CHECK(index.header().spaces[0].probe == test::normals(300, 9));
  CHECK(index.sources().size() == 1);
  CHECK(index.find_source("one.txt")->sha256 == "ab");
  CHECK(index.find_source("one.txt")->complete);
  CHECK(index.passages() == 200);
  CHECK(index.passage(150).passage.text == "one.txt passage 150");
  CHECK(index.passage(150).path == "one.txt");
  CHECK(index.vector(150) == test::normals(300, 160));
  CHECK(index.verify().empty());
  CHECK(index.find_words("passage \"77\" OR *", 3).front().first == 77);
  CHECK(index.find_words("?!", 3).empty());
}

TEST_CASE("slots of removed sources are used again", "[search]") {
  test::TemporaryFolder folder;
  Index index = Index::create(folder / "a.db", header_of(16));
  add_source(index, "a", 10, 1);
  add_source(index, "b", 10, 50);
  index.commit();
  add_source(index, "a", 4, 100);  // begun anew
  index.commit();
  CHECK(index.slots() == 20);
  CHECK(index.free_slots() == std::vector<std::size_t>{4, 5, 6, 7, 8, 9});
  CHECK(index.vector(3) == test::normals(16, 103));
  CHECK(index.vector(12) == test::normals(16, 52));
  CHECK(index.verify().empty());
  CHECK(index.find_words("9", 5).size() == 1);
}

TEST_CASE("one process writes an index, readers see the last commit", "[search]") {
  test::TemporaryFolder folder;
  Index writer = Index::create(folder / "a.db", header_of(16));
  add_source(writer, "a", 5, 1);
  writer.commit();
  CHECK(test::error_of(ErrorKind::output, [&] { Index::open(folder / "a.db", true); }).find("another process") !=
        std::string::npos);
  CHECK(test::error_of(ErrorKind::output, [&] { Index::create(folder / "a.db", header_of(16)); }) != "");
  Index reader = Index::open(folder / "a.db", false);
  reader.begin_read();
  const std::int64_t generation = reader.generation();
  add_source(writer, "b", 5, 9);
  writer.commit();
  CHECK(reader.passages() == 5);
  CHECK(reader.generation() == generation);
  reader.end_read();
  CHECK(reader.passages() == 10);
  CHECK(reader.generation() == generation + 1);
}

TEST_CASE("what is no index is refused by name", "[search]") {
  test::TemporaryFolder folder;
  const auto text = folder.write("a.db", "not a database at all, but long enough");
  CHECK_FALSE(Index::is_index(text));
  CHECK(test::error_of(ErrorKind::input, [&] { Index::open(text, false); }).find("a.db") != std::string::npos);
  { Index index = Index::create(folder / "b.db", header_of(16)); }
  {
    sqlite::Connection sql(folder / "b.db", sqlite::Connection::Mode::write);
    sql.run("UPDATE meta SET value = 'x' WHERE key = 'width'");
  }
  CHECK(test::error_of(ErrorKind::input, [&] { Index::open(folder / "b.db", false); }).find("width") !=
        std::string::npos);
  {
    sqlite::Connection sql(folder / "b.db", sqlite::Connection::Mode::write);
    sql.run("PRAGMA user_version = 99");
  }
  CHECK(test::error_of(ErrorKind::input, [&] { Index::open(folder / "b.db", false); }).find("version 99") !=
        std::string::npos);
  std::string half = test::content_of(folder / "b.db").substr(0, 70000);
  const auto cut = folder.write("c.db", half);
  test::error_of(ErrorKind::input, [&] { Index::open(cut, false).verify(); });
}
