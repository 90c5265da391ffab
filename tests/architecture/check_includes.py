#!/usr/bin/env python3
"""Checks that includes point one way, that a library is included in its room only, and that ctest can run every unit test.

Usage: check_includes.py ROOT. Prints one line per violation; exit 1 if there is any.
"""

import re
import sys
from pathlib import Path

# Each module, and the modules whose headers it may include besides its own.
SEES = {
    "core": set(),
    "unicode": {"core"},
    "io": {"unicode", "core"},
    "tokenizer": {"io", "unicode", "core"},
    "ops": {"core"},
    "encoder": {"ops", "core"},
    "model": {"encoder", "ops", "tokenizer", "io", "unicode", "core"},
    "analysis": {"model", "encoder", "ops", "core"},
    "output": {"analysis", "model", "encoder", "tokenizer", "io", "unicode", "core"},
    "pipeline": {"output", "analysis", "model", "encoder", "ops", "tokenizer", "io", "unicode", "core"},
}
SEES["serve"] = set(SEES)
SEES["search"] = set(SEES) - {"serve"}
SEES["cli"] = set(SEES)


# Headers of a library (by how their names begin), and the only folder that may include them.
SEAMS = {
    "cblas": "src/ops/backends/",
    "dnnl": "src/ops/backends/",
    "oneapi/dnnl": "src/ops/backends/",
    "CLI/": "src/cli/",
    "spdlog/": "src/cli/",
    "hwy/": "src/ops/",
    "minizip/": "src/io/",
    "oniguruma": "src/tokenizer/",
    "sqlite3": "src/search/",
    "flatbuffers": "src/io/",
    "xxhash": "src/io/",
    "sha1": "src/io/",
    "sha256": "src/io/",
    "unicode/u": "src/pipeline/",
    "boost/": "src/serve/",
    "prometheus/": "src/serve/",
    "iostream": "src/cli/",  # the library prints nothing
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<open>[<"])(?P<name>[^>"]+)[>"]')


def check(path, module, root):
    place = path.relative_to(root).as_posix()
    is_public = place.startswith("include/")
    text = path.read_text(encoding="utf-8")
    problems = []
    # `-inl.hpp` files are compiled once a CPU level (Highway): they are meant to be included again.
    if path.name.endswith(".hpp") and not path.name.endswith("-inl.hpp") and not text.startswith("#pragma once"):
        problems.append((1, "a header starts with #pragma once"))
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match["name"]
        for library, folder in SEAMS.items():
            if name.startswith(library) and not place.startswith(folder):
                problems.append((number, f"only {folder} includes {name}"))
        if is_public and (name == "nlohmann/json.hpp" or (match["open"] == '"' and not name.startswith("mha/"))):
            problems.append((number, f"a public header includes {name}"))
        other = name.removeprefix("mha/").split("/")[0]
        if match["open"] != '"' or other not in SEES or other == module or other in SEES[module]:
            continue
        problems.append((number, f"{module} includes {name}, but may see only {', '.join(sorted(SEES[module]))}"))
    return [f"{place}:{number}: {problem}" for number, problem in problems]


def untestable_names(path, root):
    """CMake takes a semicolon for the end of a name: such a test would be found in two halves and never run."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r'TEST_CASE\("[^"]*;', line):
            yield f"{path.relative_to(root)}:{number}: a semicolon in the name of a test"


def main():
    root = Path(sys.argv[1]).resolve()
    problems = []
    files = 0
    for top in ("include/mha", "src"):
        for folder in sorted((root / top).iterdir()):
            if not folder.is_dir():
                continue
            if folder.name not in SEES:
                problems.append(f"{top}/{folder.name}: a module that this check does not know")
                continue
            for path in sorted(folder.rglob("*")):
                if path.suffix in (".hpp", ".cpp"):
                    files += 1
                    problems += check(path, folder.name, root)
    for path in sorted((root / "tests/unit").rglob("*.cpp")):
        problems += untestable_names(path, root)
    print("\n".join(problems) if problems else f"{files} files: includes point one way")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
