#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace mha {

/// Where sentences begin: Unicode Standard Annex #29 in ICU's root locale. ICU is loaded by the first one that is made.
/// Threads: one at a time.
class SentenceBreaks {
 public:
  /// Throws Error{usage} where the library is not there.
  SentenceBreaks();
  ~SentenceBreaks();

  /// Bytes of valid UTF-8 at which sentences begin, the first 0; none of an empty text. Blanks behind a sentence belong
  /// to it.
  std::vector<std::size_t> starts(std::string_view text);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

}  // namespace mha
