#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mha {

/// Whether a shell glob matches a whole path. `*` and `?` stay within one path segment, `**` spans any number of
/// segments, `[a-z]` is one character. Segments are divided by `/`.
bool glob_matches(std::string_view glob, std::string_view path);

/// The rules of one .gitignore or .ignore file (man gitignore). Paths are relative to the file's folder, without a
/// leading `/`.
class IgnoreRules {
 public:
  enum class Verdict { none, ignored, kept };

  IgnoreRules() = default;
  explicit IgnoreRules(std::string_view file);

  /// The last rule that matches decides; `none` if no rule does.
  Verdict verdict(std::string_view path, bool is_folder) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::string glob;  ///< of the whole path
    bool keeps = false;
    bool folders_only = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace mha
