#include "mha/io/weight_files.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "io/json.hpp"
#include "mha/core/utf8.hpp"

namespace mha {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index.json";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Weights of a kind that is not read, if the folder has some.
[[noreturn]] void fail_without_weights(const fs::path& folder) {
  const std::string name = path_text(folder);
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path file = entry->path().filename();
    const std::string ending = file.extension().native();
    for (const std::string_view known : {".bin", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".msgpack", ".gguf", ".ot"}) {
      if (ending == known) others.push_back(path_text(file));
    }
  }
  if (others.empty()) {
    throw_model(name +
                ": expected model.safetensors or model.safetensors.index.json, found neither; incomplete download?");
  }
  throw_model(name + ": expected model.safetensors, found only " + *std::min_element(others.begin(), others.end()) +
              ", which is not read (pickle files can run code); convert it with Python's transformers: "
              "AutoModel.from_pretrained(folder).save_pretrained(folder, safe_serialization=True)");
}

// A shard's path, as the index spells it, must stay inside the index's folder.
void check_shard_name(const std::string& shard, const std::string& index) {
  const auto fail = [&](const std::string& why) { throw_model(index + ": shard " + utf8::quoted(shard) + ": " + why); };
  const fs::path path(shard);
  if (shard.empty()) fail("expected a file name, got the empty string");
  if (shard.find('\0') != std::string::npos) fail("a NUL character in the name");
  if (path.is_absolute()) fail("expected a name inside the model's folder, got an absolute path");
  for (const fs::path& part : path) {
    if (part == "..") fail("expected a name inside the model's folder, got a path that leaves it");
  }
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& path) {
  if (is_folder(path)) {
    const fs::path single = path / "model.safetensors";
    const fs::path index = path / "model.safetensors.index.json";
    if (is_there(single)) {
      files_.emplace_back(single);
    } else if (is_there(index)) {
      open_index(index);
    } else {
      fail_without_weights(path);
    }
  } else if (path.native().ends_with(kIndexEnding)) {
    open_index(path);
  } else {
    files_.emplace_back(path);
  }
  if (places_.empty()) {
    names_ = files_.front().names();
    places_.reserve(names_.size());
    for (const std::string& name : names_) places_.push_back({files_.front().find(name), 0});
  }
}

void WeightFiles::open_index(const fs::path& index) {
  const std::string subject = path_text(index);
  const nlohmann::json content = parse_json(read_file(index), subject);
  const auto map = content.is_object() ? content.find("weight_map") : content.end();
  if (!content.is_object() || map == content.end() || !map->is_object()) {
    throw_model(subject + ": expected an object with an object \"weight_map\" from tensor names to files");
  }
  if (map->empty()) throw_model(subject + ": weight_map: expected at least one tensor, got none");
  std::map<std::string, std::size_t> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      throw_model(subject + ": weight_map: " + utf8::quoted(tensor) + ": expected a file name, got " +
                  shard.type_name());
    }
    const auto& name = shard.get_ref<const std::string&>();
    check_shard_name(name, subject);
    shards.emplace(name, 0);
  }
  files_.reserve(shards.size());
  for (auto& [shard, number] : shards) {
    const fs::path file = index.parent_path() / shard;
    if (!is_there(file)) {
      throw_model(path_text(file) + ": no such file, but " + path_text(index.filename()) +
                  " lists it; incomplete download?");
    }
    number = files_.size();
    files_.emplace_back(file);
  }
  // items() runs in byte order of the names, which is the order of `names_`.
  for (const auto& [tensor, shard] : map->items()) {
    const std::size_t number = shards.at(shard.get_ref<const std::string&>());
    const TensorView* view = files_[number].find(tensor);
    if (view == nullptr) {
      throw_model(path_text(files_[number].path()) + ": tensor " + utf8::quoted(tensor) + " is not there, but " +
                  path_text(index.filename()) + " lists it in this file");
    }
    names_.push_back(tensor);
    places_.push_back({view, number});
  }
}

const WeightFiles::Place* WeightFiles::place_of(std::string_view name) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), name);
  if (found == names_.end() || *found != name) return nullptr;
  return &places_[static_cast<std::size_t>(found - names_.begin())];
}

const TensorView* WeightFiles::find(std::string_view name) const {
  const Place* place = place_of(name);
  return place != nullptr ? place->view : nullptr;
}

const fs::path& WeightFiles::file_of(std::string_view name) const {
  const Place* place = place_of(name);
  return files_[place != nullptr ? place->file : 0].path();
}

}  // namespace mha
