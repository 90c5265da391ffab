#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "support/source_folder.hpp"

namespace mha::test {

/// A file or folder of `../shared` (models and goldens that are no part of the repository; the environment's
/// MHA_SHARED names another place), or an empty path after one line that says the test is skipped.
inline std::filesystem::path shared(std::string_view path) {
  const char* const root = std::getenv("MHA_SHARED");
  std::filesystem::path place = root != nullptr ? root : source_folder() / "../shared";
  place /= path;
  if (std::filesystem::exists(place)) return place;
  std::cout << "skipped: " << place.string() << " is not there" << std::endl;
  return {};
}

}  // namespace mha::test
