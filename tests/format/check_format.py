#!/usr/bin/env python3
"""Checks how the sources look. Prints one line per violation; exit 1 if there is any.

check_format.py clang ROOT   C++ files are what clang-format 14 makes of them; without that version: "skipped: …", exit 0
check_format.py lines ROOT   lines are at most 120 characters long, without tabs and blanks at their end, and tests use
                             only names that Catch2 2 and 3 both have
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT = 120
CXX = {".cpp", ".hpp"}
FOLDERS = ("include", "src", "tests", "cmake", "scripts", ".ci")
GENERATED = re.compile(r"// clang-format off\n.*?(// clang-format on\n|\Z)", re.DOTALL)
RAW_TEXT = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)  # JSON and patterns are quoted as they are


def files_of(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "data" not in path.parts and "corpus" not in path.parts:
                yield path
    yield from root.glob("*.txt")


def is_shell(path):
    return path.suffix == "" and path.read_bytes()[:9] == b"#!/bin/sh"


def clang_format(root):
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program else ""
    if "version 14." not in version:
        print("skipped: no clang-format 14" + (f", only {version.strip()}" if version else ""))
        return 0
    files = [str(path) for path in files_of(root) if path.suffix in CXX]
    done = subprocess.run([program, "--dry-run", "-Werror", *files], capture_output=True, text=True, cwd=root)
    print(done.stderr, end="")
    print(f"{len(files)} files, " + ("as clang-format makes them" if done.returncode == 0 else "see above"))
    return done.returncode


def checked(path):
    return path.suffix in CXX | {".cmake"} or path.name == "CMakeLists.txt" or is_shell(path)


def blanked(match):
    """What stays of text that is not checked: its lines, not empty."""
    return "_\n" * match.group().count("\n") + "_"


def lines(root):
    problems = []
    count = 0
    for path in files_of(root):
        if not checked(path):
            continue
        count += 1
        text = path.read_text(encoding="utf-8")
        if path.suffix in CXX:
            text = RAW_TEXT.sub(blanked, GENERATED.sub(blanked, text))
        for number, line in enumerate(text.split("\n"), 1):
            place = f"{path.relative_to(root)}:{number}"
            if len(line) > LIMIT:
                problems.append(f"{place}: {len(line)} characters, more than {LIMIT}")
            if line != line.rstrip() or "\t" in line:
                problems.append(f"{place}: a tab, or blanks at the end")
            if "Catch::Matchers::Contains" in line or "CATCH_CONFIG" in line and path.name != "catch2_main.cpp":
                problems.append(f"{place}: Catch2 2 or 3 does not have this name; see tests/support/catch3")
    print("\n".join(problems + [f"{count} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("clang", "lines"):
        sys.exit(__doc__)
    sys.exit({"clang": clang_format, "lines": lines}[sys.argv[1]](Path(sys.argv[2]).resolve()))
