#!/usr/bin/env python3
"""make_graphemes.py TABLES.RS > src/unicode/grapheme_table.cpp

Ranges of Grapheme_Cluster_Break, Extended_Pictographic and Indic_Conjunct_Break of Unicode 16.0, as the crate that the
reference uses has them (unicode-segmentation 1.12.0, src/tables.rs, itself made from the Unicode character database).
Hangul syllables are left out: LV and LVT follow from the code point."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).read_text()
KINDS = {"CR": "kCr", "LF": "kLf", "Control": "kControl", "Extend": "kExtend", "ZWJ": "kZwj",
         "Regional_Indicator": "kRegional", "Prepend": "kPrepend", "SpacingMark": "kSpacingMark", "L": "kL", "V": "kV",
         "T": "kT", "Extended_Pictographic": "kPictographic", "InCB_Consonant": "kConsonant"}
LINKERS = {0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xD4D}


def table(name):
    return re.search(r"const " + name + r"\s*:[^=]*=\s*&\[(.*?)\];", source, re.S).group(1)


kinds = {}
for first, last, kind in re.findall(r"\('\\u\{([0-9a-f]+)\}',\s*'\\u\{([0-9a-f]+)\}',\s*GC_(\w+)\)",
                                    table("grapheme_cat_table")):
    if kind not in ("LV", "LVT"):
        for c in range(int(first, 16), int(last, 16) + 1):
            kinds[c] = KINDS[kind]
for first, last in re.findall(r"\('\\u\{([0-9a-f]+)\}',\s*'\\u\{([0-9a-f]+)\}'\)", table("InCB_Extend_table")):
    for c in range(int(first, 16), int(last, 16) + 1):
        kinds[c] = kinds.get(c, "kAny") + " | kConjunctExtend"
for c in LINKERS:
    kinds[c] += " | kConjunctLinker"

rows = []
for c in sorted(kinds):
    if rows and rows[-1][1] == c - 1 and rows[-1][2] == kinds[c]:
        rows[-1][1] = c
    else:
        rows.append([c, c, kinds[c]])

print('#include "unicode/grapheme.hpp"\n\n// Made by scripts/unicode/make_graphemes.py.')
print("namespace mha::unicode {\n\nconst GraphemeRange kGraphemeRanges[] = {")
for first, last, kind in rows:
    print(f"    {{0x{first:X}, 0x{last:X}, {kind}}},")
print("};\nconst std::size_t kGraphemeRangeCount = sizeof(kGraphemeRanges) / sizeof(kGraphemeRanges[0]);")
print("\n}  // namespace mha::unicode")
