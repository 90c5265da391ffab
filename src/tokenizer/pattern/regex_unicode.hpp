#pragma once

#include <string>
#include <string_view>

namespace mha::tokenizer {

/// The expression with its classes widened to Unicode 16.0, which the reference's Oniguruma (6.9.10) knows and the
/// installed one may not: general categories and scripts (`\p{L}`, `\P{Lu}`, `\p{Han}` and their names), `\w`, `\d`,
/// `[:alpha:]` and its like, `[:punct:]`. `\p{Nd}` becomes `[\p{Nd}\x{10D40}-\x{10D49}…]`. Scripts that are new
/// since 14.0, derived properties other than Alphabetic and `\b` stay with the installed library.
std::string with_current_unicode(std::string_view expression);

}  // namespace mha::tokenizer
