#include "ops/native/engines.hpp"

#include "ops/cpu.hpp"

namespace mha::native {
namespace {

const Engine* engine_bf16() {
  if (const Engine* tiles = engine_bf16_amx()) return tiles;
  const Engine* pairs = cpu_features().fast_bf16_pairs ? engine_bf16_pairs() : nullptr;
  return pairs != nullptr ? pairs : engine_bf16_by_conversion();
}

const Engine* engine_int8() {
  for (const Engine* engine : {engine_int8_amx(), engine_int8_quadruples(), engine_int8_avx_vnni()}) {
    if (engine != nullptr) return engine;
  }
  return engine_int8_pairs();
}

/// Tiles of bfloat16 are faster than two tiles of bytes would be.
const Engine* engine_w8a16() {
  if (engine_bf16_amx() != nullptr) return nullptr;
  for (const Engine* engine : {engine_w8a16_avx512_vnni(), engine_w8a16_avx_vnni()}) {
    if (engine != nullptr) return engine;
  }
  return engine_w8a16_pairs();
}

/// float32 is at least as exact, and faster than three products on vector units.
const Engine* engine_bf16x3() {
  const Engine* tiles = engine_bf16x3_amx();
  return tiles != nullptr ? tiles : engine_f32();
}

}  // namespace

const Engine* engine_of(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return engine_f32();
    case Precision::bf16:
      return engine_bf16();
    case Precision::bf16x3:
      return engine_bf16x3();
    case Precision::bf16x6:
      return engine_bf16x6_amx();
    case Precision::w8a16:
      return engine_w8a16();
    case Precision::int8:
      return engine_int8();
  }
  return nullptr;
}

const Engine* codes_engine_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return engine_codes_bf16_amx();
    case Precision::bf16x3:
      return engine_codes_bf16x3_amx();
    case Precision::bf16x6:
      return engine_codes_bf16x6_amx();
    case Precision::f32:
    case Precision::w8a16:
    case Precision::int8:
      return nullptr;
  }
  return nullptr;
}

}  // namespace mha::native
