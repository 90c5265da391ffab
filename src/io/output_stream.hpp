#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "mha/core/error.hpp"

namespace mha {

/// Whoever read the output closed it (`| head`): no fault of this program. The command line ends quietly.
class ReaderGone : public Error {
 public:
  explicit ReaderGone(const std::string& output) : Error(ErrorKind::output, output + ": the reader went away") {}
};

/// Where results go: standard output, a pipe or device, or a file that appears whole or not at all.
///
/// A regular file is written as a temporary file beside its place and renamed over it by `commit`; without a commit
/// the temporary file is removed and what stood there stays. The new file's mode follows the umask. A symbolic link
/// keeps pointing where it did: its target is replaced. Pipes, devices and `/dev/fd/N` are written directly.
///
/// Where a run shall be continued by a later one, the unfinished file is `<file>.partial` instead: it stays when there
/// is no commit, and the next stream for the same path goes on behind what it holds. One process at a time may write
/// it.
///
/// Bytes are buffered until `flush` or until the buffer is full. Offsets count bytes from the first one written here.
/// Errors: output, naming the path, as soon as the system tells: at opening (a folder, a missing folder, no
/// permission), at any write (disk full, closed standard output) and at `commit`; ReaderGone when the reader left
/// and SIGPIPE is ignored.
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
  /// Hands everything written so far to the system.
  void flush();
  /// Flushes and closes; the file gets its name. Nothing can be written afterwards.
  void commit();

  /// What an earlier run left, readable until the first write here; empty unless unfinished files are kept.
  const std::filesystem::path& partial() const { return partial_; }
  /// Cuts what an earlier run left to its first `bytes`.
  void keep_first(std::uint64_t bytes);

  /// Bytes written so far, those in the buffer included.
  std::uint64_t position() const { return position_; }
  /// Whether `patch` works: a regular file that is not in append mode.
  bool can_patch() const { return can_patch_; }
  /// Overwrites bytes that were written before.
  void patch(std::uint64_t position, std::string_view bytes);

  /// True for standard output, pipes and devices: what is flushed is out, and no failure can take it back.
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
  std::filesystem::path partial_;    // `temporary_`, where it outlives us
  std::string buffer_;
  int descriptor_ = -1;
  bool owned_ = false;
  bool can_patch_ = false;
  std::uint64_t position_ = 0;
  std::uint64_t base_ = 0;  // the descriptor's offset when we got it
};

}  // namespace mha
