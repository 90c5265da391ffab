#include "search/file_walk.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "search/ignore_rules.hpp"

namespace mha {
namespace {

namespace fs = std::filesystem;

// The rules of one folder, and the folder as a prefix of paths below it.
struct FolderRules {
  std::string prefix;  // absolute, ends with `/`
  IgnoreRules rules;
};

IgnoreRules read_rules(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  return IgnoreRules(std::string(std::istreambuf_iterator<char>(in), {}));
}

class Walk {
 public:
  Walk(const WalkOptions& options, const std::function<void(const std::string&)>& skipped)
      : options_(options), skipped_(skipped) {}

  void start(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      throw_input(utf8::printable(path.string()) + ": expected a file or folder, got none");
    }
    if (!fs::is_directory(status)) {
      files_.push_back(path);
      return;
    }
    root_ = fs::absolute(path).lexically_normal();
    rules_.clear();
    if (options_.ignore_files) add_parents(root_);
    folder(path, root_);
  }

  std::vector<fs::path> take() { return std::move(files_); }

 private:
  static std::string with_slash(const fs::path& folder) {
    std::string text = folder.string();
    if (!text.ends_with('/')) text += '/';
    return text;
  }

  void add_rules(const fs::path& folder) {
    for (const char* const name : {".gitignore", ".ignore"}) {
      IgnoreRules rules = read_rules(folder / name);
      if (!rules.empty()) rules_.push_back({with_slash(folder), std::move(rules)});
    }
  }

  // Rules of the folders above, from the root of the repository down.
  void add_parents(const fs::path& folder) {
    std::vector<fs::path> above;
    std::error_code error;
    for (fs::path at = folder; !fs::exists(at / ".git", error);) {
      if (!at.has_parent_path() || at.parent_path() == at) return;  // no repository
      at = at.parent_path();
      above.push_back(at);
    }
    for (auto at = above.rbegin(); at != above.rend(); ++at) add_rules(*at);
  }

  bool ignored(const std::string& absolute, bool is_folder) const {
    for (auto at = rules_.rbegin(); at != rules_.rend(); ++at) {
      if (!absolute.starts_with(at->prefix)) continue;
      const auto verdict = at->rules.verdict(std::string_view(absolute).substr(at->prefix.size()), is_folder);
      if (verdict != IgnoreRules::Verdict::none) return verdict == IgnoreRules::Verdict::ignored;
    }
    return false;
  }

  bool chosen(const std::string& absolute) const {
    const std::string relative = absolute.substr(with_slash(root_).size());
    bool asked = false;
    bool matched = false;
    for (std::string_view glob : options_.globs) {
      const bool leaves_out = glob.starts_with('!');
      if (leaves_out) glob.remove_prefix(1);
      asked = asked || !leaves_out;
      const std::string whole =
          glob.find('/') == std::string_view::npos ? "**/" + std::string(glob) : std::string(glob);
      if (!glob_matches(whole, relative)) continue;
      if (leaves_out) return false;
      matched = true;
    }
    return matched || !asked;
  }

  void folder(const fs::path& shown, const fs::path& absolute) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator at(absolute, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) entries.push_back(*at);
    if (error) return skipped_(utf8::printable(shown.string()) + ": " + error.message());
    std::sort(entries.begin(), entries.end());
    const std::size_t outer = rules_.size();
    if (options_.ignore_files) add_rules(absolute);
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (name == ".git" || (!options_.hidden && name.starts_with('.'))) continue;
      const bool is_folder = entry.is_directory(error) && !entry.is_symlink(error);
      const std::string path = entry.path().string();
      if (options_.ignore_files && ignored(path, is_folder)) continue;
      if (is_folder) {
        folder(shown / name, entry.path());
      } else if (entry.is_regular_file(error) && chosen(path)) {
        files_.push_back(shown / name);
      }
    }
    rules_.resize(outer);
  }

  const WalkOptions& options_;
  const std::function<void(const std::string&)>& skipped_;
  fs::path root_;
  std::vector<FolderRules> rules_;
  std::vector<fs::path> files_;
};

}  // namespace

std::vector<fs::path> walk_files(const std::vector<std::string>& paths, const WalkOptions& options,
                                 const std::function<void(const std::string&)>& skipped) {
  Walk walk(options, skipped);
  for (const std::string& path : paths) walk.start(path);
  std::vector<fs::path> files = walk.take();
  // A file named twice is searched once.
  std::set<fs::path> seen;
  std::erase_if(files,
                [&](const fs::path& file) { return !seen.insert(fs::absolute(file).lexically_normal()).second; });
  return files;
}

}  // namespace mha
