#include "search/index.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "ops/row_scores.hpp"
#include "ops/vector.hpp"

static_assert(std::endian::native == std::endian::little, "vectors are stored in the order of bytes of this machine");

namespace mha {
namespace {

constexpr std::int64_t kApplicationId = 0x6D686169;  // "mhai"
constexpr std::int64_t kSchemaVersion = 1;
constexpr std::size_t kPageSize = 65536;
// Payload that a leaf page holds (65,536 − 35, "B-tree Pages" in SQLite's file format), less the record's header.
constexpr std::size_t kBlockBytes = 65480;
constexpr std::size_t kDirtyBlocks = 256;

constexpr const char* kSchema = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE spaces(id INTEGER PRIMARY KEY, model TEXT NOT NULL, probe BLOB NOT NULL);
CREATE TABLE sources(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
                     modified INTEGER NOT NULL, sha256 TEXT NOT NULL, complete INTEGER NOT NULL);
CREATE TABLE passages(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, line INTEGER NOT NULL,
                      last_line INTEGER NOT NULL, record_id TEXT NOT NULL, extra TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX passages_of_source ON passages(source);
CREATE TABLE free(slot INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE words USING fts5(text, content='passages', content_rowid='id',
                                      tokenize='unicode61 remove_diacritics 2');
)";

std::string table_of(VectorForm form) { return "vectors_" + std::string(name_of(form)); }

std::span<const std::byte> bytes_of(std::span<const float> vector) { return std::as_bytes(vector); }

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

void write_row(VectorForm form, std::span<const float> vector, std::byte* row) {
  switch (form) {
    case VectorForm::f32:
      std::memcpy(row, vector.data(), vector.size_bytes());
      break;
    case VectorForm::int8:
      write_int8_row(vector, row);
      break;
    case VectorForm::binary:
      write_binary_row(vector, row);
      break;
  }
}

std::vector<float> read_row(VectorForm form, std::size_t width, const std::byte* row) {
  std::vector<float> vector(width);
  if (form == VectorForm::f32) {
    std::memcpy(vector.data(), row, width * sizeof(float));
  } else if (form == VectorForm::int8) {
    float scale;
    std::memcpy(&scale, row, sizeof scale);
    for (std::size_t i = 0; i < width; ++i) {
      vector[i] = scale * static_cast<float>(static_cast<std::int8_t>(row[sizeof scale + i]));
    }
  } else {
    for (std::size_t i = 0; i < width; ++i) {
      const bool above = (std::to_integer<unsigned>(row[i / 8]) >> (i % 8) & 1U) != 0;
      vector[i] = above ? 1.0F : -1.0F;
    }
  }
  return vector;
}

// The words of a text as an FTS5 query: each in quotes, so that nothing in it is syntax; any of them counts.
std::string any_word_of(std::string_view text) {
  std::string query;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (!query.empty()) query += " OR ";
    query += '"' + word + '"';
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool in_word = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (in_word) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  return query;
}

}  // namespace

std::string_view name_of(VectorForm form) {
  switch (form) {
    case VectorForm::f32:
      return "f32";
    case VectorForm::int8:
      return "int8";
    case VectorForm::binary:
      return "binary";
  }
  return "";
}

std::size_t row_bytes(VectorForm form, std::size_t width) {
  switch (form) {
    case VectorForm::f32:
      return width * sizeof(float);
    case VectorForm::int8:
      return int8_row_bytes(width);
    case VectorForm::binary:
      return binary_row_bytes(width);
  }
  return 0;
}

// What a writing index holds: the lock, the transaction, and blocks that are not written yet.
struct Index::Writer {
  int lock = -1;
  bool writing = false;
  std::size_t slots = 0;
  double longest = 1;
  std::vector<std::size_t> free;  // descending: the least is taken first
  std::map<std::pair<VectorForm, std::size_t>, std::vector<std::byte>> dirty;
  std::optional<sqlite::Statement> insert_passage;
  std::optional<sqlite::Statement> insert_words;

  ~Writer() {
    if (lock >= 0) ::close(lock);
  }
};

Index::Index(std::filesystem::path path, std::unique_ptr<sqlite::Connection> connection)
    : path_(std::move(path)), connection_(std::move(connection)) {}
Index::Index(Index&&) noexcept = default;

Index::~Index() {
  if (writer_ == nullptr || connection_ == nullptr) return;  // moved from, or a reader
  writer_->insert_passage.reset();
  writer_->insert_words.reset();
  try {
    if (writer_->writing) connection_->run("ROLLBACK");
  } catch (const Error&) {
    // The next process that opens the file takes back what was not committed.
  }
  // SQLite's own locks are those of the process: they end if any descriptor of the file is closed before this one.
  connection_.reset();
}

Index::Index(IndexHeader header)
    : connection_(std::make_unique<sqlite::Connection>(":memory:", sqlite::Connection::Mode::memory)) {
  writer_ = std::make_unique<Writer>();
  make(std::move(header));
}

Index Index::create(const std::filesystem::path& path, IndexHeader header) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (made < 0) {
    throw_output(utf8::printable(path.string()) + ": " + std::generic_category().message(errno));
  }
  ::close(made);
  Index index(path, nullptr);
  index.lock_for_writing();
  // Looked at under the lock: of two processes that make one file at once, one does.
  if (std::filesystem::file_size(path) > 0) {
    throw_output(utf8::printable(path.string()) + ": " + std::generic_category().message(EEXIST));
  }
  // Made whole beside its place: a process that is killed here leaves the empty file, which the next one fills.
  const std::filesystem::path place = std::filesystem::canonical(path);
  const std::filesystem::path begun = place.string() + ".new";
  std::filesystem::remove(begun);
  std::filesystem::remove(begun.string() + "-journal");
  index.connection_ = std::make_unique<sqlite::Connection>(begun, sqlite::Connection::Mode::write);
  index.make(std::move(header));
  index.connection_.reset();
  std::filesystem::rename(begun, place);
  index.lock_for_writing();
  index.connection_ = std::make_unique<sqlite::Connection>(path, sqlite::Connection::Mode::write);
  index.write_ahead();
  return index;
}

void Index::write_ahead() {
  connection_->run("PRAGMA journal_mode = WAL");
  connection_->run("PRAGMA synchronous = NORMAL");
}

Index Index::open(const std::filesystem::path& path, bool to_write) {
  if (!is_index(path)) throw_input(utf8::printable(path.string()) + ": expected an index, got another file");
  using Mode = sqlite::Connection::Mode;
  Index index(path, std::make_unique<sqlite::Connection>(path, to_write ? Mode::write : Mode::read));
  if (to_write) index.lock_for_writing();
  index.read_header();
  if (to_write) index.write_ahead();
  return index;
}

bool Index::is_index(const std::filesystem::path& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, 16> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && std::string_view(head.data(), head.size()) == kMagic;
}

void Index::lock_for_writing() {
  writer_ = std::make_unique<Writer>();
  writer_->lock = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (writer_->lock < 0) {
    throw_output(utf8::printable(path_.string()) + ": " + std::generic_category().message(errno));
  }
  if (::flock(writer_->lock, LOCK_EX | LOCK_NB) != 0) {
    throw_output(utf8::printable(path_.string()) + ": another process writes this index; try again when it is done");
  }
}

void Index::make(IndexHeader header) {
  header_ = std::move(header);
  sqlite::Connection& sql = *connection_;
  sql.run("PRAGMA page_size = " + std::to_string(kPageSize));
  sqlite::Transaction transaction(sql);
  sql.run("PRAGMA application_id = " + std::to_string(kApplicationId));
  sql.run("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  sql.run(kSchema);
  std::string forms;
  for (const VectorForm form : header_.forms) {
    sql.run("CREATE TABLE " + table_of(form) + "(block INTEGER PRIMARY KEY, rows BLOB NOT NULL)");
    forms += (forms.empty() ? "" : ",") + std::string(name_of(form));
  }
  sqlite::Statement insert(sql, "INSERT INTO meta VALUES(?, ?)");
  const auto text = [&](std::string_view key, std::string_view value) { insert.bind(1, key).bind(2, value).run(); };
  const auto number = [&](std::string_view key, std::size_t value) {
    insert.bind(1, key).bind(2, static_cast<std::int64_t>(value)).run();
  };
  number("width", header_.width);
  text("forms", forms);
  text("prompt", header_.prompt);
  text("similarity", header_.similarity);
  number("passage_tokens", header_.passage_tokens);
  number("by_line", header_.by_line ? 1 : 0);
  number("slots", 0);
  number("longest", 1);
  number("generation", 0);
  sqlite::Statement space(sql, "INSERT INTO spaces(model, probe) VALUES(?, ?)");
  for (const VectorSpace& each : header_.spaces) space.bind(1, each.model).bind(2, bytes_of(each.probe)).run();
  transaction.commit();
}

void Index::read_header() {
  sqlite::Connection& sql = *connection_;
  const std::string name = utf8::printable(path_.string());
  if (sql.value("PRAGMA application_id") != std::to_string(kApplicationId)) {
    throw_input(name + ": expected an index, got another database");
  }
  const std::string version = sql.value("PRAGMA user_version").value_or("");
  if (version != std::to_string(kSchemaVersion)) {
    throw_input(name + ": expected an index of version " + std::to_string(kSchemaVersion) + ", got version " + version +
                "; make it anew");
  }
  // Pages are read from the mapped file where the address space allows.
  sql.run("PRAGMA mmap_size = 1099511627776");
  sql.run("PRAGMA synchronous = NORMAL");
  std::map<std::string, std::string> meta;
  sqlite::Statement rows(sql, "SELECT key, value FROM meta");
  while (rows.step()) meta.emplace(rows.text(0), rows.text(1));
  const auto number = [&](const char* key) -> std::size_t {
    const std::string& text = meta[key];
    std::size_t value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9' || value > (std::size_t{1} << 48)) throw_input(name + ": meta: " + key + ": no number");
      value = value * 10 + static_cast<std::size_t>(c - '0');
    }
    return value;
  };
  header_.width = number("width");
  header_.prompt = meta["prompt"];
  header_.similarity = meta["similarity"];
  header_.passage_tokens = number("passage_tokens");
  header_.by_line = number("by_line") != 0;
  header_.forms.clear();
  for (const VectorForm form : {VectorForm::f32, VectorForm::int8, VectorForm::binary}) {
    if (("," + meta["forms"] + ",").find("," + std::string(name_of(form)) + ",") != std::string::npos) {
      header_.forms.push_back(form);
    }
  }
  sqlite::Statement spaces(sql, "SELECT model, probe FROM spaces ORDER BY id");
  while (spaces.step()) header_.spaces.push_back({std::string(spaces.text(0)), floats_of(spaces.blob(1))});
  constexpr std::size_t kWidest = std::size_t{1} << 20;
  bool sound = header_.width > 0 && header_.width <= kWidest && !header_.forms.empty() && !header_.spaces.empty();
  for (const VectorSpace& space : header_.spaces) sound = sound && space.probe.size() == header_.width;
  if (!sound) throw_input(name + ": expected width, forms and space of an index, got nonsense");
}

bool Index::has_form(VectorForm form) const {
  return std::find(header_.forms.begin(), header_.forms.end(), form) != header_.forms.end();
}

void Index::begin_write() {
  if (writer_->writing) return;
  sqlite::Connection& sql = *connection_;
  sql.run("BEGIN IMMEDIATE");
  writer_->slots = slots();
  writer_->longest = longest();
  writer_->free = free_slots();
  writer_->writing = true;
  std::reverse(writer_->free.begin(), writer_->free.end());
}

void Index::commit() {
  if (!writer_->writing) return;
  flush_blocks();
  sqlite::Connection& sql = *connection_;
  sql.run("UPDATE meta SET value = " + std::to_string(writer_->slots) + " WHERE key = 'slots'");
  // Rounded up to a whole number.
  sql.run("UPDATE meta SET value = " + std::to_string(static_cast<std::int64_t>(std::ceil(writer_->longest))) +
          " WHERE key = 'longest'");
  sql.run("UPDATE meta SET value = value + 1 WHERE key = 'generation'");
  sql.run("COMMIT");
  writer_->writing = false;
}

void Index::add_space(const VectorSpace& space) {
  begin_write();
  sqlite::Statement(*connection_, "INSERT INTO spaces(model, probe) VALUES(?, ?)")
      .bind(1, space.model)
      .bind(2, bytes_of(space.probe))
      .run();
  header_.spaces.push_back(space);
}

std::vector<IndexSource> Index::sources() {
  std::vector<IndexSource> sources;
  sqlite::Statement rows(*connection_, "SELECT id, path, size, modified, sha256, complete FROM sources ORDER BY path");
  while (rows.step()) {
    sources.push_back({rows.integer(0), std::string(rows.text(1)), static_cast<std::uint64_t>(rows.integer(2)),
                       rows.integer(3), std::string(rows.text(4)), rows.integer(5) != 0});
  }
  return sources;
}

std::optional<IndexSource> Index::find_source(std::string_view path) {
  sqlite::Statement row(*connection_, "SELECT id, size, modified, sha256, complete FROM sources WHERE path = ?");
  row.bind(1, path);
  if (!row.step()) return std::nullopt;
  return IndexSource{row.integer(0), std::string(path),        static_cast<std::uint64_t>(row.integer(1)),
                     row.integer(2), std::string(row.text(3)), row.integer(4) != 0};
}

std::int64_t Index::begin_source(const IndexSource& source) {
  begin_write();
  if (const auto old = find_source(source.path)) remove_source(old->id);
  sqlite::Statement insert(*connection_,
                           "INSERT INTO sources(path, size, modified, sha256, complete) VALUES(?, ?, ?, ?, 0)");
  insert.bind(1, source.path).bind(2, static_cast<std::int64_t>(source.size)).bind(3, source.modified);
  insert.bind(4, source.sha256).run();
  return connection_->last_row();
}

void Index::complete_source(std::int64_t source) {
  begin_write();
  sqlite::Statement(*connection_, "UPDATE sources SET complete = 1 WHERE id = ?").bind(1, source).run();
}

void Index::touch_source(std::int64_t source, std::int64_t modified) {
  begin_write();
  sqlite::Statement(*connection_, "UPDATE sources SET modified = ? WHERE id = ?")
      .bind(1, modified)
      .bind(2, source)
      .run();
}

void Index::remove_source(std::int64_t source) {
  begin_write();
  std::vector<std::size_t> slots;
  {
    sqlite::Statement forget(*connection_, "INSERT INTO words(words, rowid, text) VALUES('delete', ?, ?)");
    sqlite::Statement free(*connection_, "INSERT INTO free VALUES(?)");
    sqlite::Statement rows(*connection_, "SELECT id, text FROM passages WHERE source = ? ORDER BY id");
    rows.bind(1, source);
    while (rows.step()) {
      if (header_.words) forget.bind(1, rows.integer(0)).bind(2, rows.text(1)).run();
      free.bind(1, rows.integer(0)).run();
      slots.push_back(static_cast<std::size_t>(rows.integer(0)));
    }
  }
  sqlite::Statement(*connection_, "DELETE FROM passages WHERE source = ?").bind(1, source).run();
  sqlite::Statement(*connection_, "DELETE FROM sources WHERE id = ?").bind(1, source).run();
  std::vector<std::size_t>& free = writer_->free;
  free.insert(free.end(), slots.begin(), slots.end());
  std::sort(free.begin(), free.end(), std::greater<>());
}

std::size_t Index::take_slot() {
  if (writer_->free.empty()) return writer_->slots++;
  const std::size_t slot = writer_->free.back();
  writer_->free.pop_back();
  sqlite::Statement(*connection_, "DELETE FROM free WHERE slot = ?").bind(1, static_cast<std::int64_t>(slot)).run();
  return slot;
}

void Index::add(std::int64_t source, const Passage& passage, std::span<const float> vector) {
  if (vector.size() != header_.width) throw_internal("index: a vector of another width");
  begin_write();
  const std::size_t slot = take_slot();
  const auto id = static_cast<std::int64_t>(slot);
  if (!writer_->insert_passage) {
    writer_->insert_passage.emplace(*connection_, "INSERT INTO passages VALUES(?, ?, ?, ?, ?, ?, ?)");
    writer_->insert_words.emplace(*connection_, "INSERT INTO words(rowid, text) VALUES(?, ?)");
  }
  sqlite::Statement& insert = *writer_->insert_passage;
  insert.bind(1, id).bind(2, source).bind(3, static_cast<std::int64_t>(passage.line));
  insert.bind(4, static_cast<std::int64_t>(passage.last_line)).bind(5, passage.id).bind(6, passage.extra);
  insert.bind(7, passage.text).run();
  if (header_.words) writer_->insert_words->bind(1, id).bind(2, passage.text).run();
  if (header_.similarity != "cosine") {
    writer_->longest = std::max(writer_->longest, double{std::sqrt(dot(vector.data(), vector.data(), vector.size()))});
  }
  store(slot, vector);
}

std::size_t Index::rows_per_block(VectorForm form) const {
  return std::max<std::size_t>(1, kBlockBytes / row_bytes(form, header_.width));
}

void Index::store(std::size_t slot, std::span<const float> vector) {
  for (const VectorForm form : header_.forms) {
    const std::size_t rows = rows_per_block(form);
    std::vector<std::byte>& bytes = block(form, slot / rows);
    write_row(form, vector, bytes.data() + slot % rows * row_bytes(form, header_.width));
  }
  if (writer_->dirty.size() > kDirtyBlocks) flush_blocks();
}

// The block as it is stored, or zeros, to be changed and written later.
std::vector<std::byte>& Index::block(VectorForm form, std::size_t number) {
  const auto [at, is_new] = writer_->dirty.try_emplace({form, number});
  if (is_new) {
    at->second.resize(rows_per_block(form) * row_bytes(form, header_.width));
    sqlite::Statement row(*connection_, "SELECT rows FROM " + table_of(form) + " WHERE block = ?");
    row.bind(1, static_cast<std::int64_t>(number));
    if (row.step()) {
      const std::span<const std::byte> stored = row.blob(0);
      std::copy_n(stored.begin(), std::min(stored.size(), at->second.size()), at->second.begin());
    }
  }
  return at->second;
}

void Index::flush_blocks() {
  for (const VectorForm form : header_.forms) {
    sqlite::Statement replace(*connection_, "INSERT OR REPLACE INTO " + table_of(form) + " VALUES(?, ?)");
    for (const auto& [key, bytes] : writer_->dirty) {
      if (key.first != form) continue;
      replace.bind(1, static_cast<std::int64_t>(key.second)).bind(2, std::span<const std::byte>(bytes)).run();
    }
  }
  writer_->dirty.clear();
}

void Index::begin_read() {
  if (writer_ != nullptr) return flush_blocks();
  connection_->run("BEGIN");
}
void Index::end_read() {
  if (writer_ == nullptr) connection_->run("COMMIT");
}

std::int64_t Index::generation() {
  sqlite::Statement row(*connection_, "SELECT value FROM meta WHERE key = 'generation'");
  return row.step() ? row.integer(0) : 0;
}

std::size_t Index::passages() {
  sqlite::Statement row(*connection_, "SELECT count(*) FROM passages");
  row.step();
  return static_cast<std::size_t>(row.integer(0));
}

double Index::longest() {
  if (writer_ != nullptr && writer_->writing) return writer_->longest;
  sqlite::Statement row(*connection_, "SELECT value FROM meta WHERE key = 'longest'");
  return row.step() ? row.real(0) : 1;
}

std::size_t Index::slots() {
  if (writer_ != nullptr && writer_->writing) return writer_->slots;
  sqlite::Statement row(*connection_, "SELECT value FROM meta WHERE key = 'slots'");
  return row.step() ? static_cast<std::size_t>(std::max<std::int64_t>(row.integer(0), 0)) : 0;
}

std::vector<std::size_t> Index::free_slots() {
  std::vector<std::size_t> slots;
  sqlite::Statement rows(*connection_, "SELECT slot FROM free ORDER BY slot");
  while (rows.step()) slots.push_back(static_cast<std::size_t>(rows.integer(0)));
  return slots;
}

StoredPassage Index::passage(std::size_t slot) {
  sqlite::Statement row(*connection_,
                        "SELECT line, last_line, record_id, extra, text, path FROM passages "
                        "JOIN sources ON sources.id = passages.source WHERE passages.id = ?");
  row.bind(1, static_cast<std::int64_t>(slot));
  if (!row.step()) throw_input(connection_->name() + ": a vector without its passage; run index verify");
  StoredPassage stored;
  stored.passage.line = static_cast<std::size_t>(row.integer(0));
  stored.passage.last_line = static_cast<std::size_t>(row.integer(1));
  stored.passage.id = row.text(2);
  stored.passage.extra = row.text(3);
  stored.passage.text = row.text(4);
  stored.path = row.text(5);
  return stored;
}

void Index::visit_rows(VectorForm form, std::size_t first, std::size_t last,
                       const std::function<void(std::size_t, const std::byte*, std::size_t)>& visit) {
  if (first >= last) return;
  const std::size_t rows = rows_per_block(form);
  const std::size_t bytes = row_bytes(form, header_.width);
  sqlite::Statement blocks(*connection_,
                           "SELECT block, rows FROM " + table_of(form) + " WHERE block BETWEEN ? AND ? ORDER BY block");
  blocks.bind(1, static_cast<std::int64_t>(first / rows)).bind(2, static_cast<std::int64_t>((last - 1) / rows));
  std::size_t expected = first / rows;
  while (blocks.step()) {
    const auto number = static_cast<std::size_t>(blocks.integer(0));
    const std::span<const std::byte> stored = blocks.blob(1);
    const std::size_t begin = std::max(first, number * rows);
    const std::size_t end = std::min(last, number * rows + rows);
    if (number != expected++ || stored.size() != rows * bytes) break;
    visit(begin, stored.data() + (begin - number * rows) * bytes, end - begin);
  }
  if (expected != (last - 1) / rows + 1) {
    throw_input(connection_->name() + ": block " + std::to_string(expected) + " of the " + std::string(name_of(form)) +
                " vectors is missing or has the wrong size");
  }
}

std::vector<float> Index::vector(std::size_t slot) {
  std::vector<float> vector;
  visit_rows(header_.forms[0], slot, slot + 1, [&](std::size_t, const std::byte* row, std::size_t) {
    vector = read_row(header_.forms[0], header_.width, row);
  });
  return vector;
}

std::vector<std::pair<std::size_t, double>> Index::find_words(std::string_view query, std::size_t most) {
  std::vector<std::pair<std::size_t, double>> found;
  const std::string words = any_word_of(query);
  if (words.empty()) return found;
  sqlite::Statement rows(
      *connection_, "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid LIMIT ?");
  rows.bind(1, words).bind(2, static_cast<std::int64_t>(most));
  // SQLite gives better matches lower numbers.
  while (rows.step()) found.emplace_back(static_cast<std::size_t>(rows.integer(0)), -rows.real(1));
  return found;
}

std::vector<std::size_t> Index::slots_where(std::string_view key, std::string_view value) {
  std::vector<std::size_t> slots;
  const bool of_path = key == "path";
  sqlite::Statement rows(
      *connection_, of_path ? "SELECT passages.id FROM passages JOIN sources ON sources.id = source WHERE path = ?1 "
                              "ORDER BY passages.id"
                            : "SELECT id FROM passages WHERE extra <> '' AND "
                              "CAST(json_extract('{' || extra || '}', ?2) AS TEXT) = ?1 ORDER BY id");
  rows.bind(1, value);
  std::string json_path;
  if (!of_path) {
    json_path = "$.\"" + std::string(key) + "\"";
    rows.bind(2, json_path);
  }
  while (rows.step()) slots.push_back(static_cast<std::size_t>(rows.integer(0)));
  return slots;
}

std::vector<std::string> Index::verify() {
  std::vector<std::string> wrong;
  sqlite::Connection& sql = *connection_;
  {
    sqlite::Statement check(sql, "PRAGMA integrity_check");
    while (check.step()) {
      if (check.text(0) != "ok") wrong.emplace_back(check.text(0));
    }
  }
  const auto expect_none = [&](const char* query, const char* what) {
    sqlite::Statement row(sql, query);
    row.step();
    if (row.integer(0) > 0) wrong.push_back(std::to_string(row.integer(0)) + ' ' + what);
  };
  expect_none("SELECT count(*) FROM passages WHERE source NOT IN (SELECT id FROM sources)",
              "passages without a source");
  expect_none("SELECT count(*) FROM free WHERE slot IN (SELECT id FROM passages)", "free slots that have a passage");
  expect_none("SELECT count(*) FROM passages WHERE id < 0 OR id >= (SELECT value FROM meta WHERE key = 'slots')",
              "passages whose slot is out of range");
  if (passages() + free_slots().size() != slots()) wrong.emplace_back("slots: neither free nor with a passage");
  for (const VectorForm form : header_.forms) {
    try {
      visit_rows(form, 0, slots(), [](std::size_t, const std::byte*, std::size_t) {});
    } catch (const Error& error) {
      wrong.emplace_back(error.what());
    }
  }
  return wrong;
}

}  // namespace mha
