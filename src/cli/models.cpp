#include "cli/models.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/log.hpp"
#include "core/thread_count.hpp"

namespace mha::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A path as a shell would have read it.
std::string with_home(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return environment("HOME") + path.substr(1);
}

// huggingface_hub, constants.py.
std::string hub_cache() {
  for (const char* const name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string cache = environment(name); !cache.empty()) return with_home(cache);
  }
  if (const std::string home = environment("HF_HOME"); !home.empty()) return with_home(home) + "/hub";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return with_home(cache) + "/huggingface/hub";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/huggingface/hub";
}

// PREFIX/share/mha/models of a program in PREFIX/bin, wherever the installation was moved to.
std::string share_dir() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().parent_path() / "share/mha/models";
}

// The built-in model, whatever folder or file may have its name where the program is called.
ModelLocation default_model() {
  const std::string name = default_model_name();
  return {ModelLocation::Kind::builtin, name, name, ""};
}

}  // namespace

ModelSearch model_search() { return {environment("MHA_MODEL_PATH"), share_dir(), hub_cache()}; }

ModelLocation choose_model(const Options& options) {
  std::string name = options.global.model;
  if (name.empty()) name = environment("MHA_MODEL");
  return name.empty() ? default_model() : find_model(name, model_search());
}

LoadOptions load_options(const Options& options) {
  LoadOptions load;
  load.backend = options.global.backend;
  load.dtype = options.global.dtype;
  load.max_length = options.tokens.max_length;
  load.special_tokens = !options.tokens.no_special_tokens;
  return load;
}

std::shared_ptr<const Model> load_model(const ModelHeader& header, const Options& options, Log& log) {
  const auto begin = std::chrono::steady_clock::now();
  auto model = Model::load(header, load_options(options));
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  for (const std::string& note : model->notes()) log.warning(note);
  const ModelLocation& location = model->location();
  log.fact("model " + location.name + " from " + location.path + ", loaded in " +
           std::to_string(static_cast<long>(time.count())) + " ms");
  log.fact("backend " + model->encoder().backend().description() + ", dtype " +
           std::string(name_of(model->encoder().precision())));
  return model;
}

std::size_t thread_count(const Options& options) {
  return options.global.threads > 0 ? options.global.threads : usable_cpus();
}

}  // namespace mha::cli
