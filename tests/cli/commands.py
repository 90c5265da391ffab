#!/usr/bin/env python3
"""commands.py MHA_CLI: drives the built program as its users do, with the model that is built in (and with
../shared/models/all-MiniLM-L6-v2 where that is there). What the executable cases of ../shared hold is not repeated."""
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MHA = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mha-cli"
HERE = os.path.dirname(os.path.abspath(__file__))
MINILM = os.path.join(HERE, "../../../shared/models/all-MiniLM-L6-v2")
WORDS = "she is a great leader i led team that built scalable api the cat sat on mat".split()


def run(*arguments, stdin=b"", check=None, **environment):
    env = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    env.pop("MHA_MODEL", None)
    done = subprocess.run([MHA, *arguments], input=stdin if isinstance(stdin, bytes) else stdin.encode(), capture_output=True,
                          env=env, timeout=120)
    if check is not None and done.returncode != check:
        raise AssertionError(f"{arguments}: exit {done.returncode}, expected {check}: {done.stderr.decode()}")
    return done


def lines(count, seed=1, longest=40):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, longest))) for _ in range(count)]


def text_of(some):
    return "".join(line + "\n" for line in some).encode()


class Bits(unittest.TestCase):
    """The same text has the same bits, whatever stands around it and whoever computes it."""

    def rows(self, some, *arguments):
        out = run("embed", "--format", "raw", *arguments, stdin=text_of(some), check=0).stdout
        size = len(out) // len(some)
        return [out[i * size:(i + 1) * size] for i in range(len(some))]

    def same_bits(self, some, *model):
        first = self.rows(some, "-t", "1", *model)
        self.assertEqual(first, self.rows(some, "-t", "2", *model))
        self.assertEqual(first, self.rows(some, "-t", "5", *model))
        self.assertEqual(first, self.rows(some, "--latency", "-t", "2", *model))
        order = list(range(len(some)))
        random.Random(3).shuffle(order)
        self.assertEqual([first[i] for i in order], self.rows([some[i] for i in order], *model))
        for i in (0, 1, len(some) - 1):
            self.assertEqual([first[i]], self.rows([some[i]], *model))
        arguments = run("embed", "--format", "raw", *model, "--", *some, check=0).stdout
        self.assertEqual(b"".join(first), arguments)

    def test_built_in_model(self):
        self.same_bits(lines(300) + ["she", "she"])

    def test_minilm(self):
        if not os.path.isdir(MINILM):
            self.skipTest("no ../shared: MiniLM is not tested")
        self.same_bits(lines(40, longest=60), "-m", MINILM)

    def test_shards_join_to_the_whole(self):
        some = text_of(lines(50))
        whole = run("embed", stdin=some, check=0).stdout.splitlines()
        parts = [run("embed", "--shard", f"{k}/3", stdin=some, check=0).stdout.splitlines() for k in (1, 2, 3)]
        self.assertEqual(whole, sorted(sum(parts, []), key=lambda line: json.loads(line)["index"]))

    def test_capture_changes_no_bit(self):
        plain = json.loads(run("encode", "--format", "json", "she is a leader", check=0).stdout)[0]
        more = json.loads(run("encode", "--format", "json", "--with", "all", "she is a leader", check=0).stdout)[0]
        self.assertEqual(plain["last_hidden_state"], more["last_hidden_state"])
        self.assertEqual(more["last_hidden_state"], more["hidden_states"][-1])


class Streaming(unittest.TestCase):
    def test_each_waiting_line_is_answered_before_the_next_is_written(self):
        for more in ([], ["-t", "1"], ["--latency"]):
            program = subprocess.Popen([MHA, "embed", *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for index in range(20):
                program.stdin.write(b"she is a leader\n")
                program.stdin.flush()
                self.assertEqual(json.loads(program.stdout.readline())["index"], index)
            program.stdin.close()
            self.assertEqual(program.wait(10), 0)
            program.stdout.close()

    def test_memory_does_not_grow_with_the_input(self):
        def peak(count):
            with tempfile.NamedTemporaryFile() as file:
                file.write(text_of(lines(500)) * (count // 500))
                file.flush()
                program = subprocess.Popen([MHA, "tokenize", "--format", "ids", "-t", "2", "-i", file.name],
                                           stdout=subprocess.DEVNULL)
                kib = 0
                while program.poll() is None:  # the peak of wait4 would count this Python before its exec
                    with open(f"/proc/{program.pid}/status", encoding="ascii") as status:
                        kib = max([kib] + [int(l.split()[1]) for l in status if l.startswith("VmHWM")])
                    time.sleep(0.01)
                self.assertEqual(program.returncode, 0)
                return kib
        small, large = peak(20000), peak(200000)
        self.assertLess(large, small + 4096)

    def test_a_reader_that_leaves_ends_the_run_quietly(self):
        program = subprocess.Popen([MHA, "embed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        program.stdin.write(text_of(lines(200)))
        program.stdin.flush()
        program.stdout.readline()
        program.stdout.close()
        for leave in (lambda: program.stdin.write(text_of(lines(20000))), program.stdin.close):
            try:
                leave()
            except BrokenPipeError:
                pass
        self.assertIn(program.wait(20), (0, -signal.SIGPIPE))
        self.assertEqual(program.stderr.read(), b"")
        program.stderr.close()

    def test_an_interrupt_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.jsonl")
            program = subprocess.Popen([MHA, "embed", "-o", file], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            program.stdin.write(b"she\n")
            program.stdin.flush()
            for _ in range(200):
                if os.listdir(folder):
                    break
                time.sleep(0.05)
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.wait(10), 130)
            program.stdin.close()
            self.assertEqual(os.listdir(folder), [])


class Errors(unittest.TestCase):
    BAD = b"she\n\xff\nleader\n"

    def test_policies(self):
        fail = run("embed", "--format", "json", stdin=self.BAD, check=1)
        self.assertEqual([r["index"] for r in json.loads(fail.stdout)], [0])
        self.assertRegex(fail.stderr.decode(), r"stdin: line 2")
        skip = run("embed", "--on-error", "skip", stdin=self.BAD, check=1)
        self.assertEqual([json.loads(l)["index"] for l in skip.stdout.splitlines()], [0, 2])
        record = run("embed", "--on-error", "record", stdin=self.BAD, check=1)
        self.assertEqual(["error" in json.loads(l) for l in record.stdout.splitlines()], [False, True, False])
        replace = run("embed", "--with", "text", "--on-error", "replace", stdin=self.BAD, check=0)
        self.assertEqual(json.loads(replace.stdout.splitlines()[1])["text"], "\ufffd")

    def test_a_failed_run_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "out.jsonl")
            with open(file, "w", encoding="utf-8") as old:
                old.write("old")
            run("embed", "-o", file, stdin=self.BAD, check=1)
            with open(file, encoding="utf-8") as old:
                self.assertEqual(old.read(), "old")
            self.assertEqual(os.listdir(folder), ["out.jsonl"])

    def test_usage(self):
        for arguments, said in [
            (["embd"], 'did you mean "embed"'),
            (["embed", "--formt", "json", "x"], "--format"),
            (["embed", "--format", "jsn", "x"], 'did you mean "json"'),
            (["embed", "--format"], "--format: expected a value"),
            (["embed", "--threads", "0", "x"], "--threads"),
            (["embed", "--shard", "4/3", "x"], "--shard"),
            (["embed", "-i", "a", "x"], "--input"),
            (["encode", "--format", "npy", "a", "b"], "npy"),
            (["embed", "--format", "raw", "--on-error", "record", "x"], "--on-error"),
            (["attention", "--layer", "0-", "x"], "--layer"),
            (["attention", "--layer", "9", "x"], "--layer"),
            (["embed", "--ablate", "0", "x"], "--ablate"),
            (["embed", "--ablate", "0.9", "x"], "--ablate"),
            (["embed", "--max-length", "0", "x"], "--max-length"),
            (["embed", "--prompt-name", "no", "x"], "--prompt-name"),
            (["tokenize", "--with", "embedding", "x"], "--with"),
            (["similarity", "x"], "two inputs"),
            (["model"], "model"),
            (["model", "list", "x"], "no argument"),
        ]:
            with self.subTest(arguments=arguments):
                done = run(*arguments, check=2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(said, done.stderr.decode())

    def test_messages_as_json(self):
        for arguments in (["embed", "--nope"], ["embed", "-m", "nowhere", "x"], ["embed", "--format=zip", "x"]):
            done = run("--log-format", "json", *arguments)
            for line in done.stderr.decode().splitlines():
                self.assertEqual(json.loads(line)["level"], "error")


class CommandLine(unittest.TestCase):
    def test_texts_that_look_like_something_else(self):
        texts = ["[MASK]", "[a,b]", "embed", "", "--", "-x", "{}", "a=b", "/x", "'q'"]
        done = run("tokenize", "--format", "jsonl", "--with", "text", "--", *texts, check=0)
        self.assertEqual([json.loads(l)["text"] for l in done.stdout.splitlines()], texts)
        done = run("tokenize", "--format", "jsonl", "--with", "text", "[MASK]", "embed", "", "-", check=0)
        self.assertEqual([json.loads(l)["text"] for l in done.stdout.splitlines()], ["[MASK]", "embed", "", "-"])

    def test_options_stand_anywhere_and_the_last_one_wins(self):
        expected = run("embed", "--digits", "2", "she", check=0).stdout
        for arguments in (["-t", "1", "embed", "she", "--digits", "2"], ["embed", "--digits=9", "she", "--digits=2"],
                          ["--model", "two-heads", "embed", "she", "-q", "--digits", "2"], ["embed", "--prompt=", "--digits", "2", "she"]):
            self.assertEqual(run(*arguments, check=0).stdout, expected)

    def test_help_keeps_within_the_terminal(self):
        listed = run("--help", COLUMNS="200", check=0).stdout.decode()
        names = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", listed, re.M)
        self.assertIn("embed", names)
        for columns in ("60", "80", "200"):
            for name in [""] + names:
                done = run(*name.split(), "--help", COLUMNS=columns, check=0)
                self.assertEqual(done.stderr, b"")
                body = done.stdout.decode().split("\nExamples:\n")[0]
                self.assertLessEqual(max(map(len, body.splitlines())), int(columns), name)

    def test_version_names_backends_and_cpu(self):
        text = run("--version", check=0).stdout.decode()
        for word in ("mha-cli", "backend reference", "auto: backend", "cpu features:"):
            self.assertIn(word, text)


class Results(unittest.TestCase):
    def test_formats_hold_the_same_numbers(self):
        import array
        raw = array.array("f", run("embed", "--format", "raw", "she", "leader", check=0).stdout)
        single = [json.loads(l)["embedding"] for l in run("embed", "she", "leader", check=0).stdout.splitlines()]
        many = [r["embedding"] for r in json.loads(run("embed", "--format", "json", "she", "leader", check=0).stdout)]
        table = [[float(x) for x in l.split(",")[1:]]
                 for l in run("embed", "--format", "csv", "she", "leader", check=0).stdout.decode().splitlines()[1:]]
        self.assertEqual(single, many)
        self.assertEqual(single, table)
        self.assertEqual(array.array("f", sum(single, [])), raw)

    def test_ablating_every_head_silences_attention(self):
        whole = run("embed", "she is a leader", check=0).stdout
        self.assertNotEqual(whole, run("embed", "--ablate", "0.*", "she is a leader", check=0).stdout)
        self.assertEqual(run("embed", "--ablate", "0.*", "she is a leader", check=0).stdout,
                         run("embed", "--ablate", "0.0,0.1", "she is a leader", check=0).stdout)

    def test_ids_go_back_to_text(self):
        ids = run("tokenize", "--format", "ids", "she is a leader", check=0).stdout
        self.assertEqual(run("tokenize", "--decode", stdin=ids, check=0).stdout.decode().strip(), "she is a leader")

    def test_tokens_are_only_counted(self):
        self.assertEqual(run("tokenize", "--count", "she is", "leader", check=0).stdout, b"2\n1\n")
        done = run("tokenize", "--count", "--format", "json", "she is", "leader", check=0)
        self.assertEqual(json.loads(done.stdout), [{"index": 0, "count": 2}, {"index": 1, "count": 1}])
        self.assertEqual(run("tokenize", "--count", "--max-length", "1", "she is", check=0).stderr, b"")
        run("tokenize", "--count", "--format", "csv", "she is", check=2)
        run("tokenize", "--count", "--decode", "1", check=2)

    def test_pieces_are_coloured_inside_the_text(self):
        lines = run("tokenize", "--color", "always", "she is\ta leader", check=0).stdout.decode().splitlines()
        self.assertEqual(re.sub("\x1b\\[[0-9;]*m", "", lines[2]), "she is\\ta leader")
        self.assertEqual(lines[2].count("\x1b[30;48;5;"), 4)

    def test_windows_cover_the_text_and_share_the_stride(self):
        some = "she is a great leader she is a great leader"
        done = run("tokenize", "--max-length", "4", "--stride", "1", "--format", "jsonl", some, check=0)
        windows = [json.loads(l) for l in done.stdout.splitlines()]
        self.assertEqual(done.stderr, b"")
        self.assertEqual([w["window"] for w in windows], list(range(len(windows))))
        for before, after in zip(windows, windows[1:]):
            self.assertEqual(before["offsets"][-1], after["offsets"][0])
        self.assertEqual(windows[-1]["offsets"][-1][1], len(some))

    def test_matrix_is_symmetric_with_ones(self):
        rows = [r["similarity"] for r in
                json.loads(run("similarity", "--matrix", "--format", "json", "she", "is", "leader", check=0).stdout)]
        for i, row in enumerate(rows):
            self.assertAlmostEqual(row[i], 1, places=6)
            for j, value in enumerate(row):
                self.assertEqual(value, rows[j][i])

    def test_bench_names_what_it_measured(self):
        points = json.loads(run("bench", "--batch", "2", "--tokens", "8", "--runs", "3", "--format", "json", check=0).stdout)
        self.assertEqual((points[0]["batch"], points[0]["tokens"], points[0]["runs"]), (2, 8, 3))
        for key in ("threads", "backend", "dtype", "min_ms", "median_ms", "gflops", "peak_share"):
            self.assertIn(key, points[0])
        for key in ("load_ms", "tokenizer_mb_s", "peak_rss_mib", "cpu", "fma_peak_gflops", "read_gb_s"):
            self.assertIn(key, points[-1])

    def test_model_commands(self):
        names = [m["name"] for m in json.loads(run("model", "list", "--format", "json", check=0).stdout)]
        self.assertIn("two-heads", names)
        info = json.loads(run("model", "info", "two-heads", "--format", "json", check=0).stdout)
        for key in ("name", "path", "family", "config", "parameters", "bytes", "dtype", "max_length", "pooling", "normalize",
                    "prompts", "tokenizer", "decisions", "files", "unused_tensors"):
            self.assertIn(key, info)
        run("model", "verify", "two-heads", check=0)
        with tempfile.TemporaryDirectory() as folder:
            words = os.path.join(folder, "words.txt")
            with open(words, "w", encoding="utf-8") as file:
                file.write("\n".join(WORDS))
            model = os.path.join(folder, "small.json")
            run("model", "init", "--words", words, "--d-model", "16", "--heads", "2", "--layers", "1", "-o", model, check=0)
            first = run("embed", "-m", model, "she is a leader", check=0).stdout
            copy = os.path.join(folder, "copy")
            run("model", "convert", model, "--to", "safetensors", "-o", copy, check=0)
            self.assertEqual(first, run("embed", "-m", copy, "she is a leader", check=0).stdout)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
