#include "io/output_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "io/file_descriptor.hpp"
#include "io/mapped_file.hpp"
#include "io/process.hpp"

namespace mha {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr int kMaxLinks = 40;  // as Linux follows

// The number of a path that names an open descriptor. Opening such a path anew would start a second, independent
// write position in the same file.
std::optional<int> open_descriptor(const fs::path& path) {
  const std::string& name = path.native();
  if (name == "-" || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + folder.size(), end, number);
    if (error == std::errc() && stop == end && number >= 0) return number;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_partial(const std::string& name) {
  throw_usage(Parameter{"resume"}, "expected an output that is a file, got " + name);
}

std::string random_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(::getpid());
  char text[40];
  std::snprintf(text, sizeof text, ".mha-%016llx.tmp", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

OutputStream::OutputStream(const fs::path& path, Unfinished unfinished)
    : name_(path == "-" ? "standard output" : path_text(path)) {
  buffer_.reserve(kBufferBytes);
  if (path.empty() || path.native().find('\0') != std::string::npos) {
    throw_output("output: expected a file name, got \"" + name_ + "\"");
  }
  const bool keep = unfinished == Unfinished::keep;
  if (const std::optional<int> number = open_descriptor(path)) {
    if (keep) refuse_partial(name_);
    use(*number, false);
    return;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw_output(name_ + ": expected a file to write, got a folder");
    if (!S_ISREG(status.st_mode)) {
      if (keep) refuse_partial(name_);
      open_direct(path);
      return;
    }
    if (::access(path.c_str(), W_OK) != 0) fail("cannot be written", errno);
  } else if (errno != ENOENT) {
    fail("cannot be written", errno);
  }
  resolve(path);
  keep ? open_partial() : open_temporary();
}

OutputStream::~OutputStream() { discard(); }

void OutputStream::use(int descriptor, bool owned) {
  descriptor_ = descriptor;
  owned_ = owned;
  struct stat status {};
  const off_t offset = ::lseek(descriptor, 0, SEEK_CUR);
  const int flags = ::fcntl(descriptor, F_GETFL);
  can_patch_ = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && offset >= 0 && flags >= 0 &&
               (flags & O_APPEND) == 0;
  base_ = can_patch_ ? static_cast<std::uint64_t>(offset) : 0;
}

void OutputStream::open_direct(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) fail("cannot be opened for writing", errno);
  use(descriptor, true);
}

void OutputStream::resolve(const fs::path& path) {
  target_ = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target_, error)); ++links) {
    if (links == kMaxLinks) fail("cannot be written", ELOOP);
    const fs::path next = fs::read_symlink(target_, error);
    if (error) fail("cannot be written", error.value());
    target_ = next.is_absolute() ? next : target_.parent_path() / next;
  }
  if (!target_.has_filename()) throw_output(name_ + ": expected a file to write, got a folder");
}

void OutputStream::open_temporary() {
  const fs::path temporary = target_.parent_path() / random_name();
  add_unfinished_output(temporary);
  const int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int why = errno;
    remove_from_unfinished_outputs(temporary);
    fail("cannot be created", why);
  }
  temporary_ = temporary;
  use(descriptor, true);
}

void OutputStream::open_partial() {
  fs::path partial = target_;
  partial += ".partial";
  const int descriptor = ::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor < 0) throw_output(path_text(partial) + ": cannot be opened for writing: " + system_error_text(errno));
  FileDescriptor file(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    if (why != EWOULDBLOCK) throw_output(path_text(partial) + ": cannot be locked: " + system_error_text(why));
    throw_output(path_text(partial) + ": another process is writing it; wait for its end");
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw_output(path_text(partial) + ": expected a regular file");
  }
  // Between opening and locking, another process may have renamed the file; it must not be truncated then.
  struct stat named {};
  if (::lstat(partial.c_str(), &named) != 0 || named.st_dev != status.st_dev || named.st_ino != status.st_ino) {
    throw_output(path_text(partial) + ": another process has just finished it; run again");
  }
  owned_ = true;
  descriptor_ = file.release();
  temporary_ = partial_ = partial;
  keep_first(static_cast<std::uint64_t>(status.st_size));
}

void OutputStream::keep_first(std::uint64_t bytes) {
  if (partial_.empty() || written_) throw_internal(name_ + ": nothing to cut there");
  const auto end = static_cast<off_t>(bytes);
  if (::ftruncate(descriptor_, end) != 0 || ::lseek(descriptor_, end, SEEK_SET) != end) {
    fail("cannot be written", errno);
  }
  use(descriptor_, true);
  base_ = 0;
  position_ = bytes;
}

void OutputStream::write(std::string_view bytes) {
  position_ += bytes.size();
  written_ = true;
  if (observer_) observer_(bytes);
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    flush();
    if (bytes.size() >= kBufferBytes) return write_all(bytes);
  }
  buffer_.append(bytes);
}

void OutputStream::flush() {
  // Empty the buffer first, so that the next call does not retry bytes that failed.
  std::string pending;
  pending.swap(buffer_);
  write_all(pending);
  pending.clear();
  buffer_.swap(pending);
}

void OutputStream::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another owner of the pipe made it non-blocking
      struct pollfd wait {
        descriptor_, POLLOUT, 0
      };
      ::poll(&wait, 1, -1);
    } else if (errno == EPIPE) {
      throw ReaderGone(name_);
    } else if (errno != EINTR) {
      fail("cannot be written", errno);
    }
  }
}

void OutputStream::patch(std::uint64_t position, std::string_view bytes) {
  if (!can_patch_ || position + bytes.size() > position_) throw_internal(name_ + ": nothing to patch there");
  flush();
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(base_ + position));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written", errno);
    position += static_cast<std::uint64_t>(done);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void OutputStream::commit() {
  flush();
  // Some file systems report a full disk only at close. A descriptor that we do not own is duplicated and closed.
  const int closing = owned_ ? std::exchange(descriptor_, -1) : ::dup(descriptor_);
  if (closing >= 0 && ::close(closing) != 0 && errno != EINTR) fail("cannot be written", errno);
  descriptor_ = -1;
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  remove_from_unfinished_outputs(temporary_);
  temporary_.clear();
}

void OutputStream::fail(const std::string& what, int error) const {
  throw_output(name_ + ": " + what + ": " + system_error_text(error));
}

void OutputStream::discard() noexcept {
  if (owned_ && descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (temporary_.empty()) return;
  if (partial_.empty()) ::unlink(temporary_.c_str());
  remove_from_unfinished_outputs(temporary_);
  temporary_.clear();
}

}  // namespace mha
