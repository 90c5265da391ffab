#include "cli/source.hpp"

#include <algorithm>
#include <utility>

#include "cli/command.hpp"
#include "cli/log.hpp"

namespace mha::cli {
namespace {

// The result's own keys: an input cannot bring its own.
const std::vector<std::string> kResultKeys = {"index",         "id",         "text",           "text_pair",
                                              "tokens",        "input_ids",  "token_type_ids", "special_tokens_mask",
                                              "offsets",       "truncated",  "embedding",      "last_hidden_state",
                                              "hidden_states", "attentions", "layers",         "heads",
                                              "similarity",    "error",      "window",         "find",
                                              "edges",         "stats",      "rollout"};
// The same of commands on task heads: names that an input of other commands may well bring.
const std::vector<std::string> kTaskKeys = {"fills",  "label",   "score", "scores", "entities",
                                            "answer", "answers", "start", "end"};

TextReader open_reader(const Options& options) {
  const InputOptions& input = options.input;
  TextReaderOptions reader;
  reader.format = input.format;
  reader.text_key = input.text_key;
  reader.pair_key = input.pair_key;
  reader.id_key = input.id_key;
  reader.pass_through = input.pass_through;
  reader.reserved_keys = kResultKeys;
  if (options.windows.asked()) reader.reserved_keys.insert(reader.reserved_keys.end(), {"begin", "end"});
  if (options.command->is_task)
    reader.reserved_keys.insert(reader.reserved_keys.end(), kTaskKeys.begin(), kTaskKeys.end());
  reader.replace_invalid = input.on_error == OnError::replace;
  if (!input.texts.empty()) return TextReader::from_arguments(input.texts, input.pair, reader);
  if (!input.files.empty()) return TextReader::from_files(input.files, reader);
  return TextReader::from_files({"-"}, reader);
}

}  // namespace

InputSource::InputSource(const Options& options, Log& log)
    : options_(options.input), log_(log), reader_(open_reader(options)) {}

bool InputSource::read() {
  do {
    if (!reader_.next(input_)) {
      end_ = true;
      return false;
    }
  } while (!wanted(input_.index));
  return true;
}

bool InputSource::ready() {
  while (!waiting_ && !end_ && reader_.ready()) {
    if (!reader_.next(input_)) {
      end_ = true;
    } else {
      waiting_ = wanted(input_.index);
    }
  }
  return waiting_ || end_;
}

bool InputSource::next(Record& record) {
  if (!std::exchange(waiting_, false) && (end_ || !read())) return false;
  std::swap(record.input, input_);
  const Input& input = record.input;
  if (input.replaced) log_.warning(input.place_at(*input.replaced) + ": invalid UTF-8 replaced by U+FFFD");
  return true;
}

bool reads_json_lines(const InputOptions& input) {
  if (!input.texts.empty()) return false;
  if (input.format != InputFormat::automatic) {
    return input.format == InputFormat::jsonl || input.format == InputFormat::json;
  }
  return std::any_of(input.files.begin(), input.files.end(),
                     [](const std::string& file) { return file.ends_with(".jsonl") || file.ends_with(".ndjson"); });
}

}  // namespace mha::cli
