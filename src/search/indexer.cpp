#include "search/indexer.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/utf8.hpp"
#include "io/digest.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr std::size_t kBinaryHead = 8192;  // a NUL among the first bytes makes a file binary, as for grep

// A passage on its way through the encoder.
struct Waiting {
  std::int64_t source = 0;
  Passage passage;
  bool last = false;  // of its source; such a one may have no text, and then no vector
};

std::int64_t nanoseconds(const struct timespec& time) {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  return std::int64_t{time.tv_sec} * kPerSecond + time.tv_nsec;
}

// Reads the files one after the other and hands their passages to the pipeline.
class PassageSource : public RecordSource {
 public:
  PassageSource(Index& index, const std::vector<FileToIndex>& files, const IndexerSettings& settings,
                const Tokenizer& tokenizer, IndexerResult& result)
      : index_(index), files_(files), settings_(settings), tokenizer_(tokenizer), result_(result) {}

  bool next(Record& record) override {
    while (ready_.empty()) {
      if (!read_more()) return false;
    }
    record.input.index = count_++;
    record.input.text = ready_.front().passage.text;
    waiting_.push_back(std::move(ready_.front()));
    ready_.pop_front();
    return true;
  }
  bool ready() override { return true; }

  std::deque<Waiting>& waiting() { return waiting_; }

 private:
  // False at the end of all files.
  bool read_more() {
    if (reader_) return read_record();
    if (at_ == files_.size()) return false;
    const FileToIndex& file = files_[at_++];
    const auto stored = index_.find_source(file.name);
    const bool known = stored && stored->complete && stored->size == file.size;
    if (known && stored->modified == file.modified) {
      ++result_.unchanged;
      return true;
    }
    is_binary_ = false;
    try {
      open(file, known ? stored : std::nullopt);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      if (file.named || !is_binary_) settings_.warn(error.what());
      ++result_.skipped;
    }
    return true;
  }

  void open(const FileToIndex& file, const std::optional<IndexSource>& known) {
    if (file.records) {
      const std::string sha256 = sha256_of_file(file.path);
      if (is_same(known, sha256, file)) return;
      reader_ = std::make_unique<TextReader>(TextReader::from_files({file.path.string()}, settings_.reader));
      begin(file, sha256);
      return;
    }
    if (file.size > settings_.largest_file) {
      throw_input(utf8::printable(file.name) + ": expected at most " + std::to_string(settings_.largest_file) +
                  " bytes of text, got " + std::to_string(file.size));
    }
    errno = 0;
    std::ifstream in(file.path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (!in && !in.eof()) {
      throw_input(utf8::printable(file.name) + ": " + std::generic_category().message(errno == 0 ? EIO : errno));
    }
    is_binary_ = std::string_view(text).substr(0, kBinaryHead).find('\0') != std::string_view::npos;
    if (is_binary_) {
      throw_input(utf8::printable(file.name) + ": binary, left out");
    }
    const std::string sha256 = sha256_of(text);
    if (is_same(known, sha256, file)) return;
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    if (utf8::first_invalid(text) != utf8::kValid) {
      settings_.warn(utf8::printable(file.name) + ": invalid UTF-8 replaced by U+FFFD");
      text = utf8::replace_invalid(text);
    }
    begin(file, sha256);
    for (Passage& passage : cut_into_passages(text, settings_.rules, tokenizer_, scratch_)) push(std::move(passage));
    end();
  }

  bool is_same(const std::optional<IndexSource>& known, const std::string& sha256, const FileToIndex& file) {
    if (!known || known->sha256 != sha256) return false;
    index_.touch_source(known->id, file.modified);
    ++result_.unchanged;
    return true;
  }

  bool read_record() {
    Input& record = input_;
    if (!reader_->next(record)) {
      reader_.reset();
      end();
      return true;
    }
    if (!record.error.empty()) {
      settings_.warn(record.error + "; left out");
      return true;
    }
    for (Passage& passage : cut_record(record.text, settings_.record_tokens, tokenizer_, scratch_)) {
      passage.line = passage.last_line = record.line;
      passage.id = record.id_json;
      passage.extra = record.extra_json;
      push(std::move(passage));
    }
    return true;
  }

  void begin(const FileToIndex& file, const std::string& sha256) {
    IndexSource source;
    source.path = file.name;
    source.size = file.size;
    source.modified = file.modified;
    source.sha256 = sha256;
    source_ = index_.begin_source(source);
  }
  void push(Passage&& passage) { ready_.push_back({source_, std::move(passage), false}); }
  // The last passage ends its source; a source without passages is complete at once.
  void end() {
    ++result_.files;
    if (!ready_.empty() && ready_.back().source == source_) {
      ready_.back().last = true;
    } else if (!waiting_.empty() && waiting_.back().source == source_) {
      waiting_.back().last = true;
    } else {
      index_.complete_source(source_);
    }
  }

  Index& index_;
  const std::vector<FileToIndex>& files_;
  const IndexerSettings& settings_;
  const Tokenizer& tokenizer_;
  IndexerResult& result_;
  TokenizerScratch scratch_;
  std::unique_ptr<TextReader> reader_;
  Input input_;
  std::size_t at_ = 0;
  bool is_binary_ = false;  // the file that was opened last
  std::size_t count_ = 0;
  std::int64_t source_ = 0;
  std::deque<Waiting> ready_;
  std::deque<Waiting> waiting_;
};

// Stores vectors in the order of their passages.
class VectorSink : public RecordSink {
 public:
  VectorSink(Index& index, PassageSource& source, const IndexerSettings& settings, IndexerResult& result)
      : index_(index), source_(source), settings_(settings), result_(result) {}

  void render(Record&) const override {}
  bool accept(Record& record) override {
    const Waiting waiting = std::move(source_.waiting().front());
    source_.waiting().pop_front();
    if (record.bad()) {
      settings_.warn(index_path(waiting) + ": " + record.input.error + "; left out");
    } else {
      index_.add(waiting.source, waiting.passage, record.embedding);
      ++result_.passages;
    }
    if (waiting.last) index_.complete_source(waiting.source);
    if (++since_commit_ >= settings_.commit_every) {
      index_.commit();
      since_commit_ = 0;
    }
    if (settings_.progress) settings_.progress(result_.passages, result_.files);
    return true;
  }
  void flush() override {}

 private:
  static std::string index_path(const Waiting& waiting) { return "line " + std::to_string(waiting.passage.line); }

  Index& index_;
  PassageSource& source_;
  const IndexerSettings& settings_;
  IndexerResult& result_;
  std::size_t since_commit_ = 0;
};

}  // namespace

std::vector<FileToIndex> look_at(const std::vector<std::filesystem::path>& paths,
                                 const std::function<void(const std::string&)>& warn) {
  std::vector<FileToIndex> files;
  for (const std::filesystem::path& path : paths) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      warn(utf8::printable(path.string()) + ": " + std::generic_category().message(errno));
      continue;
    }
    const std::string ending = path.extension().string();
    FileToIndex file;
    file.path = path;
    file.name = path.lexically_normal().string();
    file.records = ending == ".jsonl" || ending == ".ndjson";
    file.size = static_cast<std::uint64_t>(status.st_size);
    file.modified = nanoseconds(status.st_mtim);
    files.push_back(std::move(file));
  }
  return files;
}

IndexerResult update_index(Index& index, const std::vector<FileToIndex>& files, bool remove_missing,
                           const IndexerSettings& settings, const Tokenizer& tokenizer,
                           const PipelineSettings& pipeline, const WorkerFactory& workers) {
  IndexerResult result;
  if (remove_missing) {
    std::set<std::string> there;
    for (const FileToIndex& file : files) there.insert(file.name);
    for (const IndexSource& source : index.sources()) {
      if (there.count(source.path) > 0) continue;
      index.remove_source(source.id);
      ++result.removed;
    }
  }
  PassageSource source(index, files, settings, tokenizer, result);
  VectorSink sink(index, source, settings, result);
  Pipeline(pipeline, workers).run(source, sink);
  index.commit();
  return result;
}

}  // namespace mha
