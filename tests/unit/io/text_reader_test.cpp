#include "io/text_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/utf8.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using namespace std::string_literals;
using Catch::Contains;
using mha::ErrorKind;
using mha::Input;
using mha::InputFormat;
using mha::TextReader;
using mha::TextReaderOptions;
using mha::test::error_of;
using mha::test::TemporaryFolder;

namespace {

std::vector<Input> all_of(TextReader reader) {
  std::vector<Input> records;
  for (Input record; reader.next(record);) records.push_back(record);
  CHECK(reader.ready());
  return records;
}

std::vector<Input> records_of(const std::string& bytes, const TextReaderOptions& options = {}) {
  const TemporaryFolder folder;
  std::vector<Input> records = all_of(TextReader::from_files({folder.write("in.txt", bytes).string()}, options));
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(records[i].index == i);
  return records;
}

std::vector<std::string> texts_of(const std::string& bytes, InputFormat format = InputFormat::lines) {
  TextReaderOptions options;
  options.format = format;
  std::vector<std::string> texts;
  for (const Input& record : records_of(bytes, options)) {
    CHECK(record.error.empty());
    texts.push_back(record.text);
  }
  return texts;
}

Input json_record(const std::string& line, TextReaderOptions options = {}) {
  options.format = InputFormat::jsonl;
  const std::vector<Input> records = records_of(line, options);
  REQUIRE(records.size() == 1);
  return records[0];
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end with LF or CR LF, and a last one without its end counts") {
  CHECK(texts_of("") == Texts{});
  CHECK(texts_of("\n") == Texts{""});
  CHECK(texts_of("a\nb") == Texts{"a", "b"});
  CHECK(texts_of("a\r\nb\r\n") == Texts{"a", "b"});
  CHECK(texts_of("\na\n\n\n") == Texts{"", "a", "", ""});
  CHECK(texts_of("a\r") == Texts{"a\r"});
  CHECK(texts_of("h\ri\vx\fy\u2028z\u0085\n\r\r\n") == Texts{"h\ri\vx\fy\u2028z\u0085", "\r"});
  CHECK(texts_of("nul\0here\n\0\n"s) == Texts{"nul\0here"s, "\0"s});
}

TEST_CASE("NUL records keep newlines") {
  CHECK(texts_of("one\r\ntwo\0\0three"s, InputFormat::nul) == Texts{"one\r\ntwo", "", "three"});
  CHECK(texts_of("a\0"s, InputFormat::nul) == Texts{"a"});
}

TEST_CASE("a byte order mark is dropped at the start of each source and nowhere else") {
  CHECK(texts_of("\xEF\xBB\xBF"
                 "a\n\uFEFFb\nc\uFEFF") == Texts{"a", "\uFEFFb", "c\uFEFF"});
  CHECK(texts_of("\xEF\xBB\xBF") == Texts{});
  CHECK(texts_of("\xEF\xBB\xBF\n") == Texts{""});
  CHECK(json_record("\xEF\xBB\xBF{\"text\":\"a\"}").text == "a");
  const TemporaryFolder folder;
  const auto first = folder.write("a.txt", "one\ntwo").string();
  const auto second = folder.write("b é.jsonl", "\xEF\xBB\xBF{\"text\":\"three\"}\n\n{\"text\":5}").string();
  const auto records = all_of(TextReader::from_files({first, second, first}));
  REQUIRE(records.size() == 6);
  CHECK(records[2].text == "three");
  CHECK(records[3].index == 3);
  CHECK_THAT(records[3].error, Contains("b é.jsonl: line 3, byte 29: key \"text\""));
  CHECK(records[5].text == "two");
  CHECK(records[5].place() == first + ": line 2, byte 4");
}

TEST_CASE("arguments are inputs as they are") {
  auto records = all_of(TextReader::from_arguments({"a \nb", "", "C:\\temp\\n"}, {}));
  REQUIRE(records.size() == 3);
  CHECK(records[0].text == "a \nb");
  CHECK(records[1].text.empty());
  CHECK(records[2].text == "C:\\temp\\n");
  records = all_of(TextReader::from_arguments({"a"}, "b"));
  CHECK(records[0].text_pair == "b");
  records = all_of(TextReader::from_arguments({"ok", "x\xFF"}, {}));
  CHECK(records[0].error.empty());
  CHECK_THAT(records[1].error, Contains("argument 2, byte 1: expected valid UTF-8"));
}

TEST_CASE("invalid UTF-8 is told with source, line and byte, or replaced") {
  for (const std::string bad : {"\xE6\xAD", "\xC0\xAF", "\xF4\x90\x80\x80", "\xED\xA0\x80", "\xFF"}) {
    const auto records = records_of("good one\nab" + bad + "\nlater\n");
    REQUIRE(records.size() == 3);
    CHECK(records[0].error.empty());
    CHECK_THAT(records[1].error, Contains("in.txt: line 2, byte 11: expected valid UTF-8"));
    CHECK(records[1].text.empty());
    CHECK(records[2].text == "later");
    TextReaderOptions replace;
    replace.replace_invalid = true;
    const auto replaced = records_of("good one\nab" + bad + "\nlater\n", replace);
    CHECK(replaced[1].error.empty());
    CHECK(replaced[1].replaced == 11);
    CHECK(replaced[1].text == mha::utf8::replace_invalid("ab" + bad));
    CHECK_FALSE(replaced[2].replaced);
  }
  CHECK_THAT(records_of("\xFF\xFEh\0"s)[0].error, Contains("UTF-16") && Contains("line 1, byte 0"));
}

TEST_CASE("JSON Lines ids come back as written") {
  for (const std::string id :
       {"7", "\"x-1\"", "null", "1.50", "12345678901234567890", "123456789012345678901234567890", "-0", "1e5",
        "-1.0E+2", "true", "{\"a\": [1, \"}\"]}", "[]", "\"\\u00e9\\\"\"", "\"\""}) {
    INFO(id);
    CHECK(json_record(R"({"id":)" + id + R"(,"text":"t"})").id_json == id);
    CHECK(json_record(R"({"text" : "t" , "id" : )" + id + " }").id_json == id);
  }
  CHECK(json_record(R"({"text":"t"})").id_json.empty());
}

TEST_CASE("JSON escapes become characters") {
  CHECK(json_record(R"({"text":"\u00e9\ud83d\ude00\t\/\u0000x\\u1"})").text == "é😀\t/\0x\\u1"s);
}

TEST_CASE("keys can be renamed and unknown keys passed through as written") {
  TextReaderOptions options;
  options.text_key = "body";
  options.pair_key = "doc";
  options.id_key = "key";
  options.pass_through = true;
  options.reserved_keys = {"index"};
  const Input record = json_record(
      R"({"body":"one","doc":"two","key":5,"text":"decoy","n":1.50,"index":9,"a\"b":{"x": [1, null]},"last":-2})",
      options);
  CHECK(record.text == "one");
  CHECK(record.text_pair == "two");
  CHECK(record.id_json == "5");
  CHECK(record.extra_json == R"("text":"decoy","n":1.50,"a\"b":{"x": [1, null]},"last":-2)");
  CHECK(json_record(R"({"text":"a","label":3,"text_pair":null})").extra_json.empty());
  CHECK_FALSE(json_record(R"({"text":"a","text_pair":null})").text_pair);
}

TEST_CASE("a bad JSON record says where and what, and keeps its id wherever that stands") {
  const auto error = [](const std::string& line) {
    const Input record = json_record(line);
    CHECK_THAT(record.error, Contains("in.txt: line 1"));
    CHECK(record.text.empty());
    CHECK_FALSE(record.text_pair);
    return record.error;
  };
  CHECK_THAT(error(R"({"text": "x")"), Contains("not valid JSON"));
  CHECK_THAT(error(R"({"text": 'x'})"), Contains("byte 9: not valid JSON"));
  CHECK_THAT(error(R"({"text":5})"), Contains("byte 8: key \"text\": expected a string, got a number"));
  CHECK_THAT(error(R"({"text":null})"), Contains("got null"));
  CHECK_THAT(error(R"({"text":["a"]})"), Contains("got an array"));
  CHECK_THAT(error(R"({"text":{"text":"a"}})"), Contains("got an object"));
  CHECK_THAT(error(R"({"text":"a","text_pair":1})"), Contains("text_pair"));
  CHECK_THAT(error(R"({"body":"a"})"), Contains("expected a key \"text\", got none"));
  CHECK_THAT(error(R"({"a":{"text":"a"}})"), Contains("got none"));
  CHECK_THAT(error(R"({"text":"a","text":"b"})"), Contains("duplicate key"));
  CHECK_THAT(error(R"([1])"), Contains("expected a JSON object"));
  CHECK_THAT(error(R"("text")"), Contains("expected a JSON object"));
  CHECK_THAT(error("\xEF\xBB\xBF\xEF\xBB\xBF{}"), Contains("expected a JSON object"));
  CHECK_THAT(error(R"({"text":"a"} {"text":"b"})"), Contains("not valid JSON"));
  CHECK_THAT(error("{\"text\":\"a\"}\0x"s), Contains("NUL"));
  CHECK_THAT(error("{\"text\":\"a\tb\"}"), Contains("not valid JSON"));
  CHECK_THAT(error(R"({"text":1e400})"), Contains("expected a string, got a number"));
  CHECK_THAT(error(R"({"text":"a","x":)" + std::string(60000, '[') + "}"), Contains("deeper"));
  CHECK_THAT(error(std::string(60000, '{')), Contains("not valid JSON"));
  for (const char* line : {R"({"id":7.0,"text":5})", R"({"text":5,"id":7.0})", R"({"id":7.0,"text":"x")",
                           R"({"id":7.0})", "{\"text\":\"\xFF\",\"id\":7.0}", R"({"text":"\udc00","id":7.0})"}) {
    CHECK(json_record(line).id_json == "7.0");
    CHECK_FALSE(json_record(line).error.empty());
  }
  CHECK(json_record("{\"text\":\"\xFF\",\"id\":\"\xFF\"}").id_json.empty());
  CHECK(json_record(R"({"id":1.50 "text":"a"})").id_json == "1.50");
  for (const char* cut : {R"({"id":1.50-"text":"a"})", R"({"id":-1-)", R"({"id":01)", R"({"id":0x10})"}) {
    CHECK(json_record(cut).id_json.empty());
  }
  CHECK(json_record(R"({"id":-0)").id_json == "-0");
}

TEST_CASE("a lone surrogate escape counts as invalid UTF-8") {
  for (const std::string lone : {R"(\ud800)", R"(\udc00)", R"(\ud800\ud800)", R"(\udfff\ud83d)", R"(\uD83Dx)"}) {
    INFO(lone);
    const std::string line = R"({"text":"ok\\)" + lone + R"(bad"})";
    CHECK_THAT(json_record(line).error, Contains("line 1, byte 13: expected valid UTF-8"));
    TextReaderOptions replace;
    replace.replace_invalid = true;
    const Input record = json_record(line, replace);
    CHECK(record.error.empty());
    CHECK(record.replaced);
    CHECK(record.text.starts_with("ok\\\uFFFD"));
  }
  CHECK(json_record(R"({"text":"\\ud800"})").text == "\\ud800");
  TextReaderOptions replace;
  replace.replace_invalid = true;
  CHECK(json_record("{\"text\":\"\xFF\\ud800\\u0041\"}", replace).text == "\uFFFD\uFFFDA");
}

TEST_CASE("every message about a record of a file names a byte: that of the fault, or the record's first") {
  TextReaderOptions options;
  options.format = InputFormat::jsonl;
  const auto records = records_of("{\"text\":\"a\"}\n{\"id\":1}\n{\"text\":\"a\",\"text\":\"b\"}\n", options);
  REQUIRE(records.size() == 3);
  CHECK_THAT(records[1].error, Contains("line 2, byte 13: expected a key"));
  CHECK_THAT(records[2].error, Contains("line 3, byte 39: duplicate key"));
}

TEST_CASE("blank lines between JSON records are skipped and not counted, but lines are") {
  TextReaderOptions options;
  options.format = InputFormat::jsonl;
  const auto records = records_of("\n \t\r\n{\"text\":\"a\"}\r\n\n{\"text\":1}\n\n  ", options);
  REQUIRE(records.size() == 2);
  CHECK(records[0].text == "a");
  CHECK_THAT(records[1].error, Contains("line 5"));
}

TEST_CASE("a record over the cap is bad and the next one is read") {
  TextReaderOptions options;
  options.max_record_bytes = 100000;
  const auto records = records_of(
      "a\n" + std::string(100000, 'x') + "\n" + std::string(1000000, 'y') + "\nb\n" + std::string(100001, 'z'),
      options);
  REQUIRE(records.size() == 5);
  CHECK(records[1].text.size() == 100000);
  CHECK_THAT(records[2].error, Contains("line 3, byte 100003: expected at most 100000 bytes"));
  CHECK(records[3].text == "b");
  CHECK(records[3].line == 4);
  CHECK_FALSE(records[4].error.empty());
}

TEST_CASE("long records and any cut of the bytes by the system give the same texts") {
  std::mt19937 random(11);
  std::string bytes;
  Texts expected;
  for (int i = 0; i < 300; ++i) {
    expected.emplace_back(random() % 8 == 0 ? random() % 300000 : random() % 50, static_cast<char>('a' + i % 26));
    bytes += expected.back() + (i % 3 == 0 ? "\r\n" : "\n");
  }
  CHECK(texts_of(bytes) == expected);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&] {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 70000, bytes.size() - at);
      const ssize_t done = ::write(ends[1], bytes.data() + at, size);
      if (done > 0) at += static_cast<std::size_t>(done);
    }
    ::close(ends[1]);
  });
  Texts got;
  for (const auto& record : all_of(TextReader::from_files({"/dev/fd/" + std::to_string(ends[0])})))
    got.push_back(record.text);
  writer.join();
  CHECK(got == expected);
  ::close(ends[0]);
}

TEST_CASE("a record of a slow pipe is there as soon as it is complete, and `ready` never waits") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  TextReader reader = TextReader::from_files({folder.write("first", "0\n").string(), (folder / "pipe").string()});
  Input record;
  CHECK(reader.ready());
  REQUIRE(reader.next(record));
  CHECK_FALSE(reader.ready());
  const int writer = ::open((folder / "pipe").c_str(), O_RDWR);
  const auto send = [&](const std::string& text) {
    REQUIRE(::write(writer, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  send("a");
  CHECK_FALSE(reader.ready());  // a pipe is opened by `next` only
  send("\nb\nc");
  REQUIRE(reader.next(record));
  CHECK(record.text == "a");
  CHECK(reader.ready());
  CHECK(reader.ready());
  REQUIRE(reader.next(record));
  CHECK(record.text == "b");
  CHECK_FALSE(reader.ready());
  send("\n");
  CHECK(reader.ready());
  REQUIRE(reader.next(record));
  CHECK(record.text == "c");
  send("d");
  ::close(writer);
  CHECK(reader.ready());
  REQUIRE(reader.next(record));
  CHECK(record.text == "d");
  CHECK(record.index == 4);
  CHECK(reader.ready());
  CHECK_FALSE(reader.next(record));
  CHECK_FALSE(reader.next(record));
}

TEST_CASE("files are looked at before any is read") {
  const TemporaryFolder folder;
  const auto good = folder.write("good", "x\n").string();
  for (const std::string& bad : {(folder / "gone.txt").string(), folder.path().string(), "a\0b"s}) {
    CHECK_THAT(error_of(ErrorKind::input,
                        [&] {
                          TextReader::from_files({good, bad});
                        }),
               Contains(mha::utf8::printable(bad)));
  }
  CHECK(TextReader::from_files({good, good}).total_bytes() == 4);
  CHECK_FALSE(TextReader::from_files({good, "-"}).total_bytes());
  TextReader reader = TextReader::from_files({good});
  Input record;
  reader.next(record);
  CHECK(reader.bytes_done() == 2);
  std::filesystem::remove(good);
  TextReader late = TextReader::from_files({folder.write("late", "x").string()});
  std::filesystem::remove(folder / "late");
  CHECK_THAT(error_of(ErrorKind::input, [&] { late.next(record); }), Contains("late"));
}

TEST_CASE("JSON records damaged at any byte are read or told, and never break what they pass through") {
  const std::string line =
      R"({"id": {"a": [1.50, "\u00e9"]}, "text": "t\ud83d\ude00", "text_pair": "p", "extra": [1, {"b": null}], "n": -1.5e3})";
  TextReaderOptions options;
  options.format = InputFormat::jsonl;
  options.pass_through = true;
  std::mt19937 random(17);
  for (int round = 0; round < 20000; ++round) {
    options.replace_invalid = round % 2 == 1;
    std::string damaged = line;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      constexpr std::string_view kBytes = "\"\\{}[]:,u0123456789dDeE.+- abn\x80\xff";
      damaged[random() % damaged.size()] = kBytes[random() % kBytes.size()];
    }
    // Through a pipe, which is quicker than a file for so many.
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], damaged.data(), damaged.size()) == static_cast<ssize_t>(damaged.size()));
    ::close(ends[1]);
    TextReader reader = TextReader::from_files({"/dev/fd/" + std::to_string(ends[0])}, options);
    for (Input record; reader.next(record);) {
      REQUIRE(mha::utf8::first_invalid(record.error) == mha::utf8::kValid);
      REQUIRE(mha::utf8::first_invalid(record.text) == mha::utf8::kValid);
      if (!record.id_json.empty()) REQUIRE(nlohmann::json::accept(record.id_json));
      REQUIRE(nlohmann::json::accept("{" + record.extra_json + "}"));
    }
    ::close(ends[0]);
  }
}
