#include "tokenizer/regex_unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace mha::tokenizer {
namespace {

struct Addition {
  std::uint32_t first;
  std::uint32_t last;
  std::string_view category;
  std::string_view former;  ///< category in Unicode 14.0; Cn: unassigned
};

constexpr Addition kAdditions[] = {
#include "tokenizer/regex_additions.inc"
};

struct LongName {
  std::string_view name;
  std::string_view category;
};

// Names without case, spaces, '-' and '_', as the library compares them.
constexpr LongName kLongNames[] = {
    {"letter", "l"},          {"uppercaseletter", "lu"},    {"lowercaseletter", "ll"},  {"titlecaseletter", "lt"},
    {"modifierletter", "lm"}, {"otherletter", "lo"},        {"mark", "m"},              {"combiningmark", "m"},
    {"nonspacingmark", "mn"}, {"spacingmark", "mc"},        {"enclosingmark", "me"},    {"number", "n"},
    {"decimalnumber", "nd"},  {"letternumber", "nl"},       {"othernumber", "no"},      {"punctuation", "p"},
    {"punct", "p"},           {"connectorpunctuation", "pc"}, {"dashpunctuation", "pd"}, {"openpunctuation", "ps"},
    {"closepunctuation", "pe"}, {"initialpunctuation", "pi"}, {"finalpunctuation", "pf"}, {"otherpunctuation", "po"},
    {"symbol", "s"},          {"mathsymbol", "sm"},         {"currencysymbol", "sc"},   {"modifiersymbol", "sk"},
    {"othersymbol", "so"},    {"separator", "z"},           {"other", "c"},             {"control", "cc"},
    {"format", "cf"},         {"unassigned", "cn"},         {"digit", "nd"},            {"word", "w"},
};

void append_range(std::string& out, std::uint32_t first, std::uint32_t last) {
  char digits[8];
  const auto append = [&](std::uint32_t c) {
    out += "\\x{";
    out.append(digits, std::to_chars(digits, digits + sizeof(digits), c, 16).ptr);
    out += '}';
  };
  append(first);
  if (last == first) return;
  out += '-';
  append(last);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Whether a general category ("Lu", "Cn") belongs to a class of one ("l"), two ("lu") letters or to \w.
bool belongs(std::string_view category, std::string_view wanted) {
  const char major = lower(category[0]);
  const char minor = lower(category[1]);
  if (wanted == "w") return major == 'l' || major == 'm' || category == "Nd" || category == "Pc";
  return wanted[0] == major && (wanted.size() == 1 || wanted[1] == minor);
}

/// Appends the class `token` (as written in the expression, not negated) with what Unicode 16.0 changed.
void append_class(std::string& out, std::string_view token, std::string_view wanted, bool negated) {
  out += negated ? "[^" : "[";
  out += token;
  std::string removed;
  for (const Addition& a : kAdditions) {
    if (belongs(a.category, wanted)) {
      append_range(out, a.first, a.last);
    } else if (belongs(a.former, wanted)) {
      append_range(removed, a.first, a.last);
    }
  }
  if (!removed.empty()) out += "&&[^" + removed + "]";
  out += ']';
}

/// The category of a property name as it stands between the braces, empty when it is none.
std::string category_of(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') plain += lower(c);
  }
  for (const LongName& row : kLongNames) {
    if (row.name == plain) return std::string(row.category);
  }
  constexpr std::string_view kShort = " l lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf cs co cn ";
  const bool known = plain.size() <= 2 && !plain.empty() && kShort.find(" " + plain + " ") != std::string_view::npos;
  return known ? plain : std::string();
}

}  // namespace

std::string with_current_unicode(std::string_view expression) {
  std::string out;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] != '\\' || i + 1 == expression.size()) {
      out += expression[i];
      continue;
    }
    const char letter = expression[i + 1];
    if (letter == 'w' || letter == 'W' || letter == 'd' || letter == 'D') {
      const bool is_word = lower(letter) == 'w';
      append_class(out, is_word ? "\\w" : "\\d", is_word ? "w" : "nd", letter < 'a');
      ++i;
      continue;
    }
    const std::size_t close = expression.find('}', i);
    if ((letter == 'p' || letter == 'P') && i + 2 < expression.size() && expression[i + 2] == '{' &&
        close != std::string_view::npos) {
      std::string_view name = expression.substr(i + 3, close - i - 3);
      bool negated = letter == 'P';
      if (name.starts_with('^')) {
        negated = !negated;
        name.remove_prefix(1);
      }
      if (const std::string category = category_of(name); !category.empty()) {
        append_class(out, "\\p{" + std::string(name) + "}", category, negated);
        i = close;
        continue;
      }
    }
    out += expression.substr(i, 2);
    ++i;
  }
  return out;
}

}  // namespace mha::tokenizer
