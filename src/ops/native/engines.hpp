#pragma once

#include "mha/ops/backend.hpp"
#include "ops/native/engine.hpp"

namespace mha::native {

/// The best engine of this CPU for a precision; nullptr if it has none.
const Engine* engine_of(Precision precision);
/// The same for weights that are int8 in their file: eight bits fit a bfloat16 whole, so they are multiplied as they
/// are. nullptr: they are treated as any others.
const Engine* codes_engine_of(Precision precision);

/// Engines by instruction; nullptr if this CPU does not have it.
const Engine* engine_f32();                 // any CPU
const Engine* engine_bf16_by_conversion();  // any CPU, at the speed of float32
const Engine* engine_bf16_pairs();          // AVX512_BF16
const Engine* engine_bf16_amx();
const Engine* engine_bf16x3_amx();
const Engine* engine_bf16x6_amx();
const Engine* engine_codes_bf16_amx();  // these three: weights that are int8 already, inputs of one, two, three parts
const Engine* engine_codes_bf16x3_amx();
const Engine* engine_codes_bf16x6_amx();
const Engine* engine_int8_pairs();     // any CPU
const Engine* engine_int8_avx_vnni();  // without AVX-512, whose vectors have another width
const Engine* engine_int8_amx();
const Engine* engine_int8_quadruples();  // AVX512_VNNI
const Engine* engine_w8a16_pairs();      // any CPU
const Engine* engine_w8a16_avx_vnni();
const Engine* engine_w8a16_avx512_vnni();

}  // namespace mha::native
