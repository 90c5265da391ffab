#include "ops/cpu.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "mha/core/error.hpp"
#include "ops/cpu_name.hpp"

namespace mha {

TEST_CASE("a word that is no feature of the CPU is refused, with those that are") {
  const std::string before = cpu_features().text;
  try {
    limit_cpu_features("turbo");
    FAIL("expected an error");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(text.find("got \"turbo\"") != std::string::npos);
  }
  CHECK(cpu_features().text == before);
}

TEST_CASE("the CPU's name is its model name on x86-64, and its core on arm64") {
  const auto name_of = [](const char* text) {
    std::istringstream cpuinfo(text);
    return cpu_name_in(cpuinfo);
  };
  CHECK(name_of("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\n") == "Intel(R) Xeon(R) Processor");
  CHECK(name_of("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nCPU part\t: 0xd08\n") ==
        "Arm Neoverse-N1");
  CHECK(name_of("CPU implementer\t: 0x61\nCPU part\t: 0x022\n") == "Apple part 0x022");
  CHECK(name_of("CPU implementer\t: 0x99\nCPU part\t: 0x001\n") == "implementer 0x99 part 0x001");
  CHECK(name_of("") == "unknown");
}

}  // namespace mha
