// Any text through each of the small tokenizers of corpus/tokenizer_json: offsets inside the text, on character borders
// and in order; ids that exist; windows that agree with the whole; the same result from a scratch that was used before.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "support/source_folder.hpp"

namespace {

struct Subject {
  std::shared_ptr<const mha::Tokenizer> tokenizer;
  bool trims = false;  // trimming may move a token's start behind its successor's
  mha::TokenizerScratch scratch;
};

std::vector<Subject>& subjects() {
  static std::vector<Subject> all = [] {
    std::set<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(mha::test::source_folder() / "tests/fuzz/corpus/tokenizer_json")) {
      files.insert(entry.path());
    }
    std::vector<Subject> made;
    for (const auto& file : files) {
      std::ifstream stream(file, std::ios::binary);
      const std::string json(std::istreambuf_iterator<char>(stream), {});
      try {
        made.push_back(
            {mha::Tokenizer::from_json(json, file.string()), json.find("\"trim_offsets\":true") != json.npos, {}});
      } catch (const mha::Error&) {  // seeds of the loader that are refused
      }
    }
    return made;
  }();
  return all;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

bool on_border(std::string_view text, std::size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
}

void check(const mha::Encoding& out, const Subject& subject, std::string_view text, std::string_view pair) {
  const std::size_t size = out.size();
  require(out.offsets.size() == size && out.token_type_ids.size() == size && out.special_tokens_mask.size() == size &&
              out.word_ids.size() == size && out.sequence_ids.size() == size,
          "one entry a token");
  std::uint32_t last[2] = {0, 0};
  for (std::size_t i = 0; i < size; ++i) {
    subject.tokenizer->token(out.input_ids[i]);
    if (out.sequence_ids[i] < 0) continue;
    const std::string_view source = out.sequence_ids[i] == 0 ? text : pair;
    const mha::Span span = out.offsets[i];
    require(span.begin <= span.end && span.end <= source.size(), "offsets inside the text");
    require(on_border(source, span.begin) && on_border(source, span.end), "offsets on character borders");
    std::uint32_t& before = last[out.sequence_ids[i]];
    require(subject.trims || span.begin >= before, "offsets in order");
    before = span.begin;
  }
}

bool same(const mha::Encoding& a, const mha::Encoding& b) {
  return a.input_ids == b.input_ids && a.offsets == b.offsets && a.word_ids == b.word_ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  Subject& subject = subjects()[data[0] % subjects().size()];
  const std::string text = mha::utf8::replace_invalid({reinterpret_cast<const char*>(data) + 3, size - 3});
  const bool paired = (data[1] & 1U) != 0;
  std::size_t cut = text.size() / 2;
  while (!on_border(text, cut)) ++cut;
  const std::string_view first = paired ? std::string_view(text).substr(0, cut) : std::string_view(text);
  const std::string_view second = paired ? std::string_view(text).substr(cut) : std::string_view();
  const auto pair = paired ? std::optional(second) : std::nullopt;
  mha::EncodeOptions options;
  options.add_special_tokens = (data[1] & 2U) != 0;
  options.plain_specials = (data[1] & 4U) != 0;
  try {
    mha::Encoding whole;
    subject.tokenizer->encode(first, pair, options, subject.scratch, whole);
    check(whole, subject, first, second);
    require(!whole.truncated(), "nothing is cut without a limit");
    if ((data[1] & 64U) != 0) {  // not each time: a fresh scratch is megabytes
      mha::TokenizerScratch fresh;
      mha::Encoding again;
      subject.tokenizer->encode(first, pair, options, fresh, again);
      require(same(whole, again), "the scratch changes nothing");
    }
    subject.tokenizer->decode(whole.input_ids, (data[1] & 8U) != 0);

    options.max_length = data[2] & 31U;
    options.keep = (data[1] & 16U) != 0 ? mha::TruncationSide::tail : mha::TruncationSide::head;
    if ((data[1] & 32U) != 0 && text.size() < 500) options.stride = data[2] >> 5U;
    mha::Encoding cut_down;
    subject.tokenizer->encode(first, pair, options, subject.scratch, cut_down);
    check(cut_down, subject, first, second);
    require(cut_down.size() <= *options.max_length && cut_down.full_length == whole.size(), "the limit holds");
    for (const mha::Encoding& window : cut_down.overflowing) check(window, subject, first, second);
  } catch (const mha::Error& error) {
    require(error.kind() == mha::ErrorKind::input || error.kind() == mha::ErrorKind::usage, "kinds of errors");
  }
  return 0;
}
