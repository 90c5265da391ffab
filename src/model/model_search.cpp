#include "mha/model/model_search.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "core/nearest.hpp"
#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"
#include "model/builtin_models.hpp"

namespace mha {

namespace fs = std::filesystem;

namespace {

using Kind = ModelLocation::Kind;

bool is_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

/// The last part of a path that says something: `models/tiny/` and `models/tiny/.` are "tiny".
std::string folder_name(const fs::path& folder) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(folder, failed);
  const fs::path& path = failed ? folder : whole;
  return path_text(path.has_filename() ? path.filename() : path.parent_path().filename());
}

/// A folder is a model as it stands, unless all it has is one mha-json file (models/two-heads/model.json).
ModelLocation folder_location(const fs::path& folder) {
  if (!is_file(folder / "config.json") && is_file(folder / "model.json")) {
    return {Kind::json_file, (folder / "model.json").string(), folder_name(folder), ""};
  }
  return {Kind::folder, folder.string(), folder_name(folder), ""};
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// A file stands for its model: weights and the JSON files of a folder for the folder, other JSON for itself.
ModelLocation file_location(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".safetensors")) {
    ModelLocation location{Kind::folder, folder_of(file).string(), folder_name(folder_of(file)), ""};
    if (name != "model.safetensors") location.weights = name;
    return location;
  }
  if (name == "config.json" || name == "tokenizer.json" || name == "modules.json" || name.ends_with(".index.json")) {
    return {Kind::folder, folder_of(file).string(), folder_name(folder_of(file)), ""};
  }
  if (name.ends_with(".json")) {
    return {Kind::json_file, file.string(),
            name == "model.json" ? folder_name(folder_of(file)) : path_text(file.stem()), ""};
  }
  throw_model("model: " + path_text(file) +
              ": expected a folder, a .safetensors or a .json file, got another kind of file; pickle, ONNX and GGUF "
              "weights must be converted to safetensors first");
}

std::optional<ModelLocation> path_location(const fs::path& path) {
  if (is_folder(path)) return folder_location(path);
  if (is_file(path)) return file_location(path);
  return std::nullopt;
}

std::vector<std::string> split_path(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// `$MHA_MODEL_PATH` in order, then the installed models.
std::vector<std::string> search_folders(const ModelSearch& search) {
  std::vector<std::string> folders = split_path(search.model_path);
  if (!search.share_dir.empty()) folders.push_back(search.share_dir);
  return folders;
}

/// `name` or `org/name`, as the Hugging Face hub allows it.
bool is_hub_name(const std::string& name) {
  const auto plain = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
             c == '-';
    });
  };
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return plain(name);
  return plain(std::string_view(name).substr(0, slash)) && plain(std::string_view(name).substr(slash + 1));
}

fs::path hub_folder(const std::string& hub_cache, const std::string& name) {
  std::string folder = "models--";
  for (const char c : name) {
    if (c == '/') {
      folder += "--";
    } else {
      folder += c;
    }
  }
  return fs::path(hub_cache) / folder;
}

/// The snapshot that `refs/main` names; its files are links into `blobs/`.
std::optional<fs::path> hub_snapshot(const fs::path& folder) {
  constexpr std::size_t kLongestRevision = 256;
  if (!is_file(folder / "refs" / "main")) return std::nullopt;
  std::string revision = read_file(folder / "refs" / "main", ErrorKind::model, kLongestRevision);
  while (!revision.empty() && (revision.back() == '\n' || revision.back() == '\r' || revision.back() == ' ')) {
    revision.pop_back();
  }
  if (revision.find('/') != std::string::npos || !is_inside_name(revision)) {
    throw_model("model: " + path_text(folder / "refs" / "main") + ": expected the name of a snapshot, got '" +
                path_text(fs::path(revision)) + "'; download the model again");
  }
  return folder / "snapshots" / revision;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator item(folder, failed), end; !failed && item != end; item.increment(failed)) {
    entries.push_back(item->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool looks_like_model(const fs::path& folder) {
  return is_file(folder / "config.json") || is_file(folder / "model.json") || is_file(folder / "tokenizer.json");
}

void list_folder(const fs::path& folder, std::vector<ModelLocation>& models, std::set<std::string>& names) {
  for (const fs::path& entry : sorted_entries(folder)) {
    if (is_folder(entry) && looks_like_model(entry)) {
      ModelLocation location = folder_location(entry);
      location.name = path_text(entry.filename());
      if (names.insert(location.name).second) models.push_back(std::move(location));
    } else if (is_file(entry) && entry.extension() == ".json" && names.insert(path_text(entry.stem())).second) {
      models.push_back({Kind::json_file, entry.string(), path_text(entry.stem()), ""});
    }
  }
}

void list_hub(const std::string& hub_cache, std::vector<ModelLocation>& models, std::set<std::string>& names) {
  constexpr std::string_view kPrefix = "models--";
  for (const fs::path& entry : sorted_entries(hub_cache)) {
    std::string name = entry.filename().string();
    if (!name.starts_with(kPrefix) || !is_folder(entry)) continue;
    name.erase(0, kPrefix.size());
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
    if (!is_hub_name(name) || !is_file(entry / "refs" / "main")) continue;
    std::optional<fs::path> snapshot;
    try {
      snapshot = hub_snapshot(entry);
    } catch (const Error&) {
      continue;  // a broken download is no model; asking for it by name says what is wrong
    }
    if (!snapshot || !looks_like_model(*snapshot) || !names.insert(name).second) continue;
    models.push_back({Kind::folder, snapshot->string(), name, ""});
  }
}

[[noreturn]] void not_found(const std::string& name, const std::vector<std::string>& searched,
                            const ModelSearch& search) {
  std::string message =
      "model: " + path_text(fs::path(name)) + ": expected a folder, a file or a known name, found none; searched: ";
  for (std::size_t i = 0; i < searched.size(); ++i) message += (i == 0 ? "" : ", ") + searched[i];
  std::vector<std::string> known;
  for (const ModelLocation& model : list_models(search)) known.push_back(model.name);
  if (const auto near = nearest(name, known)) message += "; did you mean '" + *near + "'?";
  throw_model(message);
}

}  // namespace

ModelLocation find_model(const std::string& name, const ModelSearch& search) {
  if (name.empty()) throw_usage("--model: expected a name, a folder or a file, got an empty text");
  if (name.find('\0') != std::string::npos) throw_usage("--model: expected a name, a folder or a file, got a NUL byte");
  std::vector<std::string> searched;

  if (const auto location = path_location(name)) return *location;
  searched.push_back(path_text(fs::path(name)));

  if (is_inside_name(name)) {
    for (const std::string& folder : search_folders(search)) {
      for (const std::string& file : {name, name + ".json"}) {
        if (auto location = path_location(fs::path(folder) / file)) return *location;
      }
      searched.push_back(path_text(fs::path(folder) / name));
    }
  }

  const std::vector<std::string> builtins = builtin_model_names();
  if (std::find(builtins.begin(), builtins.end(), name) != builtins.end()) return {Kind::builtin, name, name, ""};
  std::string builtin_text = "built-in models (";
  for (std::size_t i = 0; i < builtins.size(); ++i) builtin_text += (i == 0 ? "" : ", ") + builtins[i];
  searched.push_back(builtin_text + ")");

  if (!search.hub_cache.empty() && is_hub_name(name)) {
    const fs::path folder = hub_folder(search.hub_cache, name);
    if (const auto snapshot = hub_snapshot(folder)) {
      if (!is_folder(*snapshot)) {
        throw_model("model: " + name + ": expected the snapshot folder " + path_text(*snapshot) +
                    " that refs/main names, found none; incomplete download?");
      }
      ModelLocation location = folder_location(*snapshot);
      location.name = name;
      return location;
    }
    searched.push_back(path_text(folder / "refs" / "main"));
  }
  not_found(name, searched, search);
}

std::vector<ModelLocation> list_models(const ModelSearch& search) {
  std::vector<ModelLocation> on_disk;
  std::set<std::string> names;
  for (const std::string& folder : search_folders(search)) list_folder(folder, on_disk, names);
  std::vector<ModelLocation> models;
  for (const std::string& name : builtin_model_names()) {
    if (names.insert(name).second) models.push_back({Kind::builtin, name, name, ""});
  }
  models.insert(models.end(), on_disk.begin(), on_disk.end());
  if (!search.hub_cache.empty()) list_hub(search.hub_cache, models, names);
  return models;
}

std::string default_model_name() { return builtin_model_names().front(); }

}  // namespace mha
