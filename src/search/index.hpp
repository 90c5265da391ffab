#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/sqlite.hpp"

namespace mha {

/// In which form vectors are stored and compared.
enum class VectorForm { f32, int8, binary };
std::string_view name_of(VectorForm form);
/// Bytes of one stored vector.
std::size_t row_bytes(VectorForm form, std::size_t width);

/// A vector space that an index was made in or says that it shares. Two models share a space if they give the probe
/// text nearly the same vector.
struct VectorSpace {
  std::string model;         ///< as people name it
  std::vector<float> probe;  ///< [width], the vector of `kProbeText`
};
inline constexpr std::string_view kProbeText =
    "A probe: sixteen plain words that tell one model's space of vectors from that of another.";

/// What holds for the whole index; fixed when it is made.
struct IndexHeader {
  std::size_t width = 0;
  std::vector<VectorForm> forms{VectorForm::f32};  ///< the first is the most exact
  std::string prompt;                              ///< before each passage
  std::string similarity = "cosine";               ///< cosine (stored vectors have length 1) or dot
  std::size_t passage_tokens = 0;                  ///< the most that a passage has
  bool by_line = false;                            ///< one passage per line
  std::vector<VectorSpace> spaces;                 ///< the first made the vectors
  bool words = true;                               ///< full text is kept; false only in memory
};

/// A file, or a file of records, that passages come from.
struct IndexSource {
  std::int64_t id = 0;
  std::string path;
  std::uint64_t size = 0;     ///< bytes
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::string sha256;         ///< of its bytes, in hexadecimal
  bool complete = false;      ///< false: a run was stopped in the middle of it
};

/// A stretch of a source that has a vector.
struct Passage {
  std::size_t line = 0;  ///< 1-based, its first
  std::size_t last_line = 0;
  std::string text;
  std::string id;     ///< JSON text of the record's id; empty: none
  std::string extra;  ///< members of the record, JSON text `"key":value,…`; may be empty
};

/// A passage and where it is from.
struct StoredPassage {
  Passage passage;
  std::string path;
};

/// A file of passages and their vectors: one SQLite database, readable with any tool.
///
/// Tables: `meta` (the header), `spaces`, `sources`, `passages` (its id is the slot of the vector), `free` (slots
/// without a passage), `vectors_f32`, `vectors_int8`, `vectors_binary` (blocks of consecutive slots, each as large as
/// one page, so that SQLite hands it out in one piece), and `words` (full text, FTS5).
/// A commit is atomic: a process that is killed leaves the last commit. One process writes at a time; others read what
/// was committed when they began.
/// Errors: input for a file that is no index or of another version; output for a disk that is full.
/// Threads: one at a time.
class Index {
 public:
  /// In memory, for one run.
  explicit Index(IndexHeader header);
  /// Makes a new file, or fills an empty one. Errors: output if there is another file.
  static Index create(const std::filesystem::path& path, IndexHeader header);
  static Index open(const std::filesystem::path& path, bool to_write);
  /// Whether the file begins as an SQLite database does.
  static bool is_index(const std::filesystem::path& path);
  ~Index();
  Index(Index&&) noexcept;

  const IndexHeader& header() const { return header_; }
  bool has_form(VectorForm form) const;
  void add_space(const VectorSpace& space);

  // Sources and passages. Changes are seen by others after `commit`.
  std::vector<IndexSource> sources();
  std::optional<IndexSource> find_source(std::string_view path);
  /// Removes what the path had and begins it anew.
  std::int64_t begin_source(const IndexSource& source);
  void add(std::int64_t source, const Passage& passage, std::span<const float> vector);
  void complete_source(std::int64_t source);
  /// Notes that an unchanged file was touched.
  void touch_source(std::int64_t source, std::int64_t modified);
  void remove_source(std::int64_t source);
  void commit();

  // Reading. All reads between `begin_read` and `end_read` see one state.
  void begin_read();
  void end_read();
  /// Grows with each commit: two connections with the same number see the same state.
  std::int64_t generation();
  std::size_t passages();
  /// Length of the longest vector that was ever stored; 1 for cosine.
  double longest();
  /// Slots in use and free ones.
  std::size_t slots();
  std::vector<std::size_t> free_slots();
  StoredPassage passage(std::size_t slot);
  /// Calls `visit(first slot, rows, count)` for the blocks that hold slots [first, last), in order.
  void visit_rows(VectorForm form, std::size_t first, std::size_t last,
                  const std::function<void(std::size_t, const std::byte*, std::size_t)>& visit);
  /// The stored vector as float32, from the most exact form.
  std::vector<float> vector(std::size_t slot);
  /// Slots by BM25 of the words of the query (any of them), best first.
  std::vector<std::pair<std::size_t, double>> find_words(std::string_view query, std::size_t most);
  /// Slots whose record has the member `key` with that value (as text), ascending; `path` is the source's path.
  std::vector<std::size_t> slots_where(std::string_view key, std::string_view value);
  /// What is wrong with the file; empty: nothing.
  std::vector<std::string> verify();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Writer;
  Index(std::filesystem::path path, std::unique_ptr<sqlite::Connection> connection);
  void make(IndexHeader header);
  void read_header();
  void lock_for_writing();
  void write_ahead();
  void begin_write();
  std::size_t rows_per_block(VectorForm form) const;
  void store(std::size_t slot, std::span<const float> vector);
  std::vector<std::byte>& block(VectorForm form, std::size_t number);
  void flush_blocks();
  std::size_t take_slot();

  std::filesystem::path path_;
  std::unique_ptr<sqlite::Connection> connection_;
  IndexHeader header_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace mha
