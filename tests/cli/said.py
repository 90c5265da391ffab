#!/usr/bin/env python3
"""What the program says about what it did, and what it never lets through to a terminal.

Usage: said.py PROGRAM
"""

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve())
TEXT = "She is a great leader"


def run(*arguments, check=0, stdin=None, **more):
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          **({"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}), **more)
    assert done.returncode == check, (arguments, done.returncode, done.stderr)
    return done


def out(*arguments, **more):
    return run(*arguments, **more).stdout.decode()


def on_terminal(*arguments):
    """Bytes on a terminal, and the exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(PROGRAM, [PROGRAM, *arguments])
    shown = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
    return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)


class Notes(Folder):
    def test_ablated_heads_are_named(self):
        for how in (("attention",), ("attention", "--format", "svg"), ("attention", "--format", "html")):
            self.assertIn("ablated heads: 0.1", out(*how, "-m", "two-heads", "--ablate", "0.1", TEXT))
            self.assertNotIn("ablated", out(*how, "-m", "two-heads", TEXT).split("<script>")[0])
        for how in ("table", "html"):
            told = out("explain", "-m", "two-heads", "--ablate", "0.0", "--format", how, "--token", "She", TEXT)
            self.assertIn("heads 0", told)
            self.assertIn("head 0: ablated, Z is set to 0", told)
            self.assertNotIn("head 0: Z of She is", told)

    def test_cut_texts_are_told(self):
        for how in ("svg", "html"):
            self.assertIn("text cut: 3 of", out("attention", "--max-length", "3", "--format", how, TEXT))
        self.assertIn("The text is cut: 3 of its", out("explain", "--max-length", "3", TEXT))
        self.assertIn("cut from", out("attention", "--max-length", "3", TEXT))

    def test_rollout_is_a_product_and_averages_are_means(self):
        for how in ("heatmap", "svg", "html"):
            told = out("attention", "--rollout", "--format", how, TEXT)
            self.assertIn("product over all layers", told)
            self.assertNotIn("mean over", told)
            self.assertIn("mean over heads", out("attention", "--average", "heads", "--format", how, TEXT))
        self.assertIn("rollout over all layers and heads", out("attention", "--rollout", TEXT))
        self.assertIn(",rollout,rollout,", out("attention", "--rollout", "--format", "csv", TEXT))

    def test_hidden_specials_keep_the_numbers_of_the_others(self):
        page = out("attention", "--hide-specials", "--format", "html", TEXT)
        meta = json.loads(page.split('id="meta">')[1].split("</script>")[0])
        shown = [token["position"] for token in meta["tokens"]]
        tokens = json.loads(out("tokenize", "--format", "json", TEXT))[0]
        self.assertEqual(shown, [i for i, special in enumerate(tokens["special_tokens_mask"]) if not special])

    def test_the_first_step_of_explain_is_that_of_the_layer(self):
        self.assertIn("embedding plus position", out("explain", TEXT))
        self.assertIn("what layer 0 wrote", out("explain", "--layer", "1", TEXT))


class Terminal(Folder):
    def test_arrays_and_pictures_need_a_file_or_an_order(self):
        for command, how in (("embed", "npy"), ("embed", "raw"), ("attention", "svg"), ("attention", "html")):
            shown, code = on_terminal(command, "--format", how, "hi")
            self.assertEqual(code, 2, (command, how))
            self.assertIn(b"terminal", shown)
            self.assertEqual(on_terminal(command, "--format", how, "-o", "-", "hi")[1], 0)
        self.assertEqual(on_terminal("embed", "--format", "npy", "-o", str(self.folder / "v.npy"), "hi")[1], 0)

    def test_no_control_reaches_it(self):
        text = "a\u009bb\u202ec\x1b[2Jd"
        for how in ("jsonl", "json", "csv", "tsv", "table"):
            shown, code = on_terminal("embed", "--color", "never", "--with", "text,embedding", "--dims", "2", "--format",
                                      how, text)
            self.assertEqual(code, 0)
            for bad in ("\u009b", "\u202e", "\x1b"):
                self.assertNotIn(bad.encode(), shown, (how, bad))
        shown, _ = on_terminal("embed", "--with", "text,embedding", "--dims", "2", text)
        self.assertEqual(json.loads(shown)["text"], text)
        self.assertEqual(json.loads(out("embed", "--with", "text", text))["text"], text)
        shown = run("compare", "a", text).stdout
        self.assertNotIn(b"\x1b", shown)
        self.assertNotIn("\u009b".encode(), shown)

    def test_arguments_that_are_not_utf8_let_nothing_through(self):
        for bad in (b"\xff", b"\xf0\x1b[31mRED", b"\xe0\x1b]0;x\x07", b"\xc2"):
            for arguments in (("model", "list", bad), ("embed", "--pooling", bad, "hi"), ("embed", "--dims", bad, "hi"),
                              ("attention", "--layer", bad, "hi"), ("attention", "--find", bad, "hi")):
                error = run(*arguments, check=2).stderr
                self.assertNotIn(b"\x1b", error)
                error.decode()  # valid UTF-8


class Files(Folder):
    def test_every_signal_removes_the_unfinished_file(self):
        for number in (signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            child = subprocess.Popen([PROGRAM, "embed", "-o", str(self.folder / "o.jsonl")], stdin=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, cwd=self.folder)
            child.stdin.write(b"a\n")
            child.stdin.flush()
            for _ in range(200):
                if any(self.folder.glob(".mha-*")):
                    break
                time.sleep(0.05)
            child.send_signal(number)
            self.assertEqual(child.wait(), -number)
            child.stdin.close()
            self.assertEqual([path.name for path in self.folder.iterdir() if path.name != "core"], [], number)

    def test_a_file_over_its_limit_is_an_error(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        done = run("embed", "-o", str(self.folder / "o.jsonl"), stdin=b"some text\n" * 200, check=1, preexec_fn=limit)
        self.assertIn(b"large", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_ending_decides_and_conflicts_are_said(self):
        file = self.folder / "x.json"
        self.assertEqual(run("attention", "-o", str(file), TEXT).stderr, b"")
        self.assertIn("attentions", json.loads(file.read_text())[0])
        done = run("embed", "--format", "csv", "-o", str(file), "hi")
        self.assertIn(b"csv", done.stderr)
        self.assertIn(b"cannot write png", run("embed", "-o", str(self.folder / "x.png"), "hi").stderr)


class Inputs(Folder):
    def test_a_json_array_is_read_as_a_stream(self):
        lines = out("tokenize", "--count", "--input-format", "json", stdin=b'[\n{"text": "a"},\n{"text": "b c"}\n]\n')
        self.assertEqual(len(lines.split()), 2)
        error = run("embed", "--input-format", "jsonl", stdin=b'[{"text": "a"}]\n', check=1).stderr
        self.assertIn(b"input format json", error)

    def test_a_dash_is_standard_input_and_a_text_behind_two(self):
        self.assertEqual(out("tokenize", "--count", "-", stdin=b"a\nb\n").count("\n"), 2)
        self.assertEqual(json.loads(out("tokenize", "--format", "jsonl", "--", "-"))["text"], "-")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
