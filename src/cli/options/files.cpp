#include "cli/options/files.hpp"

#include "cli/options.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  FileOptions& files = options.files;
  list.group("Files");
  list.text("-g,--glob", "GLOB", "only files that match, with ! in front: no files that match",
            [&files](const std::string& glob) { files.globs.push_back(glob); })
      .repeats();
  list.flag("--hidden", "also files and folders whose name begins with a dot", files.hidden);
  list.flag("--no-ignore", "also files that .gitignore and .ignore name", files.no_ignore);
  list.count("--chunk", "TOKENS", "most tokens of a passage, special tokens and prompt included", files.passage_tokens,
             3)
      .by_default("128, or what the model reads if that is less; of a record what the model reads");
  list.flag("--by-line", "one passage per line; else consecutive lines are joined while they fit", files.by_line);
}

}  // namespace

const OptionGroup kFiles{declare};

}  // namespace mha::cli
