#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace mha {

/// Iterator over a text for nlohmann's SAX parser that lets event handlers see how far the parser has read.
///
/// `position` is the number of bytes consumed. After brackets, strings and literals it is just past the token; after a
/// number that does not end the text, it is one byte further.
class JsonIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonIterator(std::string_view text, std::size_t offset, std::size_t& position)
      : text_(text.data()), offset_(offset), position_(&position) {}

  const char& operator*() const { return text_[offset_]; }
  JsonIterator& operator++() {
    *position_ = ++offset_;
    return *this;
  }
  JsonIterator operator++(int) {
    JsonIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const JsonIterator& other) const { return offset_ == other.offset_; }

 private:
  const char* text_;
  std::size_t offset_;
  std::size_t* position_;
};

}  // namespace mha
