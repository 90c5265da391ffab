#include "cli/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/log.hpp"
#include "cli/models.hpp"
#include "io/digest.hpp"
#include "mha/core/error.hpp"
#include "ops/cpu.hpp"

namespace mha::cli {
namespace {

constexpr const char* kSideFile = ".run";

// Options that change no byte of the output. The model is told by its files, the inputs by what they say.
bool changes_nothing(std::string_view name) {
  constexpr std::string_view kNames[] = {"--model",    "--threads", "--quiet",  "--verbose", "--log-format", "--color",
                                         "--progress", "--input",   "--output", "--resume",  "--latency"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string model_digest(const Model& model) {
  const ModelLocation& location = model.location();
  if (location.kind == ModelLocation::Kind::builtin) return "built-in " + location.name;
  Sha256 sum;
  for (const ModelFile& file : model.files()) {
    const std::filesystem::path place = location.kind == ModelLocation::Kind::folder
                                            ? std::filesystem::path(location.path) / file.path
                                            : std::filesystem::path(location.path);
    sum.update(file.path + ' ' + sha256_of_file(place) + '\n');
  }
  return sum.hex();
}

RunFacts run_facts(const Options& options, const Model& model) {
  RunFacts facts{{"program", program_version()},
                 {"command", std::string(options.command->name)},
                 {"model", model_digest(model)},
                 {"cpu", cpu_features().text}};
  Options unused;
  unused.command = options.command;
  const OptionList list = all_options(unused);
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : options.given) {
    if (changes_nothing(name)) continue;
    std::string text = value;
    // What a file says counts, whatever its name.
    if (list.find(name)->kind == ValueKind::file) text = sha256_of_file(value);
    std::string& all = given[name];
    all += (all.empty() ? "" : "\n") + text;
  }
  facts.insert(facts.end(), given.begin(), given.end());
  return facts;
}

// The file that `--output` ends in, through links: unfinished and side files are beside it.
std::filesystem::path target_of(const OutputOptions& options) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(options.file, error);
  return error ? std::filesystem::path(options.file) : target;
}

std::filesystem::path with_ending(std::filesystem::path path, const char* ending) { return path += ending; }

}  // namespace

bool is_finished(const Options& options, Log& log) {
  if (!options.output.resume) return false;
  const std::filesystem::path file = target_of(options.output);
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  if (std::filesystem::exists(with_ending(file, ".partial"), error)) return false;
  const auto model = load_model(read_model_header(choose_model(options), load_options(options)), options, log);
  RunJournal::check_finished(with_ending(file, kSideFile), run_facts(options, *model), file);
  log.warning(options.output.file + ": is there already, of the same run; nothing to resume");
  return true;
}

std::unique_ptr<RunJournal> resume_run(const Options& options, const Model& model, InputSource& source,
                                       OutputStream& out) {
  if (!options.output.resume) return nullptr;
  auto journal =
      std::make_unique<RunJournal>(with_ending(out.partial(), kSideFile), run_facts(options, model), out.partial());
  std::size_t inputs = 0;
  for (Record record; inputs < journal->start().inputs && source.next(record); ++inputs) {
    journal->add_input(record);
    record.clear();
  }
  journal->check_skipped(inputs);
  out.keep_first(journal->start().bytes);
  journal->open();
  out.observe([&journal = *journal](std::string_view bytes) { journal.add_output(bytes); });
  return journal;
}

}  // namespace mha::cli
