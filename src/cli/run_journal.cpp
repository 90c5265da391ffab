#include "cli/run_journal.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/utf8.hpp"
#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kBetweenPoints{500};

/// What an earlier run left.
struct Earlier {
  std::map<std::string, std::string> facts;
  std::vector<RunPoint> points;
};

Json parse_line(std::string_view line) { return Json::parse(line, nullptr, false); }

RunPoint point_of(const Json& line) {
  RunPoint point;
  point.inputs = line.value("inputs", std::size_t{0});
  point.records = line.value("records", std::size_t{0});
  point.bytes = line.value("bytes", std::uint64_t{0});
  point.output_hash = line.value("output", "");
  point.input_hash = line.value("input", "");
  return point;
}

std::string line_of(const RunPoint& point) {
  const Json line = {{"inputs", point.inputs},
                     {"records", point.records},
                     {"bytes", point.bytes},
                     {"output", point.output_hash},
                     {"input", point.input_hash}};
  return line.dump() + '\n';
}

std::string line_of(const RunFacts& facts) {
  Json members = Json::object();
  for (const auto& [name, value] : facts) members[name] = value;
  return Json{{"run", members}}.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

[[noreturn]] void refuse_journal(const std::filesystem::path& path) {
  throw_usage(path_text(path) + ": expected the facts of an earlier run, got something else; remove it and the " +
              "unfinished output to begin anew");
}

Earlier read_journal(const std::filesystem::path& path) {
  const std::string text = read_file(path, ErrorKind::output);
  Earlier earlier;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json line = parse_line(std::string_view(text).substr(begin, end - begin));
    try {
      if (begin > 0) {
        earlier.points.push_back(point_of(line));
        continue;
      }
      for (const auto& [name, value] : line.at("run").items()) earlier.facts[name] = value.get<std::string>();
    } catch (const Json::exception&) {
      refuse_journal(path);
    }
  }
  if (earlier.facts.empty()) refuse_journal(path);
  return earlier;
}

void check_facts(const std::filesystem::path& output, const std::map<std::string, std::string>& had,
                 const RunFacts& facts) {
  constexpr std::size_t kLongest = 60;
  std::string differences;
  const auto differ = [&](const std::string& name, const std::string& before, const std::string& now) {
    differences += (differences.empty() ? "" : "; ") + name + ": then " + utf8::printable(before, kLongest) + ", now " +
                   utf8::printable(now, kLongest);
  };
  std::map<std::string, std::string> missing = had;
  for (const auto& [name, value] : facts) {
    const auto at = had.find(name);
    if (at == had.end()) {
      differ(name, "not given", value.empty() ? "given" : value);
    } else if (at->second != value) {
      differ(name, at->second, value);
    }
    missing.erase(name);
  }
  for (const auto& [name, value] : missing) differ(name, value.empty() ? "given" : value, "not given");
  if (differences.empty()) return;
  throw_usage(path_text(output) + ": expected the output of the same run, got that of another one (" + differences +
              "); repeat that run, or remove the file to begin anew");
}

}  // namespace

RunJournal::RunJournal(std::filesystem::path path, RunFacts facts, const std::filesystem::path& output)
    : path_(std::move(path)), facts_(std::move(facts)) {
  std::error_code error;
  const bool any_output = std::filesystem::exists(output, error) && std::filesystem::file_size(output, error) > 0;
  if (!std::filesystem::exists(path_, error)) {
    if (!any_output) return;
    throw_usage(path_text(output) + ": expected " + path_text(path_) +
                " beside it, which says what run it is of, got none; remove it to begin anew");
  }
  const Earlier earlier = read_journal(path_);
  check_facts(output, earlier.facts, facts_);
  if (!any_output) return;
  const MappedFile file(output, ErrorKind::output);
  std::uint64_t hashed = 0;
  for (const RunPoint& point : earlier.points) {
    if (point.bytes < hashed || point.bytes > file.size()) break;
    output_.update(file.text().substr(hashed, point.bytes - hashed));
    if (output_.hex() != point.output_hash) {
      throw_usage(path_text(output) + ": expected what the earlier run wrote, got other bytes between " +
                  std::to_string(hashed) + " and " + std::to_string(point.bytes) + "; remove it to begin anew");
    }
    hashed = point.bytes;
    start_ = point;
  }
}

void RunJournal::check_finished(const std::filesystem::path& path, const RunFacts& facts,
                                const std::filesystem::path& output) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw_usage(path_text(output) + ": is there already, without " + path_text(path) +
                ", which says what run it is of; remove it to begin anew");
  }
  const Earlier earlier = read_journal(path);
  check_facts(output, earlier.facts, facts);
  const MappedFile file(output, ErrorKind::output);
  RunningHash hash;
  hash.update(file.text());
  if (earlier.points.empty() || earlier.points.back().output_hash != hash.hex()) {
    throw_usage(path_text(output) + ": expected what the earlier run wrote, got other bytes; remove it to begin anew");
  }
}

void RunJournal::open() {
  // Written beside it first: a run that is killed here leaves the old file or the new one.
  std::filesystem::path fresh = path_;
  fresh += ".new";
  {
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << line_of(facts_);
    if (start_.bytes > 0) file << line_of(start_);
    file.flush();
    if (!file) throw_output(path_text(fresh) + ": cannot be written");
  }
  std::error_code error;
  std::filesystem::rename(fresh, path_, error);
  if (error) throw_output(path_text(path_) + ": cannot be written: " + error.message());
  file_.open(path_, std::ios::binary | std::ios::app);
}

void RunJournal::check_skipped(std::size_t inputs) const {
  if (inputs < start_.inputs) {
    throw_usage("--resume: expected the inputs of the earlier run, at least " + std::to_string(start_.inputs) +
                ", got " + std::to_string(inputs));
  }
  if (start_.inputs > 0 && input_.hex() != start_.input_hash) {
    throw_usage("--resume: expected the inputs of the earlier run, got others among the first " +
                std::to_string(start_.inputs));
  }
}

void RunJournal::add_input(const Record& record) {
  const auto part = [this](std::string_view text) {
    const std::uint64_t size = text.size();
    input_.update({reinterpret_cast<const char*>(&size), sizeof size});
    input_.update(text);
  };
  part(record.input.id_json);
  part(record.input.text);
  part(record.input.text_pair.value_or(""));
  part(record.input.extra_json);
}

void RunJournal::note(std::size_t inputs, std::size_t records, std::uint64_t bytes, bool now) {
  const auto time = std::chrono::steady_clock::now();
  if (!now && time - noted_ < kBetweenPoints) return;
  noted_ = time;
  file_ << line_of(RunPoint{inputs, records, bytes, output_.hex(), input_.hex()}) << std::flush;
  if (!file_) throw_output(path_text(path_) + ": cannot be written");
}

void RunJournal::finish() {
  file_.close();
  constexpr std::string_view kUnfinished = ".partial.run";
  std::string path = path_.string();
  path.replace(path.size() - kUnfinished.size(), kUnfinished.size(), ".run");
  std::error_code error;
  std::filesystem::rename(path_, path, error);
  if (error) throw_output(path_text(path) + ": cannot be written: " + error.message());
}

}  // namespace mha::cli
