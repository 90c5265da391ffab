#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite (https://www.sqlite.org), loaded at run time by the first connection: programs that never search do not need
/// it. Errors: usage if the library is absent; output for anything that SQLite reports, naming the file.
namespace mha::sqlite {

class Connection;

/// One prepared statement. Parameters count from 1, columns from 0. Views of columns are valid until the next `step`,
/// `reset` or destruction. Bound views must live until then too.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;

  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::span<const std::byte> blob);
  Statement& bind_null(int parameter);

  /// Moves to the next row; false at the end.
  bool step();
  /// Runs a statement that has no rows, and makes it ready to run again.
  void run();
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;

 private:
  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

/// One connection to one database. Threads: one at a time.
class Connection {
 public:
  enum class Mode { read, write, memory };

  /// `write` creates a missing file. A file that is no database is an input error.
  Connection(const std::filesystem::path& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run(std::string_view sql);
  /// First column of the first row; empty if there is no row or it is NULL.
  std::optional<std::string> value(std::string_view sql);
  std::int64_t last_row() const;
  std::int64_t changes() const;
  const std::string& name() const { return name_; }

 private:
  friend class Statement;
  [[noreturn]] void fail(int code) const;

  std::string name_;
  sqlite3* database_ = nullptr;
};

/// Begins at construction; `commit` ends it, destruction without it takes everything back.
class Transaction {
 public:
  explicit Transaction(Connection& connection, std::string_view begin = "BEGIN IMMEDIATE");
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace mha::sqlite
