#include "search/ignore_rules.hpp"

#include <fnmatch.h>

#include <cstddef>

namespace mha {
namespace {

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (true) {
    const std::size_t slash = path.find('/');
    segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view path) {
  const std::vector<std::string> patterns = segments_of(glob);
  const std::vector<std::string> segments = segments_of(path);
  // reached[s]: the patterns so far match the first s segments.
  std::vector<bool> reached(segments.size() + 1, false);
  reached[0] = true;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    std::vector<bool> next(segments.size() + 1, false);
    const bool last = p + 1 == patterns.size();
    if (patterns[p] == "**") {
      bool open = false;
      for (std::size_t s = 0; s <= segments.size(); ++s) {
        // `a/**` matches everything inside of a, but not a itself.
        next[s] = last && !reached[s] ? open : open || (reached[s] && !last);
        open = open || reached[s];
      }
    } else {
      for (std::size_t s = 0; s < segments.size(); ++s) {
        if (reached[s]) next[s + 1] = next[s + 1] || fnmatch(patterns[p].c_str(), segments[s].c_str(), 0) == 0;
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

IgnoreRules::IgnoreRules(std::string_view file) {
  while (!file.empty()) {
    const std::size_t end = file.find('\n');
    std::string_view line = file.substr(0, end);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Rule rule;
    if (line.front() == '!') {
      rule.keeps = true;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      rule.folders_only = true;
      line.remove_suffix(1);
    }
    if (line.empty()) continue;
    // Without a slash in it a rule holds at any depth.
    const bool anchored = line.find('/') != std::string_view::npos;
    if (line.front() == '/') line.remove_prefix(1);
    rule.glob = anchored ? std::string(line) : "**/" + std::string(line);
    rules_.push_back(std::move(rule));
  }
}

IgnoreRules::Verdict IgnoreRules::verdict(std::string_view path, bool is_folder) const {
  for (std::size_t i = rules_.size(); i-- > 0;) {
    const Rule& rule = rules_[i];
    if (rule.folders_only && !is_folder) continue;
    if (glob_matches(rule.glob, path)) return rule.keeps ? Verdict::kept : Verdict::ignored;
  }
  return Verdict::none;
}

}  // namespace mha
