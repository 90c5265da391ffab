#include "io/text_reader.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/utf8.hpp"
#include "io/file_descriptor.hpp"
#include "io/json_record.hpp"
#include "io/json_splitter.hpp"
#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Source {
  std::string path;
  std::shared_ptr<const std::string> name;
  InputFormat format;
  bool is_regular;
  std::uint64_t bytes;
};

bool is_readable_now(int descriptor) {
  struct pollfd wait {
    descriptor, POLLIN, 0
  };
  return ::poll(&wait, 1, 0) != 0;
}

// All files are checked before the first is read, so that a wrong name fails before work is done.
Source look_at(const std::string& path, InputFormat format) {
  if (format == InputFormat::automatic) {
    const bool is_json = path.ends_with(".jsonl") || path.ends_with(".ndjson");
    format = is_json ? InputFormat::jsonl : InputFormat::lines;
  }
  if (path == "-") return {path, std::make_shared<const std::string>("stdin"), format, false, 0};
  Source source{path, std::make_shared<const std::string>(path_text(path)), format, false, 0};
  const auto fail = [&](const std::string& why) { throw_input(*source.name + ": " + why); };
  if (path.find('\0') != std::string::npos) fail("a NUL character in the path");
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(errno == ENOENT ? "no such file" : system_error_text(errno));
  if (S_ISDIR(status.st_mode)) fail("expected a file, got a folder");
  if (::access(path.c_str(), R_OK) != 0) fail("cannot be read: " + system_error_text(errno));
  source.is_regular = S_ISREG(status.st_mode);
  source.bytes = static_cast<std::uint64_t>(status.st_size);
  return source;
}

}  // namespace

/// Either arguments or sources. A source's bytes pass through one buffer; `[begin_, end_)` of it is not yet consumed.
class TextReader::Implementation {
 public:
  Implementation(std::vector<std::string> texts, std::optional<std::string> text_pair, const TextReaderOptions& options)
      : options_(options),
        arguments_(std::move(texts)),
        pair_(std::move(text_pair)),
        argument_name_(std::make_shared<const std::string>("argument")) {
    for (const std::string& text : arguments_) total_bytes_ += text.size();
    total_known_ = true;
  }

  Implementation(const std::vector<std::string>& paths, const TextReaderOptions& options) : options_(options) {
    total_known_ = true;
    for (const std::string& path : paths) {
      sources_.push_back(look_at(path, options.format));
      total_known_ = total_known_ && sources_.back().is_regular;
      total_bytes_ += sources_.back().bytes;
    }
  }

  bool next(Input& record) {
    if (!waiting_) waiting_ = advance(true);
    if (*waiting_ == Step::end) return false;
    waiting_.reset();
    std::swap(record, record_);
    return true;
  }

  bool ready() {
    if (waiting_) return true;
    const Step step = advance(false);
    if (step != Step::would_wait) waiting_ = step;
    return step != Step::would_wait;
  }

  std::optional<std::uint64_t> total_bytes() const {
    return total_known_ ? std::optional<std::uint64_t>(total_bytes_) : std::nullopt;
  }
  std::uint64_t bytes_done() const { return bytes_done_; }

 private:
  enum class Step { record, end, would_wait };

  // Fills `record_` with the next record.
  Step advance(bool may_wait) {
    for (;;) {
      if (next_argument_ < arguments_.size()) return take_argument();
      if (!file_) {
        if (next_source_ == sources_.size()) return Step::end;
        if (!may_wait && !sources_[next_source_].is_regular && sources_[next_source_].path != "-") {
          return Step::would_wait;  // opening a pipe waits for its writer
        }
        open_source();
      }
      if (take_record()) return Step::record;
      if (at_end_) {
        close_source();
        continue;
      }
      if (!may_wait && !is_readable_now(file_.get())) return Step::would_wait;
      fill();
    }
  }

  Step take_argument() {
    start_record(argument_name_, next_argument_ + 1, "argument", 0);
    std::string& text = arguments_[next_argument_++];
    bytes_done_ += text.size();
    set_text(text);
    if (pair_ && record_.error.empty()) {
      const std::size_t invalid = utf8::first_invalid(*pair_);
      if (invalid == utf8::kValid) {
        record_.text_pair = *pair_;
      } else if (options_.replace_invalid) {
        record_.text_pair = utf8::replace_invalid(*pair_);
        record_.replaced = invalid;
      } else {
        record_.error = invalid_utf8_text(record_, *pair_, invalid) + " in its pair";
      }
    }
    return Step::record;
  }

  void open_source() {
    const Source& source = sources_[next_source_];
    if (source.path == "-") {
      file_ = FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    } else {
      file_ = FileDescriptor(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    }
    if (!file_) throw_input(*source.name + ": cannot be read: " + system_error_text(errno));
    ++next_source_;
    name_ = source.name;
    format_ = source.format;
    begin_ = end_ = scanned_ = 0;
    offset_ = 0;
    line_ = 0;
    at_end_ = false;
    skipping_ = false;
    splitter_ = {};
    closed_ = false;
  }

  void close_source() { file_.reset(); }

  // Reads once, at least one byte, or notes the end.
  void fill() {
    if (begin_ == end_) begin_ = end_ = scanned_ = 0;
    if (buffer_.size() - end_ < kReadBytes && begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      scanned_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() - end_ < kReadBytes) buffer_.resize(std::max(2 * buffer_.size(), end_ + kReadBytes));
    for (;;) {
      const ssize_t got = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
      if (got > 0) {
        end_ += static_cast<std::size_t>(got);
        return;
      }
      if (got == 0) {
        at_end_ = true;
        return;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        struct pollfd wait {
          file_.get(), POLLIN, 0
        };
        ::poll(&wait, 1, -1);
      } else if (errno != EINTR) {
        throw_input(*name_ + ": cannot be read: " + system_error_text(errno));
      }
    }
  }

  // Takes the next complete record from the buffer, if there is one.
  bool take_record() {
    if (format_ == InputFormat::json) return take_json_value();
    const char ending = format_ == InputFormat::nul ? '\0' : '\n';
    for (;;) {
      const char* const data = buffer_.data();
      const void* const found =
          scanned_ < end_ ? std::memchr(data + scanned_, static_cast<unsigned char>(ending), end_ - scanned_) : nullptr;
      const bool ended = found != nullptr;
      const std::size_t stop = ended ? static_cast<std::size_t>(static_cast<const char*>(found) - data) : end_;
      if (skipping_) {
        drop(stop, ended);
        if (!ended) return false;
        skipping_ = false;
        continue;
      }
      if (stop - begin_ > options_.max_record_bytes) {
        start_line(offset_);
        record_.error = record_.place() + ": expected at most " + std::to_string(options_.max_record_bytes) +
                        " bytes, got a longer one";
        drop(stop, ended);
        skipping_ = !ended;
        return true;
      }
      scanned_ = stop;
      if (!ended && (!at_end_ || begin_ == end_)) return false;
      std::string_view bytes(data + begin_, stop - begin_);
      std::uint64_t offset = offset_;
      if (offset == 0 && bytes.starts_with(kByteOrderMark)) {
        bytes.remove_prefix(kByteOrderMark.size());
        offset += kByteOrderMark.size();
        if (bytes.empty() && !ended) {  // nothing but the mark: an empty source
          drop(stop, ended);
          return false;
        }
      }
      if (ended && format_ != InputFormat::nul && bytes.ends_with('\r')) bytes.remove_suffix(1);
      if (format_ == InputFormat::jsonl && is_blank_json(bytes)) {
        ++line_;
        drop(stop, ended);
        continue;
      }
      start_line(offset);
      if (format_ == InputFormat::jsonl) {
        parse_json_record(bytes, options_, record_);
      } else {
        set_text(bytes);
      }
      drop(stop, ended);
      return true;
    }
  }

  // The same of a source of JSON values.
  bool take_json_value() {
    if (offset_ == 0 && rest().starts_with(kByteOrderMark)) pass(kByteOrderMark.size());
    std::size_t passed = 0;
    const JsonSplitter::Next next = closed_ ? JsonSplitter::Next::more : splitter_.find_value(rest(), passed);
    pass(closed_ ? end_ - begin_ : passed);
    if (next == JsonSplitter::Next::more) return at_end_ && !closed_ && !splitter_.complete() && broken("got the end");
    if (next == JsonSplitter::Next::wrong) return broken("got " + utf8::quoted(rest().substr(0, 1)));
    const std::size_t length = splitter_.value_length(rest(), at_end_);
    if (length == std::string_view::npos) {
      if (end_ - begin_ <= options_.max_record_bytes) return false;
      return broken("got a value of more than " + std::to_string(options_.max_record_bytes) + " bytes");
    }
    start_record(name_, line_ + 1, "line", offset_);
    parse_json_record(rest().substr(0, length), options_, record_);
    pass(length);
    closed_ = at_end_ && begin_ == end_ && record_.bad();  // a value without its end: one error is enough
    return true;
  }

  // Where values are not apart as they must be, nothing more of the source can be read.
  bool broken(const std::string& got) {
    start_record(name_, line_ + 1, "line", offset_);
    record_.error = record_.place() + ": expected JSON objects, one behind the other or in one array, " + got;
    pass(end_ - begin_);
    closed_ = true;
    return true;
  }

  std::string_view rest() const { return {buffer_.data() + begin_, end_ - begin_}; }

  void pass(std::size_t bytes) {
    const std::string_view passed = rest().substr(0, bytes);
    line_ += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
    offset_ += bytes;
    bytes_done_ += bytes;
    begin_ = scanned_ = begin_ + bytes;
  }

  // Consumes the buffer up to `stop`, and the line ending after it.
  void drop(std::size_t stop, bool ended) {
    const std::size_t behind = stop + (ended ? 1 : 0);
    offset_ += behind - begin_;
    bytes_done_ += behind - begin_;
    begin_ = scanned_ = behind;
  }

  void start_line(std::uint64_t begin) {
    start_record(name_, ++line_, format_ == InputFormat::nul ? "record" : "line", begin);
  }

  void start_record(std::shared_ptr<const std::string> source, std::size_t line, const char* word,
                    std::uint64_t begin) {
    record_.clear();
    record_.index = index_++;
    record_.source = std::move(source);
    record_.line = line;
    record_.line_word = word;
    record_.begin = begin;
  }

  void set_text(std::string_view bytes) {
    const std::size_t invalid = utf8::first_invalid(bytes);
    if (invalid == utf8::kValid) {
      record_.text = bytes;
    } else if (options_.replace_invalid) {
      record_.text = utf8::replace_invalid(bytes);
      record_.replaced = record_.begin + invalid;
    } else {
      record_.error = invalid_utf8_text(record_, bytes, invalid);
    }
  }

  TextReaderOptions options_;

  std::vector<std::string> arguments_;
  std::optional<std::string> pair_;
  std::shared_ptr<const std::string> argument_name_;
  std::size_t next_argument_ = 0;

  std::vector<Source> sources_;
  std::size_t next_source_ = 0;

  FileDescriptor file_;  // of the source that is being read
  std::shared_ptr<const std::string> name_;
  InputFormat format_ = InputFormat::lines;
  bool at_end_ = false;
  JsonSplitter splitter_;
  bool closed_ = false;       // nothing more of a broken source of JSON values is read
  bool skipping_ = false;     // inside a record that was too long
  std::uint64_t offset_ = 0;  // of buffer_[begin_] in the source
  std::size_t line_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t scanned_ = 0;  // no record ends in [begin_, scanned_)

  Input record_;
  std::optional<Step> waiting_;  // found by `ready`, returned by `next`
  std::size_t index_ = 0;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool total_known_ = false;
};

TextReader::TextReader(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
TextReader::~TextReader() = default;
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;

TextReader TextReader::from_arguments(std::vector<std::string> texts, std::optional<std::string> text_pair,
                                      const TextReaderOptions& options) {
  return TextReader(std::make_unique<Implementation>(std::move(texts), std::move(text_pair), options));
}

TextReader TextReader::from_files(const std::vector<std::string>& paths, const TextReaderOptions& options) {
  return TextReader(std::make_unique<Implementation>(paths, options));
}

bool TextReader::next(Input& record) { return implementation_->next(record); }
bool TextReader::ready() { return implementation_->ready(); }
std::optional<std::uint64_t> TextReader::total_bytes() const { return implementation_->total_bytes(); }
std::uint64_t TextReader::bytes_done() const { return implementation_->bytes_done(); }

}  // namespace mha
