#include "io/weight_files.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/utf8.hpp"
#include "io/json.hpp"
#include "io/mapped_file.hpp"

namespace mha {
namespace {

namespace fs = std::filesystem;

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr std::string_view kIndexEnding = ".index.json";

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Weights in an unsupported format, if the folder has some.
[[noreturn]] void fail_without_weights(const FileSet& files) {
  const std::string name = files.origin();
  for (const FileSet::Entry& entry : files.list()) {
    const fs::path file(entry.name);
    if (file.has_parent_path()) continue;
    for (const std::string_view known : {".bin", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".msgpack", ".gguf", ".ot"}) {
      if (file.extension().native() != known) continue;
      throw_model(name + ": expected model.safetensors, found only " + path_text(file) +
                  ", which is not read (pickle files can run code); convert it with Python's transformers: "
                  "AutoModel.from_pretrained(folder).save_pretrained(folder, safe_serialization=True)");
    }
  }
  throw_model(name +
              ": expected model.safetensors or model.safetensors.index.json, found neither; incomplete download?");
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

WeightFiles::WeightFiles(const fs::path& path)
    : WeightFiles(*folder_files(is_folder(path) ? path : path.parent_path()),
                  is_folder(path) ? "" : path.filename().string()) {}

WeightFiles::WeightFiles(const FileSet& files, const std::string& name) {
  if (!name.empty()) {
    if (name.ends_with(kIndexEnding)) {
      open_index(files, name);
    } else {
      files_.emplace_back(files.open(name));
    }
  } else if (files.has(kSingle)) {
    files_.emplace_back(files.open(kSingle));
  } else if (files.has(kIndex)) {
    open_index(files, kIndex);
  } else {
    fail_without_weights(files);
  }
  if (places_.empty()) {
    names_ = files_.front().names();
    places_.reserve(names_.size());
    for (const std::string& tensor : names_) places_.push_back({files_.front().find(tensor), 0});
  }
}

void WeightFiles::open_index(const FileSet& files, const std::string& index) {
  const FileBytes bytes = files.open(index);
  const std::string& subject = bytes.origin;
  const nlohmann::json content = parse_json(bytes.text(), subject);
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
    if (is_inside_name(shard) && !files.has(shard)) {
      throw_model(files.place(shard) + ": no such file, but " + path_text(fs::path(index)) +
                  " lists it; incomplete download?");
    }
    number = files_.size();
    files_.emplace_back(files.open(shard));
  }
  // items() runs in byte order of the names, which is the order of `names_`.
  for (const auto& [tensor, shard] : map->items()) {
    const std::size_t number = shards.at(shard.get_ref<const std::string&>());
    const TensorView* view = files_[number].find(tensor);
    if (view == nullptr) {
      throw_model(path_text(files_[number].path()) + ": tensor " + utf8::quoted(tensor) + " is not there, but " +
                  path_text(fs::path(index)) + " lists it in this file");
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
