#!/usr/bin/env python3
"""readme.py MHA_CLI README: runs what the README shows and compares what it says comes out.

A fenced block that begins with ```console is checked: a line `$ COMMAND` is run by bash (a line that ends in `\\` goes on),
the lines up to the next `$` are its output, stdout and stderr together. A line `…` stands for any number of lines, and `…`
inside a line for any text. Commands see the program as `mha-cli`, the repository as current folder and a width of 80.
Blocks of other languages are not run."""
import os
import re
import subprocess
import sys
import tempfile


def blocks(text):
    for match in re.finditer(r"^```console\n(.*?)^```", text, re.M | re.S):
        line = text[: match.start()].count("\n") + 2
        yield line, match.group(1).splitlines()


def commands(lines, first):
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


def main():
    program, readme = (os.path.abspath(path) for path in sys.argv[1:3])
    root = os.path.dirname(readme)
    text = open(readme, encoding="utf8").read()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, os.path.join(folder, "mha-cli"))
        env = {k: v for k, v in os.environ.items() if not k.startswith("MHA_")}
        env.update(PATH=folder + ":" + env["PATH"], COLUMNS="80", NO_COLOR="1", LC_ALL="C.UTF-8", MHA_SCRATCH=folder)
        for first, lines in blocks(text):
            for at, command, output in commands(lines, first):
                count += 1
                run = subprocess.run(["bash", "-c", command], cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, timeout=300)
                got = run.stdout.decode("utf8", "replace")
                if got and not got.endswith("\n"):
                    got += "\n"
                if not re.fullmatch(pattern(output) + r"\n*", got):
                    failed += 1
                    print(f"{os.path.basename(readme)}:{at}: $ {command}\n--- shown\n" + "\n".join(output) + "\n--- comes out\n" + got)
    if count == 0:
        print(f"{readme}: no command to check")
        return 1
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
