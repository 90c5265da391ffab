#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace mha {

/// A running SHA-256 (FIPS 180-4, by libmd). Threads: one at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  /// 64 hexadecimal digits of all bytes so far; the object cannot be updated afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_of(std::string_view bytes);
/// Of a file's bytes. Errors: input, naming the path.
std::string sha256_of_file(const std::filesystem::path& path);

/// SHA-1 of a file as git names it: of `blob SIZE\0` and its bytes. Errors: input, naming the path.
std::string git_blob_sha1(const std::filesystem::path& path);

}  // namespace mha
