#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace mha {

/// Finds where sentences begin (Unicode Standard Annex #29, ICU's root locale). The first object loads ICU.
/// Threads: one at a time.
class SentenceBreaks {
 public:
  /// Throws Error{usage} if the library is absent.
  SentenceBreaks();
  ~SentenceBreaks();

  /// Bytes of valid UTF-8 at which sentences begin, the first 0; empty for an empty text. Blanks after a sentence
  /// belong to it.
  std::vector<std::size_t> starts(std::string_view text);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

}  // namespace mha
