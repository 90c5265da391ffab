#include "cli/options/output.hpp"

#include <unistd.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kMostDigits = 40;

constexpr std::pair<const char*, bool Parts::*> kPartNames[] = {
    {"text", &Parts::text},
    {"tokens", &Parts::tokens},
    {"embedding", &Parts::embedding},
    {"last_hidden_state", &Parts::last_hidden_state},
    {"hidden_states", &Parts::hidden_states},
    {"attentions", &Parts::attentions},
};

void declare(OptionList& list, Options& options) {
  OutputOptions& output = options.output;
  list.group("Output");
  declare_format(list, options, "format of the results");
  list.named("-o,--output", "FILE", "write FILE when all is done, - is stdout", ValueKind::output, output.file)
      .explain("The file is written beside FILE and renamed when it is complete. Without --format its ending decides.");
  list.count("--digits", "N", "round numbers to N places", output.digits, 0, kMostDigits)
      .by_default("shortest text of the same float32");
}

void check(const Options& options) {
  const FormatInfo& format = info(options.format());
  if (options.input.on_error == OnError::record && !format.has_errors && options.output.format) {
    throw_usage("--on-error record: expected a format with room for messages (json, jsonl, csv, tsv, table), got " +
                std::string(format.name));
  }
  const bool is_file = format.binary || (format.drawn && format.one_input);
  if (is_file && options.output.file.empty() && isatty(STDOUT_FILENO) != 0) {
    throw_usage("--format " + std::string(format.name) +
                ": expected a file or a pipe, got a terminal; write it with --output FILE, or insist with --output -");
  }
}

void declare_offsets(OptionList& list, Options& options) {
  list.group("Output");
  list.choice("--offsets", "UNIT", "what positions count", options.output.offsets,
              {{"code-points", OffsetUnit::code_points}, {"bytes", OffsetUnit::bytes}});
}

void declare_parts(OptionList& list, Options& options) {
  std::vector<std::string> names;
  for (const auto& [name, part] : kPartNames) names.emplace_back(name);
  names.emplace_back("all");
  list.group("Output");
  list.list("--with", "LIST", "parts of a record", std::move(names),
            [&options](const std::string& text) { options.output.parts = parse_parts(text); });
  declare_offsets(list, options);
}

void declare_resume(OptionList& list, Options& options) {
  list.group("Output");
  list.flag("--resume", "go on where an earlier run of the same command stopped; needs --output FILE",
            options.output.resume)
      .explain(
          "What is unfinished is kept as FILE.partial, and FILE.partial.run says what run it is of: program, model, "
          "options, CPU, and the inputs that are done. Another run is refused. FILE.run stays beside the finished "
          "file. "
          "Formats: json, jsonl, csv, tsv, raw, and npy of embed.");
}

void check_resume(const Options& options) {
  if (!options.output.resume) return;
  if (options.output.to_stdout()) throw_usage("--resume: expected --output FILE with it, got none");
  const FormatInfo& format = info(options.format());
  // An array of one input is written at once.
  const bool one_input = format.one_input && options.command->name != "embed";
  if (!format.resumes || one_input) {
    throw_usage("--resume: expected a format that can be continued (json, jsonl, csv, tsv, raw, npy of embed), got " +
                std::string(format.name));
  }
}

}  // namespace

std::string ending_notice(const Options& options) {
  const OutputOptions& output = options.output;
  if (output.to_stdout() || options.command->formats.empty()) return {};
  const auto by_ending = format_by_ending(output.file);
  const FormatInfo& format = info(options.format());
  if (!by_ending || *by_ending == format.format) return {};
  return "--output " + output.file + ": holds " + std::string(format.name) + ", not what its ending says" +
         (output.format
              ? ""
              : "; " + std::string(options.command->name) + " cannot write " + std::string(info(*by_ending).name));
}

const OptionGroup kOutput{declare, check};
const OptionGroup kParts{declare_parts};
const OptionGroup kOffsets{declare_offsets};
const OptionGroup kResume{declare_resume, check_resume};

void declare_format(OptionList& list, Options& options, std::string_view help) {
  std::vector<std::pair<std::string, std::optional<Format>>> choices;
  for (const Format format : options.command->formats) choices.emplace_back(info(format).name, format);
  const std::string standard = choices.front().first;
  list.choice("--format", "FORMAT", std::string(help), options.output.format, std::move(choices)).by_default(standard);
}

Parts parse_parts(std::string_view text) {
  std::vector<std::pair<std::string, bool Parts::*>> choices;
  for (const auto& [name, part] : kPartNames) choices.emplace_back(name, part);
  choices.emplace_back("all", nullptr);
  Parts parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    bool Parts::*const part = choose<bool Parts::*>("--with", text.substr(begin, end - begin), choices);
    if (part == nullptr) {
      parts = {true, true, true, true, true, true};
    } else {
      parts.*part = true;
    }
    begin = end + 1;
  }
  return parts;
}

}  // namespace mha::cli
