#include <filesystem>
#include <string>

#include "cli/commands/all.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw_output(file.parent_path().string() + ": " + error.message());
  OutputStream out(file);
  out.write(text);
  out.commit();
}

int generate(const Options& options, Log&) {
  if (options.input.texts.size() != 1) throw_usage("generate: expected one FOLDER");
  const std::filesystem::path folder = options.input.texts[0];
  write(folder / "man/man1/mha-cli.1", manual_page(nullptr));
  for (const Command* command : commands()) {
    if (!command->hidden) write(folder / "man/man1" / (manual_name(command) + ".1"), manual_page(command));
  }
  write(folder / "bash-completion/completions/mha-cli", bash_completion());
  write(folder / "zsh/site-functions/_mha-cli", zsh_completion());
  write(folder / "fish/vendor_completions.d/mha-cli.fish", fish_completion());
  return 0;
}

}  // namespace

const Command kGenerate{
    .name = "generate",
    .summary = "manual pages and completions",
    .arguments = "FOLDER",
    .about = "Writes what a package installs below share/: manual pages, and completions of bash, zsh and fish.",
    .hidden = true,
    .run = generate,
};

}  // namespace mha::cli
