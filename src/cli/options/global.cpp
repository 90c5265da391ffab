#include "cli/options/global.hpp"

#include "cli/options.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kMostThreads = 4096;

template <class Target>
std::vector<std::pair<std::string, Target>> when_words() {
  return {{"auto", Target::automatic}, {"always", Target::always}, {"never", Target::never}};
}

// Words that stand for themselves.
std::vector<std::pair<std::string, std::string>> names(std::initializer_list<const char*> words) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const char* const word : words) choices.emplace_back(word, word);
  return choices;
}

void declare(OptionList& list, Options& options) {
  GlobalOptions& global = options.global;
  list.group("Global");
  list.named("-m,--model", "MODEL", "folder, file or name of a model", ValueKind::model, global.model)
      .by_default("$MHA_MODEL, else the built-in one")
      .explain(
          "A folder with a model, a .json file, or a name. Names are looked up among the built-in models, in the "
          "folders of $MHA_MODEL_PATH, beside the installed program and in the Hugging Face cache; \"model list\" "
          "prints them.");
  list.count("-t,--threads", "N", "threads to work with", global.threads, 1, kMostThreads)
      .by_default("the CPUs this process may use");
  list.choice("--backend", "NAME", "library that computes", global.backend,
              names({"auto", "native", "onednn", "openblas", "reference"}));
  list.choice("--dtype", "TYPE", "arithmetic; auto has the accuracy of f32", global.dtype,
              names({"auto", "f32", "bf16", "int8", "bf16x3"}));
  list.flag("-q,--quiet", "no warnings, no progress", global.quiet);
  list.flag("-v,--verbose", "say more about what happens (repeatable)", [&global] { ++global.verbose; });
  list.choice("--log-format", "FORMAT", "messages on stderr as text or as one JSON object per line", global.log_format,
              {{"text", LogFormat::text}, {"json", LogFormat::json}});
  list.choice("--color", "WHEN", "colours; auto: on a terminal, unless NO_COLOR is set", global.color,
              when_words<When>());
  list.choice("--progress", "WHEN", "progress on stderr; auto: if that is a terminal", global.progress,
              when_words<When>());
}

}  // namespace

const OptionGroup kGlobal{declare};

}  // namespace mha::cli
