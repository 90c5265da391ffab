#pragma once

#include <istream>
#include <string>

namespace mha {

/// The CPU's name in the text of /proc/cpuinfo: the "model name" of x86-64; on arm64, which has none there, the core
/// that the numbers of implementer and part stand for ("Arm Neoverse-N1"), or these numbers. "unknown" if there is
/// neither.
std::string cpu_name_in(std::istream& cpuinfo);

/// That of this machine.
std::string cpu_name();

}  // namespace mha
