#include "io/file_set.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <system_error>
#include <utility>

#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"

namespace mha {

namespace fs = std::filesystem;

namespace {

void require_inside(std::string_view name, const std::string& origin) {
  if (is_inside_name(name)) return;
  throw_model("model file: " + origin + ": expected a name inside the folder, got '" + path_text(fs::path(name)) +
              "'; a model must not reach outside its folder");
}

class FolderFiles final : public FileSet {
 public:
  explicit FolderFiles(fs::path folder) : folder_(std::move(folder)) {}

  std::string origin() const override { return path_text(folder_); }

  bool has(std::string_view name) const override {
    std::error_code ignored;
    return is_inside_name(name) && fs::symlink_status(folder_ / name, ignored).type() != fs::file_type::not_found;
  }

  FileBytes open(std::string_view name) const override {
    require_inside(name, origin());
    return map_file(folder_ / name);
  }

  std::vector<Entry> list() const override {
    std::vector<Entry> entries;
    list_into(entries, folder_, "", 0);
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return entries;
  }

 private:
  static void list_into(std::vector<Entry>& entries, const fs::path& folder, const std::string& prefix, int depth) {
    std::error_code failed;
    for (fs::directory_iterator item(folder, failed), end; !failed && item != end; item.increment(failed)) {
      const std::string name = item->path().filename().string();
      if (name.empty() || name[0] == '.') continue;
      std::error_code unreadable;
      if (item->is_directory(unreadable)) {
        if (depth == 0) list_into(entries, item->path(), prefix + name + "/", depth + 1);
      } else if (item->is_regular_file(unreadable)) {
        const std::uintmax_t bytes = item->file_size(unreadable);
        if (!unreadable) entries.push_back({prefix + name, static_cast<std::size_t>(bytes)});
      }
    }
  }

  fs::path folder_;
};

class MemoryFiles final : public FileSet {
 public:
  MemoryFiles(const std::vector<EmbeddedFile>& files, std::string origin) : origin_(std::move(origin)) {
    for (const EmbeddedFile& file : files) {
      require_inside(file.name, origin_);
      files_.emplace(file.name, file.bytes);
    }
  }

  std::string origin() const override { return origin_; }
  bool has(std::string_view name) const override { return files_.find(name) != files_.end(); }

  FileBytes open(std::string_view name) const override {
    const auto file = files_.find(name);
    if (file == files_.end()) throw_model("model file: " + place(name) + ": no such file");
    return {nullptr, file->second, place(name), place(name)};
  }

  std::vector<Entry> list() const override {
    std::vector<Entry> entries;
    for (const auto& [name, bytes] : files_) entries.push_back({name, bytes.size()});
    return entries;
  }

 private:
  std::string origin_;
  std::map<std::string, std::span<const std::byte>, std::less<>> files_;
};

class SubfolderFiles final : public FileSet {
 public:
  SubfolderFiles(std::shared_ptr<const FileSet> files, std::string_view folder)
      : files_(std::move(files)), prefix_(std::string(folder) + "/") {}

  std::string origin() const override { return files_->place(prefix_.substr(0, prefix_.size() - 1)); }
  bool has(std::string_view name) const override { return files_->has(prefix_ + std::string(name)); }
  FileBytes open(std::string_view name) const override { return files_->open(prefix_ + std::string(name)); }

  std::vector<Entry> list() const override {
    std::vector<Entry> entries;
    for (Entry& entry : files_->list()) {
      if (entry.name.starts_with(prefix_)) entries.push_back({entry.name.substr(prefix_.size()), entry.bytes});
    }
    return entries;
  }

 private:
  std::shared_ptr<const FileSet> files_;
  std::string prefix_;
};

}  // namespace

std::string FileSet::place(std::string_view name) const {
  std::string text = origin();
  if (!text.ends_with('/')) text += '/';
  return text + path_text(fs::path(name));
}

bool is_inside_name(std::string_view name) {
  if (name.find('\0') != std::string_view::npos || name.find('\\') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

FileBytes map_file(const fs::path& path) {
  auto file = std::make_shared<const MappedFile>(path);
  return {file, file->bytes(), path_text(path), path};
}

std::shared_ptr<const FileSet> folder_files(const fs::path& folder) { return std::make_shared<FolderFiles>(folder); }

std::shared_ptr<const FileSet> memory_files(const std::vector<EmbeddedFile>& files, const std::string& origin) {
  return std::make_shared<MemoryFiles>(files, origin);
}

std::shared_ptr<const FileSet> subfolder_files(std::shared_ptr<const FileSet> files, std::string_view folder) {
  return std::make_shared<SubfolderFiles>(std::move(files), folder);
}

}  // namespace mha
