#!/usr/bin/env python3
"""Asks the reference (Python package tokenizers) about the two properties that shared/tokenizers/tables has no file for,
and writes unicode_scripts.txt (pre-tokenizer UnicodeScripts: which code points share a script; those not listed are
"Any") and numeric.txt (pre-tokenizer Digits). Ranges are hexadecimal and inclusive."""
import pathlib

import tokenizers
from tokenizers import pre_tokenizers

HERE = pathlib.Path(__file__).parent
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(values):
    """(first, last, value) of each run of equal values; code points without a value are left out."""
    runs = []
    for code_point in CODE_POINTS:
        value = values.get(code_point)
        if value is None:
            continue
        if runs and runs[-1][1] == code_point - 1 and runs[-1][2] == value:
            runs[-1][1] = code_point
        else:
            runs.append([code_point, code_point, value])
    return runs


def numeric():
    digits = pre_tokenizers.Digits(individual_digits=True)
    return {c: 1 for c in CODE_POINTS if len(digits.pre_tokenize_str(f"a{chr(c)}a")) == 3}


def scripts():
    """Two code points share a script when no cut falls between them; a lone "Any" gives no piece at all."""
    splitter = pre_tokenizers.UnicodeScripts()
    joined = lambda a, b: len(splitter.pre_tokenize_str(a + b)) == 1
    firsts, number, previous = [], {}, None
    for code_point in CODE_POINTS:
        character = chr(code_point)
        if not splitter.pre_tokenize_str(character):
            continue
        if previous is not None and joined(chr(previous), character):
            number[code_point] = number[previous]
        else:
            found = next((i for i, first in enumerate(firsts) if joined(first, character)), len(firsts))
            if found == len(firsts):
                firsts.append(character)
            number[code_point] = found + 1
        previous = code_point
    return number


def write(name, title, rows):
    lines = [f"# {title}; probed from tokenizers {tokenizers.__version__} by probe.py\n"]
    lines += [f"{first:04X}..{last:04X} {value}\n" for first, last, value in rows]
    (HERE / name).write_text("".join(lines))


write("numeric.txt", "Digits: char::is_numeric", ranges(numeric()))
write("unicode_scripts.txt", "UnicodeScripts: number of the script, numbered by first appearance", ranges(scripts()))
