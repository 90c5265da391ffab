#include "ops/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "mha/core/tensor.hpp"
#include "ops/cpu.hpp"
#include "ops/cpu_name.hpp"
#include "ops/native/engines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/machine.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

/// Operations done in `rounds` of twelve independent chains of multiply-adds; `sink` keeps them from being left out.
double MultiplyAdd(std::size_t rounds, float* sink) {
  const F32 d;
  constexpr std::size_t kChains = 12;
  const V32 factor = hn::Set(d, 0.999F);
  const V32 term = hn::Set(d, 0.001F);
  V32 chain[kChains];
#pragma GCC unroll 12
  for (std::size_t c = 0; c < kChains; ++c) chain[c] = hn::Set(d, static_cast<float>(c));
  for (std::size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (std::size_t c = 0; c < kChains; ++c) chain[c] = hn::MulAdd(chain[c], factor, term);
  }
  V32 sum = hn::Zero(d);
#pragma GCC unroll 12
  for (std::size_t c = 0; c < kChains; ++c) sum = hn::Add(sum, chain[c]);
  *sink += LaneSum(d, sum);
  return 2.0 * static_cast<double>(rounds * kChains * hn::Lanes(d));
}

/// Reads everything, in four chains.
float ReadAll(const float* from, std::size_t count) {
  return SumOver(F32(), count, [&](auto load, std::size_t i) { return load(from + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(ReadAll);

namespace {

/// Largest of work/seconds over `runs` runs; `run` returns the work that it did.
template <class Run>
double best_rate(int runs, const Run& run) {
  double best = 0.0;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double work = run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, work / seconds.count());
  }
  return best;
}

/// One block of products over and over, all of it in the first-level cache: what the engine's instructions can do.
double engine_rate(const native::Engine* engine) {
  if (engine == nullptr) return 0.0;
  constexpr std::size_t kDepth = 128;
  constexpr std::size_t kBlocks = 400;
  const native::Layout& layout = engine->layout();
  const std::size_t rows = layout.row_block();
  const std::size_t width = layout.panel();
  FloatBuffer weights(kDepth * width);
  std::fill_n(weights.data(), kDepth * width, 0.5F);
  LinearWeights linear;
  linear.weight.view = {DType::f32, {width, kDepth}, reinterpret_cast<const std::byte*>(weights.data())};
  const LinearWeights* parts[] = {&linear};
  const auto packed = engine->pack(JoinedWeights(parts));
  native::Bytes memory(layout.operand_bytes(rows, kDepth));
  std::vector<native::RowCode> codes(rows);
  FloatBuffer sums(rows * width);
  FloatBuffer x(rows * kDepth);
  std::fill_n(x.data(), rows * kDepth, 0.5F);
  const native::Operand operand{memory.data(), layout.operand_stride(kDepth), codes.data()};
  layout.convert(*packed, {x.data(), rows, kDepth}, operand);
  const native::PanelCall call{*packed, 0, 0, packed->steps, nullptr, operand, rows};
  engine->begin();
  const double rate = best_rate(100, [&] {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      engine->multiply(call, {sums.data(), width, 0, rows}, false, {});
    }
    return 2.0 * static_cast<double>(kBlocks * rows * width * kDepth);
  });
  engine->end();
  return rate;
}

}  // namespace

Machine measure_machine() {
  constexpr double kGiga = 1e9;
  Machine machine;
  machine.cpu = cpu_name();
  machine.features = cpu_features().text;
  // Written through volatile, so that the loops cannot be left out.
  volatile float kept = 0.0F;
  float sink = 0.0F;
  machine.fma_peak_gflops = best_rate(60, [&] { return HWY_DYNAMIC_DISPATCH(MultiplyAdd)(20000, &sink); }) / kGiga;
  const native::Engine* bf16 = native::engine_of(Precision::bf16);
  if (bf16 != native::engine_bf16_by_conversion()) machine.bf16_peak_gflops = engine_rate(bf16) / kGiga;
  machine.int8_peak_gops = engine_rate(native::engine_of(Precision::int8)) / kGiga;
  constexpr std::size_t kFloats = std::size_t{16} << 20;
  FloatBuffer memory(kFloats);
  std::memset(memory.data(), 0, kFloats * sizeof(float));
  // Piece by piece, each out of the second-level cache again when its turn comes: a short run is seldom disturbed.
  constexpr std::size_t kPiece = kFloats / 32;
  std::size_t piece = 0;
  machine.read_gb_s = best_rate(96,
                                [&] {
                                  sink += HWY_DYNAMIC_DISPATCH(ReadAll)(memory.data() + piece++ % 32 * kPiece, kPiece);
                                  return static_cast<double>(kPiece * sizeof(float));
                                }) /
                      kGiga;
  kept = sink;
  static_cast<void>(kept);
  return machine;
}

}  // namespace mha
#endif
