#include "pipeline/sentence_breaks.hpp"

#include <dlfcn.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>
#include <unicode/uvernum.h>

#include <cstdint>
#include <string>

#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr const char* kLibrary = "libicuuc.so." U_ICU_VERSION_SHORT;

void* find_function(const char* name) {
  // Its 30 MB of tables are mapped and relocated only where sentences are asked for.
  static void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw_usage("--late-chunk: expected " + std::string(kLibrary) + " to find sentences, got none; install libicu" +
                U_ICU_VERSION_SHORT);
  }
  void* const function = dlsym(library, name);
  if (function == nullptr) throw_internal(std::string(kLibrary) + ": no function " + name);
  return function;
}

// ICU's headers rename every function to one with the version behind it.
#define MHA_SPELLED(name) #name
#define MHA_NAME(name) MHA_SPELLED(name)
#define MHA_ICU(name) decltype(::name)* name = reinterpret_cast<decltype(::name)*>(find_function(MHA_NAME(name)))

struct Icu {
  MHA_ICU(ubrk_open);
  MHA_ICU(ubrk_close);
  MHA_ICU(ubrk_setUText);
  MHA_ICU(ubrk_first);
  MHA_ICU(ubrk_next);
  MHA_ICU(utext_openUTF8);
  MHA_ICU(utext_close);
};

#undef MHA_ICU
#undef MHA_NAME
#undef MHA_SPELLED

const Icu& icu() {
  static const Icu functions;
  return functions;
}

}  // namespace

struct SentenceBreaks::Iterator {
  UBreakIterator* breaks = nullptr;
  UText* text = nullptr;

  Iterator() {
    UErrorCode status = U_ZERO_ERROR;
    breaks = icu().ubrk_open(UBRK_SENTENCE, "", nullptr, 0, &status);
    if (U_FAILURE(status)) throw_internal("ICU: no sentence iterator, status " + std::to_string(status));
  }
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  ~Iterator() {
    icu().utext_close(text);
    icu().ubrk_close(breaks);
  }
};

SentenceBreaks::SentenceBreaks() : iterator_(std::make_unique<Iterator>()) {}
SentenceBreaks::~SentenceBreaks() = default;

std::vector<std::size_t> SentenceBreaks::starts(std::string_view text) {
  std::vector<std::size_t> starts;
  if (text.empty()) return starts;
  UErrorCode status = U_ZERO_ERROR;
  iterator_->text = icu().utext_openUTF8(iterator_->text, text.data(), static_cast<std::int64_t>(text.size()), &status);
  if (U_SUCCESS(status)) icu().ubrk_setUText(iterator_->breaks, iterator_->text, &status);
  if (U_FAILURE(status)) throw_internal("ICU: text refused, status " + std::to_string(status));
  const auto end = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = icu().ubrk_first(iterator_->breaks); at != UBRK_DONE && at < end;
       at = icu().ubrk_next(iterator_->breaks)) {
    starts.push_back(static_cast<std::size_t>(at));
  }
  return starts;
}

}  // namespace mha
