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

constexpr int kOldest = 60;
constexpr int kNewest = 99;

/// ICU's library and its version, which is a part of every function's name.
struct Library {
  void* handle = nullptr;
  std::string version;
};

/// The version that this was built with, or else the newest that is installed: these functions are ICU's stable C API.
Library open_library() {
  const auto open = [](int version) {
    return dlopen(("libicuuc.so." + std::to_string(version)).c_str(), RTLD_NOW | RTLD_LOCAL);
  };
  if (void* const handle = open(U_ICU_VERSION_MAJOR_NUM)) return {handle, U_ICU_VERSION_SHORT};
  for (int version = kNewest; version >= kOldest; --version) {
    if (void* const handle = open(version)) return {handle, std::to_string(version)};
  }
  throw_usage("--late-chunk: expected libicuuc.so." U_ICU_VERSION_SHORT
              " or another version to find sentences, got none; install libicu" U_ICU_VERSION_SHORT);
}

void* find_function(const char* name) {
  // Its 30 MB of tables are mapped and relocated only if sentences are asked for.
  static const Library library = open_library();
  void* const function = dlsym(library.handle, (std::string(name) + '_' + library.version).c_str());
  if (function == nullptr) throw_internal("libicuuc.so." + library.version + ": no function " + name);
  return function;
}

// The headers rename every function to one with the version behind it; #name is the name without it.
#define MHA_ICU(name) decltype(::name)* name = reinterpret_cast<decltype(::name)*>(find_function(#name))

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
