#!/usr/bin/env python3
"""Reads every C++ file of a build with clang, warnings as errors, without making objects.

check_clang.py COMPILE_COMMANDS [PART]    PART: only files whose path contains it

Prints each warning once, and exits 1 if there is any; without clang++ it prints "skipped: no clang++".
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

GCC_ONLY = {"-Wno-maybe-uninitialized"}


def check(clang, entry):
    words = shlex.split(entry["command"])
    while words and not os.path.basename(words[0]).endswith(("++", "cc")):
        words.pop(0)  # a launcher such as ccache
    flags = []
    for word in words[1:]:
        if word in GCC_ONLY:
            continue
        flags.append("-fsyntax-only" if word == "-c" else word)
    place = flags.index("-o")
    del flags[place : place + 2]
    command = [clang, *flags, "-Werror", "-Wno-unknown-warning-option"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


def main():
    clang = shutil.which("clang++")
    if not clang:
        print("skipped: no clang++")
        return 0
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["file"].endswith(".cpp")]
    if len(sys.argv) > 2:
        entries = [entry for entry in entries if sys.argv[2] in entry["file"]]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, text in pool.map(lambda entry: check(clang, entry), entries):
            if code != 0:
                failed += 1
                print(f"{name}:\n{text}")
    print(f"{len(entries)} files, {failed} with warnings")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
