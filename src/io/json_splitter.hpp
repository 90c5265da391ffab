#pragma once

#include <cstddef>
#include <string_view>

namespace mha {

/// Finds the values of a JSON array, or of JSON values one behind the other, while their bytes arrive. It looks at
/// brackets, quotes and commas only: what a value holds is for a parser.
class JsonSplitter {
 public:
  enum class Next {
    value,  ///< a value begins
    more,   ///< the bytes ended before a value
    wrong   ///< neither a value nor what may stand between values
  };

  /// Passes blanks and the brackets and commas of the array; `passed` counts their bytes.
  Next find_value(std::string_view text, std::size_t& passed);

  /// Bytes of the value at the start of `text`, or npos: it goes on behind these bytes. With `at_end` there are no
  /// more bytes, and the value ends where they end. Call again with the same start until it has ended.
  std::size_t value_length(std::string_view text, bool at_end);

  /// Whether the source may end here.
  bool complete() const { return place_ != Place::before_value && place_ != Place::behind_value; }

 private:
  enum class Place {
    start,         // nothing was read
    first,         // behind the bracket that opens the array
    before_value,  // behind a comma of the array
    behind_value,  // in the array
    between,       // values without an array
    closed         // behind the bracket that closes the array
  };

  Place place_ = Place::start;
  // Of a value that has begun:
  std::size_t scanned_ = 0;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace mha
