#pragma once

#include <filesystem>

namespace mha::test {

/// The checkout that the tests were built from. One source file knows it, so that a compiler cache serves every
/// checkout.
std::filesystem::path source_folder();

}  // namespace mha::test
