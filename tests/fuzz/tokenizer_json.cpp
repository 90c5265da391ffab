// Any bytes as tokenizer.json: refused with Error{model}, or a tokenizer that encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mha/core/error.hpp"
#include "mha/tokenizer/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const mha::Tokenizer> tokenizer;
  try {
    tokenizer = mha::Tokenizer::from_json(json, "fuzz");
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::model) std::abort();
    return 0;
  }
  mha::TokenizerScratch scratch;
  mha::Encoding out;
  for (const std::string_view text :
       {"", "Hello, she is 12½ é e\xCC\x81 \xE4\xB8\xAD\xE6\x96\x87 <mask>[MASK]  \xF0\x9F\x98\x80\r\n"}) {
    try {
      tokenizer->encode(text, text, {}, scratch, out);
      tokenizer->decode(out.input_ids, true);
    } catch (const mha::Error& error) {
      if (error.kind() != mha::ErrorKind::input) std::abort();
    }
  }
  tokenizer->with_lowercase();
  return 0;
}
