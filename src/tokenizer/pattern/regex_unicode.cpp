#include "tokenizer/pattern/regex_unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

namespace mha::tokenizer {
namespace {

struct Addition {
  std::uint32_t first;
  std::uint32_t last;
  std::string_view category;
  std::string_view former;  ///< category in Unicode 14.0; Cn: unassigned
};

constexpr Addition kAdditions[] = {
#include "tokenizer/pattern/regex_additions.inc"
};

struct ScriptAddition {
  std::uint32_t first;
  std::uint32_t last;
  std::string_view script;
};

// Likewise of scripts and of Alphabetic, from the engine's own tables (src/unicode_property_data.c of 6.9.10 against
// the library 6.9.8).
constexpr ScriptAddition kScriptAdditions[] = {
#include "tokenizer/pattern/regex_script_additions.inc"
};

// Oniguruma counts these as \w, but not as part of a class in brackets.
constexpr std::string_view kLatin1Words = "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

struct LongName {
  std::string_view name;
  std::string_view category;
};

// Names without case, spaces, '-' and '_', as the library compares them.
constexpr LongName kLongNames[] = {
    {"letter", "l"},
    {"uppercaseletter", "lu"},
    {"lowercaseletter", "ll"},
    {"titlecaseletter", "lt"},
    {"modifierletter", "lm"},
    {"otherletter", "lo"},
    {"mark", "m"},
    {"combiningmark", "m"},
    {"nonspacingmark", "mn"},
    {"spacingmark", "mc"},
    {"enclosingmark", "me"},
    {"number", "n"},
    {"decimalnumber", "nd"},
    {"letternumber", "nl"},
    {"othernumber", "no"},
    {"punctuation", "p"},
    {"punct", "p"},
    {"connectorpunctuation", "pc"},
    {"dashpunctuation", "pd"},
    {"openpunctuation", "ps"},
    {"closepunctuation", "pe"},
    {"initialpunctuation", "pi"},
    {"finalpunctuation", "pf"},
    {"otherpunctuation", "po"},
    {"symbol", "s"},
    {"mathsymbol", "sm"},
    {"currencysymbol", "sc"},
    {"modifiersymbol", "sk"},
    {"othersymbol", "so"},
    {"separator", "z"},
    {"other", "c"},
    {"control", "cc"},
    {"format", "cf"},
    {"unassigned", "cn"},
    {"digit", "nd"},
    {"word", "w"},
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

/// Without case, spaces, '-' and '_'.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') plain += lower(c);
  }
  return plain;
}

/// Appends the code points that Unicode 16.0 added to a category, \w ("w") or a script, and to `removed` what it took.
void append_changes(std::string& out, std::string_view wanted, bool is_category, std::string& removed) {
  if (!is_category) {
    for (const ScriptAddition& a : kScriptAdditions) {
      if (a.script == wanted) append_range(out, a.first, a.last);
    }
    return;
  }
  for (const Addition& a : kAdditions) {
    if (belongs(a.category, wanted)) {
      append_range(out, a.first, a.last);
    } else if (belongs(a.former, wanted)) {
      append_range(removed, a.first, a.last);
    }
  }
}

/// Appends a class in brackets: `token` as written in the expression, not negated, and the changes.
void append_class(std::string& out, std::string_view token, std::string_view wanted, bool is_category, bool negated) {
  std::string removed;
  out += negated ? "[^" : "[";
  out += token;
  append_changes(out, wanted, is_category, removed);
  if (!removed.empty()) out += "&&[^" + removed + "]";
  out += ']';
}

/// The category of a property name as it stands between the braces, empty when it is none.
std::string category_of(std::string_view plain) {
  for (const LongName& row : kLongNames) {
    if (row.name == plain) return std::string(row.category);
  }
  constexpr std::string_view kShort =
      " l lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf cs co cn ";
  const bool known =
      plain.size() <= 2 && !plain.empty() && kShort.find(" " + std::string(plain) + " ") != std::string_view::npos;
  return known ? std::string(plain) : std::string();
}

bool is_changed_script(std::string_view plain) {
  return std::any_of(std::begin(kScriptAdditions), std::end(kScriptAdditions),
                     [&](const ScriptAddition& a) { return a.script == plain; });
}

}  // namespace

std::string with_current_unicode(std::string_view expression) {
  std::string out;
  std::size_t depth = 0;  // of brackets
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    if (rest[0] == '[') {
      // It stands for P and S since 6.9.9.
      constexpr std::string_view kPunct = "[:punct:]";
      if (depth > 0 && rest.starts_with(kPunct)) {
        append_class(out, "\\p{P}", "p", true, false);
        append_class(out, "\\p{S}", "s", true, false);
        i += kPunct.size() - 1;
        continue;
      }
      if (const std::size_t close = rest.find(":]"); depth > 0 && rest.starts_with("[:") && close < 12) {
        const std::string_view name = rest.substr(2, close - 2);
        out += rest.substr(0, close + 2);
        std::string removed;  // these three only grew
        if (name == "alpha" || name == "alnum") append_changes(out, "alpha", false, removed);
        if (name == "alnum" || name == "digit") append_changes(out, "nd", true, removed);
        if (name == "word") append_changes(out, "w", true, removed);
        i += close + 1;
        continue;
      }
      ++depth;
      out += '[';
      if (i + 1 < expression.size() && expression[i + 1] == '^') out += expression[++i];
      if (i + 1 < expression.size() && expression[i + 1] == ']') out += expression[++i];
      continue;
    }
    if (rest[0] == ']' && depth > 0) --depth;
    if (rest[0] != '\\' || rest.size() == 1) {
      out += rest[0];
      continue;
    }
    const char letter = rest[1];
    if (lower(letter) == 'w' || lower(letter) == 'd') {
      const bool is_word = lower(letter) == 'w';
      std::string token = is_word ? "\\w" : "\\d";
      if (is_word && depth == 0) token += kLatin1Words;
      append_class(out, token, is_word ? "w" : "nd", true, letter < 'a');
      ++i;
      continue;
    }
    // The engine's own borders of words know only its own \\w.
    if (depth == 0 && lower(letter) == 'b') {
      std::string word;
      append_class(word, "\\w" + std::string(kLatin1Words), "w", true, false);
      const char* const behind = letter == 'b' ? "(?!" : "(?=";
      const char* const before = letter == 'b' ? "(?=" : "(?!";
      out += "(?:(?<=" + word + ")" + behind + word + ")|(?<!" + word + ")" + before + word + "))";
      ++i;
      continue;
    }
    if (const std::size_t close = rest.find('}'); rest.starts_with("\\p{") || rest.starts_with("\\P{")) {
      std::string_view name = rest.substr(3, close == std::string_view::npos ? 0 : close - 3);
      const bool caret = name.starts_with('^');
      if (caret) name.remove_prefix(1);
      const std::string plain = plain_name(name);
      const std::string category = category_of(plain);
      if (!category.empty() || is_changed_script(plain)) {
        append_class(out, "\\p{" + std::string(name) + "}", category.empty() ? plain : category, !category.empty(),
                     (letter == 'P') != caret);
        i += close;
        continue;
      }
    }
    out += rest.substr(0, 2);
    ++i;
  }
  return out;
}

}  // namespace mha::tokenizer
