#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "mha/core/error.hpp"

namespace mha {

/// The reader of the output closed it (`| head`). This is not an error; the command line ends quietly.
class ReaderGone : public Error {
 public:
  explicit ReaderGone(const std::string& output) : Error(ErrorKind::output, output + ": the reader went away") {}
};

/// Where results go: standard output, a pipe or device, or a file that appears whole or not at all.
///
/// A regular file is written as a temporary file beside its path, and `commit` renames it. Without a commit the
/// temporary file is removed, and an existing file stays. The new file's mode follows the umask. The target of a
/// symbolic link is replaced, not the link. Pipes, devices and `/dev/fd/N` are written directly.
///
/// If a later run shall continue this one, the unfinished file is `<file>.partial`. It stays without a commit, and the
/// next stream for the same path appends to it.
/// Only one process at a time may write it.
///
/// Bytes are buffered until `flush` or until the buffer is full. Offsets count bytes from the first one written here.
/// Errors: output, naming the path, as soon as the system reports it: at opening (a folder, a missing folder, no
/// permission), at a write (disk full, closed standard output) and at `commit`; ReaderGone if the reader closed the
/// pipe and SIGPIPE is ignored.
/// Threads: one at a time.
class OutputStream {
 public:
  enum class Unfinished { remove, keep };

  /// Opens at once. `-` is standard output. `keep` needs a regular file: usage error otherwise.
  explicit OutputStream(const std::filesystem::path& path, Unfinished unfinished = Unfinished::remove);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void write(std::string_view bytes);
  /// Passes everything written so far to the system.
  void flush();
  /// Flushes, closes and renames. Nothing can be written afterwards.
  void commit();

  /// Content that an earlier run left, readable until the first write; empty unless unfinished files are kept.
  const std::filesystem::path& partial() const { return partial_; }
  /// Truncates the content of an earlier run to `bytes`. Writing continues behind them, and `position` counts them.
  /// Nothing may have been written before.
  void keep_first(std::uint64_t bytes);

  /// Is given everything that is written from now on, in order, except patches.
  void observe(std::function<void(std::string_view)> observer) { observer_ = std::move(observer); }

  /// Bytes written so far, those in the buffer and those that an earlier run left included.
  std::uint64_t position() const { return position_; }
  /// True if `patch` works: a regular file that is not in append mode.
  bool can_patch() const { return can_patch_; }
  /// Overwrites bytes that were written before.
  void patch(std::uint64_t position, std::string_view bytes);

  /// True for standard output, pipes and devices: flushed bytes cannot be taken back after a failure.
  bool is_direct() const { return temporary_.empty(); }
  /// The path as given, or `standard output`, for messages.
  const std::string& name() const { return name_; }

 private:
  void resolve(const std::filesystem::path& path);
  void open_temporary();
  void open_partial();
  void open_direct(const std::filesystem::path& path);
  void use(int descriptor, bool owned);
  void write_all(std::string_view bytes);
  [[noreturn]] void fail(const std::string& what, int error) const;
  void discard() noexcept;

  std::string name_;
  std::filesystem::path target_;     // what `commit` renames to
  std::filesystem::path temporary_;  // empty: written directly
  std::filesystem::path partial_;    // `temporary_`, if it outlives this object
  std::string buffer_;
  int descriptor_ = -1;
  bool owned_ = false;
  bool can_patch_ = false;
  std::uint64_t position_ = 0;
  bool written_ = false;
  std::function<void(std::string_view)> observer_;
  std::uint64_t base_ = 0;  // the descriptor's offset at the start
};

}  // namespace mha
