#pragma once

#include <string>
#include <string_view>

namespace mha {

/// Appends the shortest decimal text that reads back to the same float32: at most 9 significant digits, a dot in every
/// locale, valid JSON (`0.1`, `1e-07`, `3`). NaN and infinity are an internal error.
void append_float(std::string& out, float value);

/// Appends the value rounded to `digits` places after the point.
void append_float(std::string& out, float value, int digits);

/// Reads a whole string as float32 or double, with a dot in every locale. Returns false if it is not a finite number.
bool parse_float(std::string_view text, float& value);
bool parse_double(std::string_view text, double& value);

/// IEEE half and bfloat16 to float32.
float float_from_f16(unsigned short bits);
float float_from_bf16(unsigned short bits);
/// Rounded to nearest, ties to even.
unsigned short f16_from_float(float value);
unsigned short bf16_from_float(float value);

}  // namespace mha
