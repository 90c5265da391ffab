#include "ops/cpu_name.hpp"

#include <fstream>
#include <string_view>

namespace mha {
namespace {

struct Named {
  std::string_view number;
  std::string_view name;
};

/// MIDR_EL1.Implementer, and MIDR_EL1.PartNum of its cores, as Linux lists them (arch/arm64/include/asm/cputype.h).
constexpr Named kImplementers[] = {
    {"0x41", "Arm"}, {"0x43", "Cavium"},   {"0x46", "Fujitsu"}, {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},
    {"0x50", "APM"}, {"0x51", "Qualcomm"}, {"0x61", "Apple"},   {"0x6d", "Microsoft"}, {"0xc0", "Ampere"}};
constexpr Named kArmCores[] = {
    {"0xd03", "Cortex-A53"},  {"0xd04", "Cortex-A35"},  {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"},
    {"0xd08", "Cortex-A72"},  {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"},  {"0xd0b", "Cortex-A76"},
    {"0xd0c", "Neoverse-N1"}, {"0xd0d", "Cortex-A77"},  {"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"},
    {"0xd44", "Cortex-X1"},   {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"}, {"0xd48", "Cortex-X2"},
    {"0xd49", "Neoverse-N2"}, {"0xd4d", "Cortex-A715"}, {"0xd4e", "Cortex-X3"},   {"0xd4f", "Neoverse-V2"},
    {"0xd80", "Cortex-A520"}, {"0xd81", "Cortex-A720"}, {"0xd82", "Cortex-X4"},   {"0xd84", "Neoverse-V3"},
    {"0xd85", "Cortex-X925"}, {"0xd87", "Cortex-A725"}, {"0xd8e", "Neoverse-N3"}};

template <std::size_t Count>
std::string_view name_in(const Named (&names)[Count], std::string_view number) {
  for (const Named& each : names) {
    if (each.number == number) return each.name;
  }
  return {};
}

}  // namespace

std::string cpu_name_in(std::istream& cpuinfo) {
  std::string implementer;
  std::string part;
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const std::size_t value = line.find(": ");
    if (value == std::string::npos) continue;
    if (line.rfind("model name", 0) == 0) return line.substr(value + 2);
    if (implementer.empty() && line.rfind("CPU implementer", 0) == 0) implementer = line.substr(value + 2);
    if (part.empty() && line.rfind("CPU part", 0) == 0) part = line.substr(value + 2);
  }
  if (implementer.empty()) return "unknown";
  const std::string_view maker = name_in(kImplementers, implementer);
  const std::string_view core = implementer == "0x41" ? name_in(kArmCores, part) : std::string_view();
  std::string name = maker.empty() ? "implementer " + implementer : std::string(maker);
  name += ' ';
  return core.empty() ? name + "part " + part : name.append(core);
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  return cpu_name_in(file);
}

}  // namespace mha
