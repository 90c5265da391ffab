#include "cli/passage_run.hpp"

#include <algorithm>
#include <utility>

#include "cli/log.hpp"
#include "cli/record_run.hpp"
#include "mha/core/error.hpp"
#include "ops/vector.hpp"
#include "search/file_walk.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kPassageTokens = 128;
// Vectors of the probe by one model in two types of arithmetic differ by less; those of two models by far more.
constexpr double kSameSpace = 0.99;

/// Texts of one run, and their vectors in the same order.
class TextVectors : public RecordSource, public RecordSink {
 public:
  explicit TextVectors(const std::vector<std::string>& texts) : texts_(texts) {}
  bool next(Record& record) override {
    if (next_ == texts_.size()) return false;
    record.input.index = next_;
    record.input.text = texts_[next_++];
    record.input.set_place("query " + std::to_string(next_));
    return true;
  }
  bool ready() override { return true; }
  void render(Record&) const override {}
  bool accept(Record& record) override {
    if (record.bad()) throw_input(record.input.error);
    vectors.push_back(std::move(record.embedding));
    return true;
  }
  void flush() override {}

  std::vector<std::vector<float>> vectors;

 private:
  const std::vector<std::string>& texts_;
  std::size_t next_ = 0;
};

}  // namespace

PassageRun::PassageRun(const Options& options, std::size_t dims, Log& log)
    : options_(options),
      log_(log),
      location_(choose_model(options)),
      header_(read_model_header(location_, load_options(options))) {
  const std::string& similarity = header_.sentence.similarity;
  if (similarity != "cosine" && similarity != "dot") {
    throw_usage("model " + location_.name + ": expected cosine or dot as its similarity, got " + similarity +
                "; such vectors cannot be searched");
  }
  PlanRequest request{.kind = RecordKind::embed, .parts = Parts{.embedding = true}};
  const Plan plan = make_plan(options, request, header_);
  model_ = load_model(header_, options, log);
  work_ = with_model(plan, options, *model_).work;
  work_.normalize = similarity == "cosine";
  work_.refuse_pairs = true;
  const std::size_t whole = model_->embedding_width(work_.sentence.pooling);
  work_.dims = dims < whole ? dims : 0;
  width_ = work_.dims > 0 ? dims : whole;
}

IndexHeader PassageRun::header(const std::vector<VectorForm>& forms) {
  IndexHeader header;
  header.width = width_;
  header.forms = forms;
  header.prompt = passage_prompt();
  header.similarity = header_.sentence.similarity;
  header.passage_tokens = options_.files.passage_tokens.value_or(kPassageTokens);
  header.by_line = options_.files.by_line;
  header.spaces = {space()};
  return header;
}

VectorSpace PassageRun::space() { return {name(), vectors({std::string(kProbeText)}, "")[0]}; }

void PassageRun::check(const Index& index) {
  const IndexHeader& header = index.header();
  std::string made_by;
  for (const VectorSpace& space : header.spaces) made_by += (made_by.empty() ? "" : ", ") + space.model;
  const std::string place = index.path().string();
  if (width_ != header.width) {
    throw_usage(place + ": expected vectors of " + std::to_string(header.width) + " numbers (" + made_by + "), got " +
                std::to_string(width_) + " of " + name() + "; use -m " + header.spaces[0].model);
  }
  const VectorSpace own = space();
  for (const VectorSpace& space : header.spaces) {
    if (cosine(own.probe, space.probe) >= kSameSpace) return;
  }
  throw_usage(place + ": expected the model that made the index, " + made_by + ", got " + name() + "; use -m " +
              header.spaces[0].model);
}

std::string PassageRun::passage_prompt() const {
  const PromptChoice& asked = options_.tokens.prompt;
  if (asked.text || asked.name || asked.role) return choose_prompt(header_.sentence, asked);
  return choose_prompt(header_.sentence, {.text = {}, .name = {}, .role = "document"});
}

std::string PassageRun::query_prompt() const {
  const PromptChoice& asked = options_.tokens.prompt;
  if (asked.text || asked.name || asked.role) return choose_prompt(header_.sentence, asked);
  return choose_prompt(header_.sentence, {.text = {}, .name = {}, .role = "query"});
}

PipelineSettings PassageRun::settings() const {
  PipelineSettings settings;
  settings.batch_tokens = batch_tokens(model_->encoder());
  settings.threads = thread_count(options_);
  return settings;
}

std::vector<std::vector<float>> PassageRun::vectors(const std::vector<std::string>& texts, const std::string& prompt) {
  ModelWork work = work_;
  work.prompt = prompt;
  TextVectors run(texts);
  Pipeline(settings(), model_workers(work)).run(run, run);
  return std::move(run.vectors);
}

// Tokens of the text that fit into a passage of the model's greatest length; 0: no limit.
std::size_t PassageRun::room(const std::string& prompt) const {
  if (!work_.encode.max_length) return 0;
  TokenizerScratch scratch;
  EncodeOptions bare;
  bare.add_special_tokens = false;
  Encoding encoding;
  work_.tokenizer->encode(prompt, std::nullopt, bare, scratch, encoding);
  const std::size_t around =
      encoding.size() + (work_.encode.add_special_tokens ? work_.tokenizer->special_count(false) : 0);
  if (*work_.encode.max_length <= around) {
    throw_usage("--max-length: expected more than the " + std::to_string(around) +
                " special tokens and tokens of the prompt, got " + std::to_string(*work_.encode.max_length));
  }
  return *work_.encode.max_length - around;
}

IndexerResult PassageRun::update(Index& index, const std::vector<std::string>& paths, bool remove_missing) {
  const auto warn = [this](const std::string& message) { log_.warning(message); };
  WalkOptions walk;
  walk.globs = options_.files.globs;
  walk.hidden = options_.files.hidden;
  walk.ignore_files = !options_.files.no_ignore;
  std::vector<FileToIndex> files = look_at(walk_files(paths, walk, warn), warn);
  for (FileToIndex& file : files) file.named = std::find(paths.begin(), paths.end(), file.path) != paths.end();

  const IndexHeader& header = index.header();
  const std::size_t most = room(header.prompt);
  const std::size_t special = work_.encode.max_length ? *work_.encode.max_length - most : 0;
  if (header.passage_tokens <= special) {
    throw_usage("--chunk: expected more than the " + std::to_string(special) +
                " special tokens and tokens of the prompt, got " + std::to_string(header.passage_tokens));
  }
  const std::size_t asked = header.passage_tokens - special;
  IndexerSettings settings;
  settings.rules = {.tokens = most > 0 ? std::min(most, asked) : asked, .by_line = header.by_line};
  settings.record_tokens = most > 0 ? most : asked;
  settings.reader.pass_through = true;
  settings.reader.reserved_keys = {"query", "rank", "path",        "line",      "last_line", "id",
                                   "score", "text", "vector_rank", "word_rank", "before",    "after"};
  settings.warn = warn;
  if (log_.shows_progress()) {
    settings.progress = [this, &files](std::size_t passages, std::size_t done) {
      if (passages % 64 != 0) return;
      log_.progress(std::to_string(passages) + " passages, " + std::to_string(done) + " of " +
                    std::to_string(files.size()) + " files");
    };
  }
  ModelWork work = work_;
  work.prompt = header.prompt;
  const IndexerResult result =
      update_index(index, files, remove_missing, settings, *work.tokenizer, this->settings(), model_workers(work));
  log_.progress("");
  return result;
}

}  // namespace mha::cli
