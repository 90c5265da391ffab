#include "ops/machine.hpp"

#include <catch2/catch.hpp>

namespace mha {

TEST_CASE("the machine's peaks are measured and in their order") {
  const Machine machine = measure_machine();
  CHECK_FALSE(machine.cpu.empty());
  CHECK(machine.fma_peak_gflops > 1.0);
  CHECK(machine.read_gb_s > 0.5);
  if (machine.features.find("amx_bf16") != std::string::npos) CHECK(machine.bf16_peak_gflops > machine.fma_peak_gflops);
}

}  // namespace mha
