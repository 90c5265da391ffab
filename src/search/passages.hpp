#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "mha/tokenizer/tokenizer.hpp"
#include "search/index.hpp"

namespace mha {

/// How a text becomes passages.
struct PassageRules {
  std::size_t tokens = 128;  ///< the most that a passage has, without special tokens and prompt; at least 1
  bool by_line = false;      ///< every line is a passage of its own
};

/// Cuts valid UTF-8 into passages of whole lines: consecutive lines while they fit, ended early by a blank line once a
/// quarter of the room is filled. A longer line is cut between tokens, so that nothing of it is lost and no grapheme
/// cluster is divided. Blank lines are left out. Line numbers are 1-based. LF and CR LF end a line.
std::vector<Passage> cut_into_passages(std::string_view text, const PassageRules& rules, const Tokenizer& tokenizer,
                                       TokenizerScratch& scratch);

/// The text as it is if it has at most `tokens` tokens, else cut as above; nothing if it is blank.
std::vector<Passage> cut_record(std::string_view text, std::size_t tokens, const Tokenizer& tokenizer,
                                TokenizerScratch& scratch);

}  // namespace mha
