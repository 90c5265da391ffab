#include "core/utf8.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace std::string_view_literals;

TEST_CASE("malformed UTF-8 is found at its first byte") {
  using mha::utf8::first_invalid;
  CHECK(first_invalid("plain ascii, long enough for the word loop"sv) == mha::utf8::kValid);
  CHECK(first_invalid("é😀中"sv) == mha::utf8::kValid);
  CHECK(first_invalid("ab\xC3"sv) == 2);
  CHECK(first_invalid("\xC0\x80"sv) == 0);
  CHECK(first_invalid("x\xED\xA0\x80"sv) == 1);
  CHECK(first_invalid("12345678\xF4\x90\x80\x80"sv) == 8);
  CHECK(first_invalid("\xE4\xB8"sv) == 0);
}

TEST_CASE("malformed UTF-8 is found wherever it stands, word by word or byte by byte") {
  constexpr unsigned char kBytes[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE1, 0xFF};
  constexpr unsigned char kLast[] = {0x61, 0x80, 0xBF};
  for (unsigned lead = 0x7F; lead < 0x100; ++lead) {
    for (const unsigned char second : kBytes) {
      for (const unsigned char third : kBytes) {
        for (const unsigned char fourth : kLast) {
          const std::string alone{static_cast<char>(lead), static_cast<char>(second), static_cast<char>(third),
                                  static_cast<char>(fourth)};
          const std::size_t bad = mha::utf8::first_invalid(alone);
          REQUIRE(mha::utf8::first_invalid(alone + "abcdefgh") == bad);
          REQUIRE(mha::utf8::first_invalid("abc" + alone + "abcdefgh") == (bad == mha::utf8::kValid ? bad : bad + 3));
        }
      }
    }
  }
}

TEST_CASE("every code point survives encoding and decoding") {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    mha::utf8::append(text, c);
    std::size_t position = 0;
    REQUIRE(mha::utf8::next(text, position) == c);
    REQUIRE(position == text.size());
    REQUIRE(mha::utf8::first_invalid(text) == mha::utf8::kValid);
  }
}

TEST_CASE("invalid bytes are replaced by maximal subparts") {
  CHECK(mha::utf8::replace_invalid("a\xF0\x9F\x98z"sv) == "a\uFFFDz");
  CHECK(mha::utf8::replace_invalid("\xC0\x80"sv) == "\uFFFD\uFFFD");
  CHECK(mha::utf8::replace_invalid("\xE4\xB8\xAD"sv) == "中");
}
