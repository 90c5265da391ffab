#pragma once

#include <string>
#include <string_view>

namespace mha::tokenizer {

/// The expression with the classes of general categories (`\p{L}`, `\P{Lu}`, `\w`, `\d` and their names) widened to
/// Unicode 16.0, which the reference's Oniguruma knows and the installed one may not: `\p{Nd}` becomes
/// `[\p{Nd}\x{10D40}-\x{10D49}…]`. Scripts, POSIX brackets and `\b` stay with the installed library's version.
std::string with_current_unicode(std::string_view expression);

}  // namespace mha::tokenizer
