#!/usr/bin/env python3
"""links.py: checks the Markdown files of the repository without the program. Each relative link must name a file that exists, and
each `#part` a heading of that file. README.md must have at most 9,000 characters, so that a stranger reads it in two minutes.
The C++ of docs/library.md must be that of tests/install/consumer.cpp, which is built and run. docs/library.md must name
each public header, docs/internals.md each room of src/, and README.md each page of docs/."""
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
README_LIMIT = 9000


def markdown_files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".md"))


def prose(text):
    """The text without code: links inside code are not links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(path):
    """The names that GitHub gives to the headings of a file."""
    with open(path, encoding="utf8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = 0
        while (name if count == 0 else f"{name}-{count}") in names:
            count += 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf8") as file:
        return file.read()


def others():
    consumer, internals, readme = read("tests/install/consumer.cpp"), read("docs/internals.md"), read("README.md")
    for block in re.findall(r"^```cpp\n(.*?)^```", read("docs/library.md"), re.M | re.S):
        if block not in consumer:
            yield "docs/library.md: the example is not that of tests/install/consumer.cpp"
    headers = os.path.join(ROOT, "include/mha")
    for folder, _, names in os.walk(headers):
        for name in sorted(names):
            header = os.path.relpath(os.path.join(folder, name), headers)
            if f"`{header}`" not in read("docs/library.md"):
                yield f"docs/library.md: the table of headers does not name {header}"
    for room in sorted(os.listdir(os.path.join(ROOT, "src"))):
        if os.path.isdir(os.path.join(ROOT, "src", room)) and f"| `{room}` |" not in internals:
            yield f"docs/internals.md: the table of rooms has no row for {room}"
    for page in sorted(os.listdir(os.path.join(ROOT, "docs"))):
        if page.endswith(".md") and f"(docs/{page})" not in readme:
            yield f"README.md: no link to docs/{page}"


def main():
    failures, links = [], 0
    for path in markdown_files():
        with open(path, encoding="utf8") as file:
            text = file.read()
        targets = re.findall(r"\]\(([^)\s]+)\)", prose(text)) + re.findall(r"<img[^>]* src=\"([^\"]+)\"", prose(text))
        for target in targets:
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            name, _, part = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(file):
                failures.append(f"{os.path.relpath(path, ROOT)}: {target}: no such file")
            elif part and part not in anchors(file):
                failures.append(f"{os.path.relpath(path, ROOT)}: {target}: no such heading")
    size = len(read("README.md"))
    if size > README_LIMIT:
        failures.append(f"README.md has {size} characters, more than {README_LIMIT}")
    failures += others()
    print("\n".join([*failures, f"{links} links, {len(failures)} failures"]))
    return 1 if failures or links == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
