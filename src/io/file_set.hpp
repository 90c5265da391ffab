#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

/// The bytes of one file of a FileSet, mapped or in memory; they live as long as a copy of `owner` does.
struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::string origin;          ///< how error messages name the file
  std::filesystem::path path;  ///< the file on disk, or `origin` if there is none

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// The files of one model, read-only: a folder on disk or files inside the binary, seen the same way.
/// Names are relative with `/` between parts ("1_Pooling/config.json").
/// Threads: const functions may be called from any thread.
class FileSet {
 public:
  struct Entry {
    std::string name;
    std::size_t bytes = 0;
  };

  virtual ~FileSet() = default;

  /// How messages name the set: the folder's path, or "built-in NAME".
  virtual std::string origin() const = 0;
  /// True if the name exists, even if it cannot be read. False for names that leave the set.
  /// Call `open` to learn why a file cannot be read: treating a broken link as absent would hide an interrupted
  /// download.
  virtual bool has(std::string_view name) const = 0;
  /// Maps or shares the bytes of a file.
  /// Throws Error{model} that names the file if it is absent, unreadable, not a regular file, or outside the set.
  virtual FileBytes open(std::string_view name) const = 0;
  /// Files directly in the set and one level below, sorted by name, hidden ones left out.
  virtual std::vector<Entry> list() const = 0;

  /// `origin/name`, as messages print it.
  std::string place(std::string_view name) const;
};

/// True if a name stays inside its folder: relative, no empty, `.` or `..` part, no NUL, no backslash.
bool is_inside_name(std::string_view name);

/// One file on disk, mapped. Errors: model, as MappedFile.
FileBytes map_file(const std::filesystem::path& path);

/// The files of a folder on disk. Each call reads the folder again.
std::shared_ptr<const FileSet> folder_files(const std::filesystem::path& folder);

/// A file in memory, such as bytes inside the binary. It outlives every set that contains it.
struct EmbeddedFile {
  std::string_view name;
  std::span<const std::byte> bytes;
};
/// Files in memory, seen as a folder.
std::shared_ptr<const FileSet> memory_files(const std::vector<EmbeddedFile>& files, const std::string& origin);

/// The files of one folder inside a set, named from there.
std::shared_ptr<const FileSet> subfolder_files(std::shared_ptr<const FileSet> files, std::string_view folder);

}  // namespace mha
