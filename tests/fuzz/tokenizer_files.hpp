#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/file_set.hpp"
#include "mha/core/error.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace mha::test {

/// Reads a tokenizer from files of any content: they are refused with Error{model}, or give a tokenizer whose offsets
/// lie inside the text and whose ids can be decoded. Aborts otherwise.
inline void read_tokenizer(const std::vector<std::pair<std::string_view, std::string_view>>& files) {
  std::vector<EmbeddedFile> set;
  for (const auto& [name, text] : files) set.push_back({name, std::as_bytes(std::span(text.data(), text.size()))});
  std::shared_ptr<const Tokenizer> tokenizer;
  try {
    tokenizer = Tokenizer::from_files(*memory_files(set, "fuzz"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model) std::abort();
    return;
  }
  TokenizerScratch scratch;
  Encoding out;
  const std::string_view text =
      "Hello  abab (ab) 12½ é e\xCC\x81 \xE4\xB8\xAD <mask>[MASK]<x><s> \xF0\x9F\x98\x80\xEF\xB7\xBA\r\n ";
  try {
    tokenizer->encode(text, text, {}, scratch, out);
    for (const Span span : out.offsets) {
      if (span.begin > span.end || span.end > text.size()) std::abort();
    }
    tokenizer->decode(out.input_ids, true);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
}

/// The parts of an input between NUL bytes; the last takes all that is left, absent ones are empty.
template <std::size_t kCount>
std::array<std::string_view, kCount> parts_of(std::string_view input) {
  std::array<std::string_view, kCount> parts;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t cut = i + 1 < kCount ? input.find('\0') : std::string_view::npos;
    parts[i] = input.substr(0, cut);
    input = cut == std::string_view::npos ? std::string_view() : input.substr(cut + 1);
  }
  return parts;
}

}  // namespace mha::test
