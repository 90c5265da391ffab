#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/record_run.hpp"
#include "cli/source.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

struct TokenizeOptions {
  bool decode = false;
  bool count = false;
  std::optional<std::size_t> stride;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<TokenizeOptions>();
  list.group("Tokenize");
  list.flag("--decode", "inputs are ids, separated by blanks or commas; print their text", own.decode);
  list.flag("--count", "print only how many tokens each input has", own.count);
  list.count("--stride", "N", "cut long inputs into windows that share N tokens; one record per window", own.stride, 0);
}

void check(const Options& options) {
  const auto& own = options.own<TokenizeOptions>();
  if (own.decode && options.input.pair) {
    throw_usage("--pair: expected a text to tokenize, got --decode, which reads ids");
  }
  if (own.count && (own.decode || own.stride)) {
    throw_usage("--count: expected neither --decode nor --stride beside it");
  }
  const Format format = options.format();
  if (own.count && format != Format::table && format != Format::json && format != Format::jsonl) {
    throw_usage("--count: expected the format table, json or jsonl");
  }
}

std::vector<std::int32_t> parse_ids(std::string_view text) {
  constexpr std::string_view kBetween = " \t,\r";
  std::vector<std::int32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw_input("ids: expected whole numbers, got \"" + std::string(word) + '"');
    }
    ids.push_back(id);
    text.remove_prefix(word.size());
  }
}

/// Turns lines of ids back into text.
class DecodeWorker : public RecordWorker {
 public:
  explicit DecodeWorker(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void prepare(Record& record) override { record.input.text = tokenizer_.decode(parse_ids(record.input.text), true); }
  std::size_t floats(const Record&) const override { return 0; }
  void encode(std::span<Record* const>) override {}

 private:
  const Tokenizer& tokenizer_;
};

/// With `--count` prints how many tokens there are, as a number a line or as a record, and with `--stride` each window
/// of an input as a record.
class TokenizeSink : public OutputSink {
 public:
  TokenizeSink(const Options& options, std::unique_ptr<RecordFormatter> formatter, OutputStream& out, Log& log)
      : OutputSink(options, std::move(formatter), out, log),
        count_records_(options.format() == Format::json || options.format() == Format::jsonl) {}

  void render(Record& record) const override {
    if (options_.own<TokenizeOptions>().count && !record.bad()) {
      record.token_count = record.encoding.full_length;
      record.truncated = false;  // all were counted
      if (!count_records_) {
        record.rendered = std::to_string(*record.token_count) + '\n';
        return;
      }
    }
    OutputSink::render(record);
  }

  bool accept(Record& record) override {
    if (record.bad() || !options_.own<TokenizeOptions>().stride) return OutputSink::accept(record);
    std::vector<Encoding> windows = std::move(record.encoding.overflowing);
    record.encoding.overflowing.clear();
    windows.insert(windows.begin(), std::move(record.encoding));
    for (std::size_t i = 0; i < windows.size(); ++i) {
      record.encoding = std::move(windows[i]);
      record.encoding.full_length = record.encoding.size();
      record.token_window = i;
      render(record);
      if (!OutputSink::accept(record)) return false;
    }
    return true;
  }

 private:
  bool count_records_;
};

int run(const Options& options, Log& log) {
  const auto& own = options.own<TokenizeOptions>();
  const ModelLocation location = choose_model(options);
  const TokenizerOnly loaded = load_tokenizer(location, load_options(options));
  for (const std::string& note : loaded.notes) log.warning(note);
  const RecordKind kind = own.decode ? RecordKind::decode : RecordKind::tokenize;
  const Plan plan = make_plan(options, {.kind = kind, .parts = {}, .stride = own.stride}, loaded.sentence);
  auto [schema, work] = with_tokenizer(plan, options, *loaded.tokenizer, loaded.max_length);
  if (own.count) schema.parts = {};
  const auto out = open_output(options);
  InputSource source(options, log);
  TokenizeSink sink(options, info(plan.format).make(schema, location.name), *out, log);
  if (!own.decode) return run_records(options, work, source, sink);
  PipelineSettings settings;
  settings.stop_at_bad = options.input.stops_at_bad();
  Pipeline(settings, [&](Executor*) { return std::make_unique<DecodeWorker>(*loaded.tokenizer); }).run(source, sink);
  return sink.finish();
}

}  // namespace

const Command kTokenize{
    .name = "tokenize",
    .summary = "tokens, ids, offsets and masks",
    .arguments = "TEXT…",
    .about = "Prints how a text is cut into tokens. Needs only a tokenizer: a folder without weights is enough.",
    .examples = {"mha-cli tokenize \"I led a team that built a scalable API.\"",
                 "mha-cli tokenize --format ids -i lines.txt", "mha-cli tokenize --decode \"101 2016 2003 102\""},
    .declare = declare,
    .options = {&kInput, &kTokens, &kParts, &kOutput},
    .check = check,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv, Format::ids},
    .run = run,
};

}  // namespace mha::cli
