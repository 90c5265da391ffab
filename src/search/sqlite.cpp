#include "search/sqlite.hpp"

#include <dlfcn.h>
#include <sqlite3.h>

#include <limits>
#include <utility>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::sqlite {
namespace {

constexpr const char* kLibrary = "libsqlite3.so.0";
constexpr int kBusyMilliseconds = 5000;

void* find_function(const char* name) {
  static void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw_usage(std::string("search: expected ") + kLibrary + ", got none; install libsqlite3-0");
  }
  void* const function = dlsym(library, name);
  if (function == nullptr) throw_internal(std::string(kLibrary) + ": no function " + name);
  return function;
}

#define MHA_SQLITE(name) \
  decltype(::sqlite3_##name)* name = reinterpret_cast<decltype(::sqlite3_##name)*>(find_function("sqlite3_" #name))

struct Library {
  MHA_SQLITE(open_v2);
  MHA_SQLITE(close_v2);
  MHA_SQLITE(errmsg);
  MHA_SQLITE(errstr);
  MHA_SQLITE(busy_timeout);
  MHA_SQLITE(exec);
  MHA_SQLITE(prepare_v2);
  MHA_SQLITE(finalize);
  MHA_SQLITE(step);
  MHA_SQLITE(reset);
  MHA_SQLITE(bind_int64);
  MHA_SQLITE(bind_text64);
  MHA_SQLITE(bind_blob64);
  MHA_SQLITE(bind_null);
  MHA_SQLITE(column_type);
  MHA_SQLITE(column_int64);
  MHA_SQLITE(column_double);
  MHA_SQLITE(column_text);
  MHA_SQLITE(column_blob);
  MHA_SQLITE(column_bytes);
  MHA_SQLITE(last_insert_rowid);
  MHA_SQLITE(changes64);
};

#undef MHA_SQLITE

const Library& library() {
  static const Library functions;
  return functions;
}

// A path in a URI: everything but letters, digits and /._- is percent-encoded.
std::string uri_of(const std::filesystem::path& path, const char* parameters) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '_' || c == '-';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte / 16];
      uri += kHex[byte % 16];
    }
  }
  return uri + parameters;
}

}  // namespace

Connection::Connection(const std::filesystem::path& path, Mode mode) : name_(utf8::printable(path.string())) {
  const Library& sql = library();
  int code = SQLITE_OK;
  if (mode == Mode::memory) {
    code = sql.open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  } else {
    // A reader may write, too, if the system lets it: the last one to close the file tidies up the write-ahead log.
    const int flags = SQLITE_OPEN_READWRITE | (mode == Mode::write ? SQLITE_OPEN_CREATE : 0);
    code = sql.open_v2(path.c_str(), &database_, flags, nullptr);
  }
  if (code == SQLITE_OK) sql.busy_timeout(database_, kBusyMilliseconds);
  if (code == SQLITE_OK && mode == Mode::read) {
    code = sql.exec(database_, "PRAGMA query_only = 1; SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
    if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
      // A folder that may not be written has no room for the index of the write-ahead log: nobody else writes there.
      sql.close_v2(std::exchange(database_, nullptr));
      code = sql.open_v2(uri_of(path, "?immutable=1").c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                         nullptr);
    }
  }
  if (code == SQLITE_OK) return;
  const std::string why = sql.errstr(code);
  sql.close_v2(database_);
  throw_input(name_ + ": expected an index, got: " + why);
}

Connection::~Connection() { library().close_v2(database_); }

void Connection::fail(int code) const {
  const std::string why = library().errmsg(database_);
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw_output(name_ + ": another process writes this index; try again when it is done");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw_input(name_ + ": expected an index, got: " + why);
    case SQLITE_ERROR:
      throw_input(name_ + ": " + why);
    default:
      throw_output(name_ + ": " + why);
  }
}

void Connection::run(std::string_view sql) {
  const int code = library().exec(database_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::optional<std::string> Connection::value(std::string_view sql) {
  Statement statement(*this, sql);
  if (!statement.step() || statement.is_null(0)) return std::nullopt;
  return std::string(statement.text(0));
}

std::int64_t Connection::last_row() const { return library().last_insert_rowid(database_); }
std::int64_t Connection::changes() const { return library().changes64(database_); }

Statement::Statement(Connection& connection, std::string_view sql) : connection_(connection) {
  const int code =
      library().prepare_v2(connection.database_, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
}
Statement::~Statement() { library().finalize(statement_); }
Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::bind(int parameter, std::int64_t value) {
  library().bind_int64(statement_, parameter, value);
  return *this;
}
Statement& Statement::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  const char* const begin = text.empty() ? "" : text.data();
  const int code = library().bind_text64(statement_, parameter, begin, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) connection_.fail(code);
  return *this;
}
Statement& Statement::bind(int parameter, std::span<const std::byte> blob) {
  const int code = library().bind_blob64(
      statement_, parameter, blob.empty() ? "" : static_cast<const void*>(blob.data()), blob.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) connection_.fail(code);
  return *this;
}
Statement& Statement::bind_null(int parameter) {
  library().bind_null(statement_, parameter);
  return *this;
}

bool Statement::step() {
  const int code = library().step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_.fail(code);
}
void Statement::run() {
  step();
  reset();
}
void Statement::reset() { library().reset(statement_); }

bool Statement::is_null(int column) const { return library().column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return library().column_int64(statement_, column); }
double Statement::real(int column) const { return library().column_double(statement_, column); }
std::string_view Statement::text(int column) const {
  const unsigned char* const begin = library().column_text(statement_, column);
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(library().column_bytes(statement_, column))};
}
std::span<const std::byte> Statement::blob(int column) const {
  const void* const begin = library().column_blob(statement_, column);
  return {static_cast<const std::byte*>(begin), static_cast<std::size_t>(library().column_bytes(statement_, column))};
}

Transaction::Transaction(Connection& connection, std::string_view begin) : connection_(connection) {
  connection.run(begin);
}
Transaction::~Transaction() {
  if (!open_) return;
  try {
    connection_.run("ROLLBACK");
  } catch (const Error&) {
    // SQLite rolls back by itself after a failure; the next reader recovers what is left.
  }
}
void Transaction::commit() {
  connection_.run("COMMIT");
  open_ = false;
}

}  // namespace mha::sqlite
