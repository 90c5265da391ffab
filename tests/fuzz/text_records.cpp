// Any bytes as input: the first byte chooses the format and the policy. In any case, texts and messages are valid
// UTF-8, indices count up, and ids and passed-through members are JSON.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "fuzz/memory_file.hpp"
#include "io/text_reader.hpp"

namespace {

void require(bool right) {
  if (!right) std::abort();
}

bool is_utf8(const std::string& text) { return mha::utf8::first_invalid(text) == mha::utf8::kValid; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr mha::InputFormat kFormats[] = {mha::InputFormat::jsonl, mha::InputFormat::lines, mha::InputFormat::nul};
  mha::TextReaderOptions options;
  options.format = kFormats[data[0] % 3];
  options.replace_invalid = data[0] / 3 % 2 == 1;
  options.pass_through = true;
  options.reserved_keys = {"index"};
  options.max_record_bytes = 1000;
  const mha::test::MemoryFile bytes(data + 1, size - 1);
  auto reader = mha::TextReader::from_files({bytes.path()}, options);
  std::size_t count = 0;
  for (mha::Input record; reader.next(record); ++count) {
    require(record.index == count);
    require(is_utf8(record.text) && is_utf8(record.error) && is_utf8(record.text_pair.value_or("")));
    require(record.error.empty() || record.text.empty());
    require(record.id_json.empty() || nlohmann::json::accept(record.id_json));
    require(nlohmann::json::accept("{" + record.extra_json + "}"));
  }
  require(reader.bytes_done() == size - 1);
  return 0;
}
