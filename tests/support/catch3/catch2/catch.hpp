#pragma once

// Catch2 2's one header and its names, for a Catch2 3 that has neither.
#include <catch2/catch_all.hpp>
#include <string>

namespace Catch {

inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
using Matchers::EndsWith;
using Matchers::StartsWith;

}  // namespace Catch

using Catch::Approx;
