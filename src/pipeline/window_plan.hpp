#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"

namespace mha {

/// Tokens [first, last) of an encoding.
struct TokenRange {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t size() const { return last - first; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

/// The tokens of the text: after the opening special tokens and the `prompt` bytes, before the closing ones.
TokenRange text_tokens(const Encoding& encoding, std::size_t prompt);

/// Windows of at most `most` tokens; neighbours share `overlap` < `most`. One window if nothing needs to be cut.
/// `may_begin`, by token, says where a window may begin: the next lower such token is taken, so that a window is
/// shorter and the overlap longer; if there is none within a window, it is cut all the same. Empty: anywhere.
std::vector<TokenRange> cut_evenly(TokenRange text, std::size_t most, std::size_t overlap,
                                   const std::vector<bool>& may_begin = {});

/// Windows of whole sentences, joined while they have at most `most` tokens (0: never joined); a sentence over
/// `longest`, or over `most`, is cut. A token belongs to the sentence that it ends in. `starts`: bytes at which
/// sentences begin, counted as offsets are. `may_begin`: as of `cut_evenly`, for sentences that are cut.
std::vector<TokenRange> cut_by_sentences(const Encoding& encoding, TokenRange text,
                                         const std::vector<std::size_t>& starts, std::size_t most, std::size_t longest,
                                         const std::vector<bool>& may_begin = {});

/// One pass over tokens, and the windows [first_window, last_window) that are pooled from it.
struct TextPass {
  TokenRange tokens;
  std::size_t first_window = 0;
  std::size_t last_window = 0;
};

/// Passes of at most `room` tokens. Each but the first begins `overlap` tokens before its first window, or fewer if
/// that window would not fit.
std::vector<TextPass> plan_passes(const std::vector<TokenRange>& windows, std::size_t room, std::size_t overlap);

}  // namespace mha
