#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/formats.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "cli/record_run.hpp"
#include "cli/source.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

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
  void prepare(Record& record) override { record.text = tokenizer_.decode(parse_ids(record.text), true); }
  std::size_t floats(const Record&) const override { return 0; }
  void encode(std::span<Record* const>) override {}

 private:
  const Tokenizer& tokenizer_;
};

/// With `--count` prints how many tokens there are, as a number a line or as a record, and with `--stride` each window
/// of an input as a record.
class TokenizeSink : public OutputSink {
 public:
  TokenizeSink(const Options& options, const Plan& plan, const std::string& model, OutputStream& out, Log& log)
      : OutputSink(options, make_formatter(plan.format, plan.schema, model), out, log),
        count_records_(plan.format == Format::json || plan.format == Format::jsonl) {}

  void render(Record& record) const override {
    if (options_.tokenize.count && !record.bad()) {
      const std::string count = std::to_string(record.encoding.full_length);
      record.encoding.full_length = record.encoding.size();  // all were counted: nothing to warn of
      if (!count_records_) {
        record.rendered = count + '\n';
        return;
      }
      record.analysis = "\"count\":" + count;
    }
    OutputSink::render(record);
  }

  bool accept(Record& record) override {
    if (record.bad() || !options_.tokenize.stride) return OutputSink::accept(record);
    std::vector<Encoding> windows = std::move(record.encoding.overflowing);
    record.encoding.overflowing.clear();
    windows.insert(windows.begin(), std::move(record.encoding));
    for (std::size_t i = 0; i < windows.size(); ++i) {
      record.encoding = std::move(windows[i]);
      record.encoding.full_length = record.encoding.size();
      record.analysis = "\"window\":" + std::to_string(i);
      render(record);
      if (!OutputSink::accept(record)) return false;
    }
    return true;
  }

 private:
  bool count_records_;
};

int run(const Options& options, Log& log) {
  if (options.tokenize.decode && options.input.pair)
    throw_usage("--pair: expected a text to tokenize, got --decode, which reads ids");
  if (options.tokenize.count && (options.tokenize.decode || options.tokenize.stride)) {
    throw_usage("--count: expected neither --decode nor --stride beside it");
  }
  const ModelLocation location = choose_model(options);
  const TokenizerOnly loaded = load_tokenizer(location, load_options(options));
  for (const std::string& note : loaded.notes) log.warning(note);
  Plan plan = plan_tokenizing(options, loaded.sentence);
  use_tokenizer(plan, options, *loaded.tokenizer, loaded.max_length);
  if (options.tokenize.count) {
    if (plan.format != Format::table && plan.format != Format::json && plan.format != Format::jsonl) {
      throw_usage("--count: expected the format table, json or jsonl");
    }
    plan.schema.parts = {};
  }
  const auto out = open_output(options);
  InputSource source(options, log);
  TokenizeSink sink(options, plan, location.name, *out, log);
  if (!options.tokenize.decode) return run_records(options, plan.work, source, sink);
  PipelineSettings settings;
  settings.stop_at_bad = stops_at_bad(options);
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
    .groups = kInputs | kTokenizing | kDecoding | kParts | kOutput,
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv, Format::ids},
    .run = run,
};

}  // namespace mha::cli
