#!/usr/bin/env python3
"""examples.py MHA_CLI FILE… [--write]: runs the commands that Markdown files show, and compares their output.

A fenced block that begins with ```console is checked. A line `$ COMMAND` is run by bash; if it ends in `\\`, the next line
belongs to it. The lines up to the next `$` are the expected output, stdout and stderr together. A line `…` matches any number
of lines, and `…` inside a line matches any text. Blocks of other languages are not run.

A command finds the program as `mha-cli` and the repository as its current folder; the terminal is 80 columns wide. The commands
of one file share a scratch folder, `$MHA_SCRATCH`. --write replaces output that differs, unless it contains `…`.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def blocks(text):
    """(number of the first line, lines) of each console block."""
    for match in re.finditer(r"^```console\n(.*?)^```", text, re.M | re.S):
        line = text[: match.start()].count("\n") + 2
        yield line, match.group(1).splitlines()


def commands(lines, first):
    """(line number, command, expected output) of each command in a block."""
    command, output, at, more = None, [], first, False
    for number, line in enumerate(lines, first):
        if more:
            command += "\n" + line
            more = line.endswith("\\")
        elif line.startswith("$ "):
            if command is not None:
                yield at, command, output
            command, output, at, more = line[2:], [], number, line.endswith("\\")
        elif command is not None:
            output.append(line)
    if command is not None:
        yield at, command, output


def pattern(lines):
    parts = []
    for line in lines:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(p) for p in line.rstrip().split("…")) + r"[ \t]*\n")
    return "".join(parts)


def replace(text, changes):
    """`text` with each (first line, old lines, new lines) replaced; blank lines at the end of an output stay."""
    lines = text.splitlines()
    for begin, old, new in reversed(changes):
        blank = len(old) - len("\n".join(old).rstrip("\n").split("\n")) if old else 0
        lines[begin:begin + len(old)] = new + [""] * blank
    return "\n".join(lines) + "\n"


def check(program, path, write):
    """(commands, failures) of one file."""
    with open(path, encoding="utf8") as file:
        text = file.read()
    changes, failed, count = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, os.path.join(folder, "mha-cli"))
        env = {k: v for k, v in os.environ.items() if not k.startswith("MHA_")}
        env.update(PATH=folder + ":" + env["PATH"], COLUMNS="80", NO_COLOR="1", LC_ALL="C.UTF-8", MHA_SCRATCH=folder)
        for first, lines in blocks(text):
            for at, command, output in commands(lines, first):
                count += 1
                run = subprocess.run(["bash", "-c", command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
                got = run.stdout.decode("utf8", "replace")
                if got and not got.endswith("\n"):
                    got += "\n"
                if re.fullmatch(pattern(output) + r"\n*", got):
                    continue
                if write and not any("…" in line for line in output):
                    changes.append((at + command.count("\n"), output, [line.rstrip() for line in got.rstrip("\n").split("\n")]))
                    continue
                failed += 1
                print(f"{os.path.relpath(path, ROOT)}:{at}: $ {command}\n--- shown\n" + "\n".join(output) + "\n--- printed\n" + got)
    if changes:
        with open(path, "w", encoding="utf8") as file:
            file.write(replace(text, changes))
        print(f"{os.path.relpath(path, ROOT)}: {len(changes)} written")
    return count, failed


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    program, paths = os.path.abspath(arguments[0]), arguments[1:]
    counts = [check(program, path, "--write" in sys.argv) for path in paths]
    total, failed = sum(count for count, _ in counts), sum(failed for _, failed in counts)
    print(f"{total} commands in {len(paths)} files, {failed} failed")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
