#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

// Text as a terminal shows it: grapheme clusters (UAX #29) take 0, 1 or 2 columns (East Asian wide and emoji: 2).
// All functions but `escape_controls` and `rows_for_terminal` take valid UTF-8.

/// Control characters, line separators and bidirectional overrides as visible escapes (`\n`, `\t`, `\u{1b}`), so that
/// input text can neither move the cursor nor reorder the line. Bytes that are not UTF-8 become `\xff`.
std::string escape_controls(std::string_view text);

/// JSON whose strings hold no character that acts on a terminal: those are `\u009b`. Line ends stay.
std::string json_for_terminal(std::string_view json);

/// Rows of CSV or TSV likewise, with `\u{9b}`.
std::string rows_for_terminal(std::string_view rows);

/// Grapheme clusters, in order.
std::vector<std::string_view> graphemes(std::string_view text);

/// Columns that the text takes.
std::size_t display_width(std::string_view text);

/// The text cut to at most `columns`, the last of them `…` where something was cut.
std::string fit(std::string_view text, std::size_t columns);

/// `fit` and then padded with blanks to exactly `columns`.
std::string pad_right(std::string_view text, std::size_t columns);
std::string pad_left(std::string_view text, std::size_t columns);

}  // namespace mha
