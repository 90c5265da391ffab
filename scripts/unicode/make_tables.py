#!/usr/bin/env python3
"""make_tables.py TABLES > src/unicode/tables.cpp

Turns the reference's per-code-point behaviour (../shared/tokenizers/tables, and the files beside this script) into the
two-stage tables of the tokenizer. Each property stays at the Unicode version that the reference has it at (README.md of
the tables). Canonical combining classes come from Python's unicodedata, cut to the marks of Unicode 9.0 by the table of
StripAccents: classes never change once given, and only marks have one."""
import pathlib
import sys
import unicodedata

TABLES = pathlib.Path(sys.argv[1])
HERE = pathlib.Path(__file__).parent
LIMIT = 0x110000
BLOCK = 64
HANGUL = range(0xAC00, 0xD7A4)

# Order and names as in unicode.hpp.
FLAGS = [
    ("kBertRemoved", "bert_clean_removed"),
    ("kBertSpace", "bert_clean_to_space"),
    ("kBertNonspacing", "bert_strip_accents_removed_Mn"),
    ("kBertPunctuation", "bert_pretok_punct"),
    ("kWhiteSpace", "WhitespaceSplit"),
    ("kMark", "StripAccents_removed_M"),
    ("kWord", "Whitespace_pretok_w"),
    ("kNumeric", None),
    ("kOnigLetter", "onig_L"),
    ("kOnigNumber", "onig_N"),
    ("kOnigPunctuation", "onig_P"),
    ("kOnigMark", "onig_M"),
    ("kOnigWord", "onig_w"),
    ("kChangesLowercase", None),
    ("kChangesNfd", None),
    ("kChangesNfkd", None),
    ("kMayChangeNfc", None),
    ("kMayChangeNfkc", None),
    ("kChinese", "bert_cjk"),
]


def lines(path):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def code_points(path):
    for line in lines(path):
        first, _, last = line.split()[0].partition("..")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def mapping(name):
    rows = (line.split("\t") for line in lines(TABLES / f"{name}.txt"))
    return {int(a, 16): [int(x, 16) for x in b.split()] for a, b in rows}


def combining_class(c):
    return unicodedata.combining(chr(c)) if c in MARKS else 0


MARKS = set(code_points(TABLES / "StripAccents_removed_M.txt"))
NFD, NFKD, NFC, LOWER = mapping("nfd"), mapping("nfkd"), mapping("nfc"), mapping("lowercase")
NFKC = mapping("nfkc")


def primary_composites():
    """(first, second) -> composite. The tables have full decompositions; the last step of one is its last code point
    and the composite of all before it."""
    by_decomposition = {}
    for c, parts in NFD.items():
        if c not in NFC and c not in HANGUL:
            by_decomposition[tuple(parts)] = c
    pairs = {}
    for parts, c in by_decomposition.items():
        if len(parts) < 2:
            continue
        first = parts[0] if len(parts) == 2 else by_decomposition[parts[:-1]]
        pairs[first, parts[-1]] = c
    return pairs


def two_stage(values):
    """Blocks of equal content are stored once: (index of each block, the blocks one after the other)."""
    index, blocks, seen = [], [], {}
    for begin in range(0, LIMIT, BLOCK):
        block = tuple(values[begin : begin + BLOCK])
        if block not in seen:
            seen[block] = len(seen)
            blocks += block
        index.append(seen[block])
    return index, blocks


def emit_array(type_, name, values, per_line=24):
    print(f"const {type_} {name}[] = {{")
    for i in range(0, len(values), per_line):
        print("    " + ",".join(str(v) for v in values[i : i + per_line]) + ",")
    print("};\n")


def emit_two_stage(name, values, type_="std::uint8_t"):
    index, blocks = two_stage(values)
    emit_array("std::uint16_t", f"{name}Index", index)
    emit_array(type_, f"{name}Blocks", blocks)


def emit_mapping(name, table):
    """Where each mapped code point's target begins and how long it is, and all targets one after the other."""
    pool, entries, values, seen = [], [0], [0] * LIMIT, {}
    for c in sorted(table):
        target = tuple(table[c])
        if target not in seen:
            seen[target] = len(entries)
            entries.append(len(pool) << 8 | len(target))
            pool += target
        values[c] = seen[target]
    emit_two_stage(name, values, "std::uint16_t")
    emit_array("std::uint32_t", f"{name}Entries", entries)
    emit_array("char32_t", f"{name}Pool", pool)


PAIRS = primary_composites()
SECONDS = {second for _, second in PAIRS} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
flags = [0] * LIMIT
for bit, (_, file) in enumerate(FLAGS):
    if file:
        for c in code_points(TABLES / f"{file}.txt"):
            flags[c] |= 1 << bit


def set_flag(name, members):
    bit = [n for n, _ in FLAGS].index(name)
    for c in members:
        flags[c] |= 1 << bit


CLASSES = [combining_class(c) if c in MARKS else 0 for c in range(LIMIT)]
ORDERED = {c for c in MARKS if CLASSES[c]}
set_flag("kNumeric", code_points(HERE / "numeric.txt"))
set_flag("kChangesLowercase", LOWER)
# "Changes" also says: may have to be reordered. A text without such a character is normalized already.
set_flag("kChangesNfd", set(NFD) | ORDERED)
set_flag("kChangesNfkd", set(NFKD) | ORDERED)
set_flag("kMayChangeNfc", set(NFC) | ORDERED | SECONDS)
set_flag("kMayChangeNfkc", set(NFKC) | ORDERED | SECONDS)

kinds = sorted(set(flags))
assert len(kinds) < 256
number = {value: i for i, value in enumerate(kinds)}
scripts = [0] * LIMIT
for line in lines(HERE / "unicode_scripts.txt"):
    bounds, value = line.split()
    first, last = (int(x, 16) for x in bounds.split(".."))
    scripts[first : last + 1] = [int(value)] * (last + 1 - first)

print("// Made by scripts/unicode/make_tables.py; do not edit.\n")
print('#include "unicode/properties.hpp"\n')
print("namespace mha::unicode {\n")
print("// clang-format off")
emit_two_stage("kKind", [number[value] for value in flags])
emit_array("std::uint32_t", "kKindFlags", kinds)
emit_two_stage("kScript", scripts)
emit_two_stage("kClass", CLASSES)
emit_mapping("kLower", LOWER)
emit_mapping("kNfd", {c: v for c, v in NFD.items() if c not in HANGUL})
emit_mapping("kNfkd", {c: v for c, v in NFKD.items() if c not in HANGUL})
rows = sorted((first << 32 | second, c) for (first, second), c in PAIRS.items())
emit_array("std::uint64_t", "kPairs", [f"{key}U" for key, _ in rows], 8)
emit_array("char32_t", "kComposites", [c for _, c in rows], 16)
print(f"const std::size_t kPairCount = {len(rows)};")
print("// clang-format on\n")
print("}  // namespace mha::unicode")
for c, target in LOWER.items():
    assert len(target) == 1 or c == 0x130, hex(c)
