#!/usr/bin/env python3
"""make_regex_additions.py > src/tokenizer/pattern/regex_additions.inc

Code points whose general category differs between Unicode 14.0 (Debian's Oniguruma 6.9.8) and 16.0 (the reference's
6.9.10). Needs a Python whose unicodedata is 14.0 (3.11) and the package unicodedata2 16.0.0."""
import unicodedata
import unicodedata2

assert (unicodedata.unidata_version, unicodedata2.unidata_version) == ("14.0.0", "16.0.0")
rows = []
for c in range(0x110000):
    old, new = unicodedata.category(chr(c)), unicodedata2.category(chr(c))
    if old == new:
        continue
    if rows and rows[-1][1] == c - 1 and rows[-1][2:] == [new, old]:
        rows[-1][1] = c
    else:
        rows.append([c, c, new, old])
for first, last, new, old in rows:
    print(f'{{0x{first:X}, 0x{last:X}, "{new}", "{old}"}},')
