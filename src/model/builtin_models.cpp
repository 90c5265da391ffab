#include "model/builtin_models.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace {

struct BuiltinFile {
  const char* model;
  const char* name;
  const unsigned char* data;
  const std::size_t* size;
};

}  // namespace

#include "builtin_table.inc"  // made by cmake/builtin_models.cmake: kBuiltinFiles, in order of preference

namespace mha {

std::vector<std::string> builtin_model_names() {
  std::vector<std::string> names;
  for (const BuiltinFile& file : kBuiltinFiles) {
    if (std::find(names.begin(), names.end(), file.model) == names.end()) names.emplace_back(file.model);
  }
  return names;
}

std::shared_ptr<const FileSet> builtin_model_files(std::string_view name) {
  std::vector<EmbeddedFile> files;
  for (const BuiltinFile& file : kBuiltinFiles) {
    if (file.model == name) files.push_back({file.name, std::as_bytes(std::span(file.data, *file.size))});
  }
  if (files.empty()) return nullptr;
  return memory_files(files, "built-in model " + std::string(name));
}

}  // namespace mha
