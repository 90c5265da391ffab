#!/usr/bin/env python3
"""Manual pages, completions and the reference name the same commands and options; completions work in real shells.

Usage: completion.py PROGRAM REFERENCE (docs/cli.md)
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
REFERENCE = Path(sys.argv[2]).resolve()
FOLDER = Path(tempfile.mkdtemp())


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                          stdin=subprocess.DEVNULL, encoding="utf-8", env={**os.environ, "COLUMNS": "100"})
    return done.stdout


def complete(*words):
    return [line.split("\t")[0] for line in run("complete", "--", *words).splitlines()]


def commands():
    text = run("--help").split("\nCommands:\n")[1].split("\n\n")[0]
    return [match[1] for match in re.finditer(r"^  (\S+(?: [a-z-]+)?)(?=  |$)", text, re.M)]


def options(command):
    return re.findall(r"^  (?:-\w, |    )(--[a-z0-9-]+)", run(*command.split(), "--help"), re.M)


def needs(tool):
    return unittest.skipIf(shutil.which(tool) is None, f"skipped: no {tool}")


def type_in(shell, text, seconds=20, until=None):
    """What a shell on a terminal shows after some keys."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(FOLDER)
        os.execvpe(shell[0], shell, {**os.environ, "PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}", "TERM": "dumb",
                                     "HOME": str(FOLDER)})
    shown = b""
    end = time.time() + seconds
    os.write(terminal, text.encode())
    while time.time() < end and not (until and re.search(until, shown.decode(errors="replace"))):
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
    os.close(terminal)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return shown.decode(errors="replace").replace("\x07", "")


class Pages(unittest.TestCase):
    def test_every_option_is_in_page_completion_and_reference(self):
        reference = REFERENCE.read_text(encoding="utf-8")
        self.assertGreater(len(commands()), 15)
        for command in commands():
            page = (FOLDER / "man/man1" / f"mha-cli-{command.replace(' ', '-')}.1").read_text(encoding="utf-8")
            page = page.replace("\\-", "-").replace("\\fR", "").replace("\\fB", "")
            completed = complete(*command.split(), "--")
            self.assertGreater(len(options(command)), 8, command)
            for option in options(command):
                with self.subTest(command=command, option=option):
                    self.assertRegex(page, rf"{option}\b")
                    self.assertIn(option, completed)
                    self.assertRegex(reference, rf"{option}\b")
            self.assertIn(f"mha-cli {command}", page)
            self.assertIn(command.split()[0], complete(""))

    @needs("mandoc")
    def test_pages_are_clean(self):
        pages = sorted((FOLDER / "man/man1").glob("*.1"))
        self.assertEqual(len(pages), len(commands()) + 1)
        done = subprocess.run(["mandoc", "-Tlint", "-W", "style", *pages], stdout=subprocess.PIPE, encoding="utf-8")
        # Pages that stand beside each other are not installed here.
        found = [line for line in done.stdout.splitlines() if "referenced manual not found" not in line]
        self.assertEqual(found, [])

    def test_completion_is_quick(self):
        best = 1.0
        for _ in range(20):
            begin = time.perf_counter()
            run("complete", "--", "attention", "--layer", "")
            best = min(best, time.perf_counter() - begin)
        self.assertLess(best, 0.03)


class Shells(unittest.TestCase):
    def bash(self, line):
        script = f"""
            source {FOLDER}/bash-completion/completions/mha-cli
            compopt() {{ :; }}
            cd {FOLDER}/files
            COMP_WORDS=({line}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _mha_cli
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE, encoding="utf-8", check=True,
                              env={**os.environ, "PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}"})
        return done.stdout.split()

    @needs("bash")
    def test_bash(self):
        self.assertEqual(self.bash("mha-cli emb"), ["embed"])
        self.assertIn("--format", self.bash("mha-cli embed --fo"))
        self.assertEqual(self.bash("mha-cli embed --format js"), ["jsonl", "json"])
        self.assertEqual(self.bash("mha-cli embed --format=np"), ["npy", "npz"])
        self.assertEqual(self.bash("mha-cli embed --with text,em"), ["text,embedding"])
        self.assertEqual(self.bash("mha-cli attention -m two-heads --head ''"), ["0", "1"])
        self.assertEqual(self.bash("mha-cli embed -i ''"), ["lines.txt", "folder"])
        self.assertIn("two-heads", self.bash("mha-cli embed -m tw"))

    @needs("fish")
    def test_fish(self):
        def fish(line):
            script = f"source {FOLDER}/fish/vendor_completions.d/mha-cli.fish; cd {FOLDER}/files; complete -C '{line}'"
            done = subprocess.run(["fish", "--no-config", "-c", script], stdout=subprocess.PIPE, encoding="utf-8",
                                  env={**os.environ, "PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}", "HOME": str(FOLDER)})
            return [entry.split("\t")[0] for entry in done.stdout.splitlines()]

        self.assertEqual(fish("mha-cli emb"), ["embed"])
        self.assertIn("--format", fish("mha-cli embed --fo"))
        self.assertEqual(sorted(fish("mha-cli embed --format js")), ["json", "jsonl"])
        self.assertEqual(sorted(fish("mha-cli embed --format=np")), ["--format=npy", "--format=npz"])
        self.assertEqual(fish("mha-cli attention -m two-heads --head "), ["0", "1"])
        self.assertIn("lines.txt", fish("mha-cli embed -i l"))

    @needs("zsh")
    def test_zsh(self):
        start = f"PS1=; fpath=({FOLDER}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D; cd files; "
        for line, expected in (("mha-cli emb", r"mha-cli embed"),
                               ("mha-cli tokenize --trunc", r"mha-cli tokenize --truncation"),
                               ("mha-cli embed --format jsonl --norm", r"--normalize"),
                               ("mha-cli embed --format=np", r"--format=npy|--format=npz"),
                               ("mha-cli embed -i li", r"-i lines\.txt")):
            with self.subTest(line=line):
                shown = type_in(["zsh", "-f", "-i"], f"{start}print ready\n", 10, r"\nready")
                self.assertIn("ready", shown)
                shown = type_in(["zsh", "-f", "-i"], f"{start}\n{line}\t\t", 15, expected)
                self.assertRegex(shown, expected)


def main():
    for folder in ("bin", "files/folder"):
        (FOLDER / folder).mkdir(parents=True)
    (FOLDER / "bin/mha-cli").symlink_to(PROGRAM)
    for name in ("lines.txt", "picture.png"):
        (FOLDER / "files" / name).write_text("")
    run("generate", str(FOLDER))
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
