#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace mha {

struct WalkOptions {
  std::vector<std::string> globs;  ///< `*.md`, `src/**`; with `!` in front: left out. Empty: every file
  bool hidden = false;             ///< files and folders whose name begins with a dot, too
  bool ignore_files = true;        ///< .gitignore and .ignore files count, up to the root of the repository
};

/// Files below the paths, as people want them searched: sorted by name within each folder, without what ignore files
/// name, without hidden ones. A path that is a file is taken whatever the rules say. Symbolic links to folders are not
/// followed. `skipped` gets a message for each folder that cannot be read.
/// Errors: input for a path that is not there.
std::vector<std::filesystem::path> walk_files(const std::vector<std::string>& paths, const WalkOptions& options,
                                              const std::function<void(const std::string&)>& skipped);

}  // namespace mha
