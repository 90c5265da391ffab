#!/usr/bin/env python3
"""commands.py MHA_CLI: drives the program as its users do, with the built-in models, and with
../shared/models/all-MiniLM-L6-v2 if that exists. It does not repeat the executable cases of ../shared."""
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
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    env.pop("MHA_MODEL", None)
    env.update(environment)
    done = subprocess.run([MHA, *arguments], input=stdin if isinstance(stdin, bytes) else stdin.encode(), capture_output=True,
                          env=env, timeout=120)
    if check is not None and done.returncode != check:
        raise AssertionError(f"{arguments}: exit {done.returncode}, expected {check}: {done.stderr.decode()}")
    return done


def run_two_heads(command, *arguments, **more):
    return run(command, *arguments, MHA_MODEL="two-heads", **more)


def lines(count, seed=1, longest=40):
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, longest))) for _ in range(count)]


def text_of(some):
    return "".join(line + "\n" for line in some).encode()


class Bits(unittest.TestCase):
    """A text has the same bits in every batch, with every number of threads."""

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


class Resuming(unittest.TestCase):
    """`--resume` ends with the file of an undisturbed run, wherever the earlier run was interrupted, or refuses."""

    FORMATS = {"jsonl": [], "json": ["--format", "json"], "csv": ["--format", "csv"], "tsv": ["--format", "tsv"],
               "raw": ["--format", "raw"], "npy": ["--format", "npy"]}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.texts = text_of(lines(60))
        self.use("out.jsonl")

    def use(self, name):
        self.file = os.path.join(self.folder.name, name)
        self.partial = self.file + ".partial"

    def resume(self, *arguments, stdin=None, check=0):
        return run(*arguments, "-o", self.file, "--resume", stdin=self.texts if stdin is None else stdin, check=check)

    def content(self, name=None):
        with open(name or self.file, "rb") as file:
            return file.read()

    def interrupt(self, *arguments, texts=None):
        """Kills a run that has written the records of all texts but the last, which never comes whole."""
        program = subprocess.Popen([MHA, *arguments, "-o", self.file, "--resume"], stdin=subprocess.PIPE)
        program.stdin.write((self.texts if texts is None else texts)[:-20])
        program.stdin.flush()
        deadline = time.time() + 30
        while time.time() < deadline:
            journal = self.partial + ".run"
            if os.path.exists(journal) and len(self.content(journal).splitlines()) > 1:
                break
            time.sleep(0.02)
        program.kill()
        program.wait()
        program.stdin.close()
        self.assertFalse(os.path.exists(self.file))

    def expect_whole(self, *arguments):
        whole = os.path.join(self.folder.name, "whole")
        run(*arguments, "-o", whole, stdin=self.texts, check=0)
        self.resume(*arguments)
        self.assertEqual(self.content(), self.content(whole))
        self.assertFalse(os.path.exists(self.partial))
        self.assertFalse(os.path.exists(self.partial + ".run"))

    def test_every_format_goes_on(self):
        for name, arguments in self.FORMATS.items():
            with self.subTest(name):
                self.use("out." + name)
                self.interrupt("embed", *arguments)
                self.assertGreater(os.path.getsize(self.partial), 0)
                self.expect_whole("embed", *arguments)
        self.use("shard.jsonl")
        self.interrupt("embed", "--shard", "2/3")
        self.expect_whole("embed", "--shard", "2/3")
        self.use("attention.jsonl")
        self.interrupt("attention", "--format", "jsonl", "--layer", "0")
        self.expect_whole("attention", "--format", "jsonl", "--layer", "0")
        self.use("windows.jsonl")
        self.interrupt("embed", "--chunk", "4")
        self.expect_whole("embed", "--chunk", "4")

    def test_torn_ends_are_made_again(self):
        for damage in (lambda data: data[:-1], lambda data: data + b'{"index":3,"emb', lambda data: data + b"\0" * 500,
                       lambda data: data[:10], lambda data: b""):
            with self.subTest():
                self.use(f"torn{id(damage)}.jsonl")
                self.interrupt("embed")
                data = damage(self.content(self.partial))
                with open(self.partial, "wb") as file:
                    file.write(data)
                self.expect_whole("embed")

    def test_other_runs_are_refused_and_nothing_is_touched(self):
        self.interrupt("embed")
        before = self.content(self.partial), self.content(self.partial + ".run")
        for arguments, said in ((("--dims", "64"), b"--dims"), (("--digits", "3"), b"--digits"),
                                (("-m", "two-heads"), b"model"), (("--with", "text,embedding"), b"--with"),
                                (("--quantize", "int8"), b"--quantize"), (("--chunk", "5"), b"--chunk"),
                                (("--shard", "2/4"), b"--shard"), (("--format", "csv"), b"--format")):
            with self.subTest(arguments[0]):
                self.assertIn(said, self.resume("embed", *arguments, check=2).stderr)
        others = {"reversed": b"\n".join(reversed(self.texts.splitlines())) + b"\n", "shorter": self.texts[:40],
                  "changed": b"X" + self.texts[1:]}
        for name, texts in others.items():
            with self.subTest(name):
                self.assertIn(b"inputs", self.resume("embed", stdin=texts, check=2).stderr)
        self.assertEqual(before, (self.content(self.partial), self.content(self.partial + ".run")))
        self.expect_whole("embed")

    def test_changed_output_is_refused(self):
        self.interrupt("embed")
        data = bytearray(self.content(self.partial))
        data[len(data) // 3] ^= 1
        with open(self.partial, "wb") as file:
            file.write(data)
        self.assertIn(b"other bytes", self.resume("embed", check=2).stderr)
        self.assertEqual(self.content(self.partial), bytes(data))

    def test_one_process_writes(self):
        program = subprocess.Popen([MHA, "embed", "-o", self.file, "--resume"], stdin=subprocess.PIPE)
        deadline = time.time() + 20
        while time.time() < deadline and not os.path.exists(self.partial + ".run"):
            time.sleep(0.01)
        self.assertIn(b"another process", self.resume("embed", check=1).stderr)
        program.kill()
        program.wait()
        program.stdin.close()

    def test_finished_files(self):
        self.resume("embed")
        self.assertIn(b"nothing to resume", self.resume("embed").stderr)
        self.assertIn(b"--dims", self.resume("embed", "--dims", "4", check=2).stderr)
        os.unlink(self.file + ".run")
        self.assertIn(b"out.jsonl.run", self.resume("embed", check=2).stderr)

    def test_the_unfinished_file_lies_beside_what_a_link_leads_to(self):
        folder = self.file + ".real"
        os.mkdir(folder)
        real = os.path.join(folder, "real.jsonl")
        with open(real, "wb") as file:
            file.write(b"of an earlier day\n")
        with open(real + ".partial", "wb"):
            pass
        os.symlink(real, self.file)
        self.resume("embed")
        self.assertEqual(self.content(real), run("embed", stdin=self.texts, check=0).stdout)
        self.assertFalse(os.path.exists(real + ".partial"))
        self.assertTrue(os.path.exists(real + ".run"))

    def test_something_else_is_not_continued(self):
        with open(self.partial, "w") as file:
            file.write("{}\n")
        self.assertIn(b"out.jsonl.partial", self.resume("embed", check=2).stderr)
        with open(self.partial + ".run", "w") as file:
            file.write("nonsense\n")
        self.assertIn(b"out.jsonl.partial.run", self.resume("embed", check=2).stderr)
        self.assertEqual(self.content(self.partial), b"{}\n")
        self.resume("embed", "--format", "npz", check=2)
        run("embed", "--resume", "x", check=2)


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
            (["compare", "--shard", "1/2", "x", "y"], "--shard: expected --against MODEL"),
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
            (["embed", "-o", "", "x"], "--output: expected a name, got an empty one"),
            (["embed", "-i", ""], "--input: expected a name"),
            (["embed", "-m", "", "x"], "--model: expected a name"),
            (["embed", "--text-key", "id"], "three different keys"),
            (["embed", "--zzzzzzzzzzzz", "x"], "see 'mha-cli embed --help'"),
            (["model"], "model command: expected one of list"),
            (["model", "lst"], "model command: expected one of list"),
            (["model", "list", "x"], "no argument"),
        ]:
            with self.subTest(arguments=arguments):
                done = run(*arguments, check=2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(said, done.stderr.decode())

    def test_a_message_names_source_line_and_byte(self):
        for arguments, text, place in [
            (["embed"], b"she\n\n", "stdin: line 2, byte 4: no tokens to pool"),
            (["embed", "--truncation", "error", "--max-length", "1"], b"she\nshe is\n", "stdin: line 2, byte 4: too long"),
            (["embed", "--input-format", "jsonl"], b'{"text":"she"}\n{"id":7}\n', "stdin: line 2, byte 15: expected a key"),
            (["embed", "-0"], b"she\0\xff\0", "stdin: record 2, byte 4: expected valid UTF-8"),
        ]:
            with self.subTest(text=text):
                self.assertIn(place, run(*arguments, stdin=text, check=1).stderr.decode())

    def test_what_was_refused_is_not_said_to_be_cut(self):
        done = run("tokenize", "--truncation", "error", "--max-length", "1", "she is", check=1)
        self.assertNotIn("warning", done.stderr.decode())

    def test_help_that_cannot_be_written_is_an_error(self):
        for arguments in (["--help"], ["--version"], ["embed", "--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([MHA, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("standard output: cannot be written", done.stderr.decode())
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([MHA, *arguments], stdout=writer, stderr=subprocess.PIPE, restore_signals=False, timeout=60)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_folder_of_its_name_does_not_replace_the_built_in_model(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "two-heads"))
            done = subprocess.run([MHA, "embed", "she"], cwd=folder, capture_output=True, timeout=60)
            self.assertEqual(done.stdout, run("embed", "she", check=0).stdout)

    def test_a_broken_link_in_a_model_is_not_taken_for_an_absent_file(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "m")
            words = os.path.join(folder, "words.txt")
            with open(words, "w", encoding="utf-8") as file:
                file.write("\n".join(["<unk>", *WORDS]))
            run("model", "init", "--words", words, "--to", "safetensors", "-o", model, check=0)
            run("embed", "-m", model, "x", check=0)
            os.symlink("gone", os.path.join(model, "modules.json"))
            self.assertIn("modules.json: a link to a file that is not there", run("embed", "-m", model, "x", check=3).stderr.decode())

    def test_messages_as_json(self):
        for arguments in (["embed", "--nope"], ["embed", "-m", "nowhere", "x"], ["embed", "--format=zip", "x"]):
            done = run("--log-format", "json", *arguments)
            for line in done.stderr.decode().splitlines():
                self.assertEqual(json.loads(line)["level"], "error")

    def test_ids_have_no_second_segment(self):
        self.assertIn("--pair", run_two_heads("tokenize", "--decode", "--pair", "she", "2", check=2).stderr.decode())


class CommandLine(unittest.TestCase):
    def test_texts_that_look_like_something_else(self):
        texts = ["[MASK]", "[a,b]", "embed", "", "--", "-x", "{}", "a=b", "/x", "'q'"]
        done = run("tokenize", "--format", "jsonl", "--with", "text", "--", *texts, check=0)
        self.assertEqual([json.loads(l)["text"] for l in done.stdout.splitlines()], texts)
        done = run("tokenize", "--format", "jsonl", "--with", "text", "[MASK]", "embed", "", "-", check=0)
        self.assertEqual([json.loads(l)["text"] for l in done.stdout.splitlines()], ["[MASK]", "embed", "", "-"])

    def test_options_stand_anywhere_and_the_last_one_wins(self):
        expected = run("embed", "-m", "two-heads", "--digits", "2", "she", check=0).stdout
        for arguments in (["-t", "1", "embed", "she", "--digits", "2"], ["embed", "--digits=9", "she", "--digits=2"],
                          ["--model", "two-heads", "embed", "she", "-q", "--digits", "2"], ["embed", "--prompt=", "--digits", "2", "she"]):
            self.assertEqual(run(*arguments, MHA_MODEL="two-heads", check=0).stdout, expected)

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

    def test_a_word_of_the_environment_that_means_nothing_is_an_error(self):
        error = run("encode", "hi", MHA_CPU="avx2 avx3", check=2).stderr.decode()
        self.assertIn('got "avx3"', error)
        self.assertIn("amx_int8", error)

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
        self.assertEqual(run("embed", "-m", "two-heads", "--ablate", "0.*", "she is a leader", check=0).stdout,
                         run("embed", "-m", "two-heads", "--ablate", "0.0,0.1", "she is a leader", check=0).stdout)

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


class LongTexts(unittest.TestCase):
    """Windows of `embed`: `two-heads` has one token per word, no special tokens, and mean pooling."""
    TEXT = "She is a great leader. Größe: a team that built a scalable API? The cat sat on the mat! I led the team."

    def windows(self, *arguments, stdin=b""):
        return [json.loads(l) for l in run_two_heads("embed", *arguments, stdin=stdin, check=0).stdout.splitlines()]

    def vectors(self, *texts):
        return [json.loads(l)["embedding"] for l in run_two_heads("embed", "--", *texts, check=0).stdout.splitlines()]

    def tokens(self, text):
        (record,) = json.loads(run_two_heads("encode", "--format", "json", "--with", "tokens,last_hidden_state", text, check=0).stdout)
        return record

    def test_a_window_has_the_vector_of_its_stretch(self):
        for stride in (0, 1, 3):
            got = self.windows("--chunk", "5", "--stride", str(stride), "--with", "text,embedding", self.TEXT)
            self.assertEqual([w["window"] for w in got], list(range(len(got))))
            self.assertEqual(list(got[0]), ["index", "window", "begin", "end", "text", "embedding"])
            self.assertEqual([w["text"] for w in got], [self.TEXT[w["begin"]:w["end"]] for w in got])
            self.assertEqual([w["embedding"] for w in got], self.vectors(*[w["text"] for w in got]))
            offsets = self.tokens(self.TEXT)["offsets"]
            self.assertEqual([(w["begin"], w["end"]) for w in got],
                             [(offsets[i][0], offsets[min(i + 5, len(offsets)) - 1][1]) for i in range(0, len(offsets) - stride, 5 - stride)])

    def test_offsets_in_bytes(self):
        for more in (["--chunk", "5"], ["--late-chunk"]):
            points = self.windows(*more, "--with", "text", self.TEXT)
            octets = self.windows(*more, "--with", "text", "--offsets", "bytes", self.TEXT)
            for a, b in zip(points, octets):
                self.assertEqual(a["text"], self.TEXT.encode()[b["begin"]:b["end"]].decode())

    def test_the_mean_of_windows_is_weighted_by_their_tokens(self):
        got = self.windows("--chunk", "7", self.TEXT)
        count = len(self.tokens(self.TEXT)["tokens"])
        sizes = [min(7, count - i) for i in range(0, count, 7)]
        (pooled,) = self.windows("--chunk", "7", "--chunk-pooling", "mean", self.TEXT)
        self.assertNotIn("window", pooled)
        for i, value in enumerate(pooled["embedding"]):
            self.assertAlmostEqual(value, sum(n * w["embedding"][i] for n, w in zip(sizes, got)) / count, places=5)
        (unit,) = self.windows("--chunk", "7", "--chunk-pooling", "mean", "--normalize", "l2", "--dims", "3", self.TEXT)
        self.assertEqual(len(unit["embedding"]), 3)
        self.assertAlmostEqual(sum(v * v for v in unit["embedding"]), 1, places=5)
        (short,) = self.windows("--chunk", "7", "--chunk-pooling", "mean", "she is")
        self.assertEqual(short["embedding"], self.vectors("she is")[0])

    def test_late_windows_are_sentences_pooled_from_one_pass(self):
        record = self.tokens(self.TEXT)
        got = self.windows("--late-chunk", "--with", "text,embedding", self.TEXT)
        self.assertEqual([w["text"] for w in got], ["She is a great leader.", "Größe: a team that built a scalable API?",
                                                    "The cat sat on the mat!", "I led the team."])
        for window in got:
            rows = [row for row, (begin, end) in zip(record["last_hidden_state"], record["offsets"])
                    if begin >= window["begin"] and end <= window["end"]]
            for i, value in enumerate(window["embedding"]):
                self.assertAlmostEqual(value, sum(row[i] for row in rows) / len(rows), places=5)
        joined = self.windows("--late-chunk", "--chunk", "16", "--with", "text", self.TEXT)
        self.assertEqual([w["text"] for w in joined], [self.TEXT[:63], self.TEXT[64:]])

    def test_a_text_over_the_limit_is_read_in_passes(self):
        text = " ".join([self.TEXT] * 8)
        for more in ([], ["--stride", "0"], ["--stride", "20"], ["--max-length", "10"], ["--chunk", "30"]):
            got = self.windows("--late-chunk", *more, "--with", "text,embedding", text)
            self.assertEqual("".join("".join(w["text"].split()) for w in got), "".join(text.split()))
        (whole,) = self.windows("--late-chunk", "--chunk-pooling", "mean", text)
        self.assertEqual(len(whole["embedding"]), len(got[0]["embedding"]))

    def test_the_same_bits_in_every_company(self):
        some = text_of(lines(30, longest=90) + [""])
        for more in (["--chunk", "16", "--stride", "3"], ["--late-chunk", "--chunk", "20"], ["--chunk", "9", "--chunk-pooling", "mean"]):
            more = [*more, "--no-special-tokens", "--on-error", "skip"]
            first = run_two_heads("embed", *more, "-t", "1", stdin=some, check=1).stdout
            for other in (["-t", "2"], ["-t", "5"], ["-t", "2", "--latency"]):
                self.assertEqual(first, run_two_heads("embed", *more, *other, stdin=some, check=1).stdout)
            one = some.splitlines()[7]
            alone = [{**json.loads(l), "index": 7} for l in run_two_heads("embed", *more, stdin=one, check=0).stdout.splitlines()]
            self.assertEqual(alone, [r for r in map(json.loads, first.splitlines()) if r["index"] == 7])

    def test_each_line_is_answered_before_the_next_is_written(self):
        program = subprocess.Popen([MHA, "embed", "--chunk", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for index in range(5):
            program.stdin.write(b"she is a leader\n")
            program.stdin.flush()
            self.assertEqual([(r["index"], r["window"]) for r in (json.loads(program.stdout.readline()) for _ in range(2))],
                             [(index, 0), (index, 1)])
        program.stdin.close()
        self.assertEqual(program.wait(10), 0)
        program.stdout.close()

    def test_formats(self):
        import csv, io, zipfile
        arguments = ["--chunk", "5", "--dims", "2"]
        got = self.windows(*arguments, self.TEXT, "she")
        rows = list(csv.DictReader(io.StringIO(run_two_heads("embed", *arguments, "--format", "csv", self.TEXT, "she", check=0).stdout.decode())))
        self.assertEqual([[int(row[k]) for k in ("index", "window", "begin", "end")] for row in rows],
                         [[w[k] for k in ("index", "window", "begin", "end")] for w in got])
        self.assertEqual([[float(row["e0"]), float(row["e1"])] for row in rows], [w["embedding"] for w in got])
        self.assertEqual(json.loads(run_two_heads("embed", *arguments, "--format", "json", self.TEXT, "she", check=0).stdout), got)
        self.assertEqual(len(run_two_heads("embed", *arguments, "--format", "raw", self.TEXT, "she", check=0).stdout), len(got) * 8)
        self.assertIn(f"'shape': ({len(got)}, 2)".encode(), run_two_heads("embed", *arguments, "--format", "npy", self.TEXT, "she", check=0).stdout)
        archive = zipfile.ZipFile(io.BytesIO(run_two_heads("embed", *arguments, "--format", "npz", self.TEXT, "she", check=0).stdout))
        self.assertEqual(archive.namelist(), [f"{w['index']}.{w['window']}.embedding.npy" for w in got])
        self.assertIn("0.1 ", run_two_heads("embed", *arguments, "--format", "table", self.TEXT, check=0).stdout.decode())

    def test_ids_and_other_keys_go_to_every_window(self):
        line = json.dumps({"id": "a", "text": self.TEXT, "page": 3, "window": 9, "begin": 9}).encode()
        for record in self.windows("--chunk", "5", "--input-format", "jsonl", "--pass-through", stdin=line):
            self.assertEqual((record["id"], record["page"]), ("a", 3))
            self.assertLess(record["begin"], 110)

    def test_prompts_and_specials_are_in_every_window(self):
        if not os.path.isdir(MINILM):
            self.skipTest("no ../shared: MiniLM is not tested")
        text = "the cat sat on the mat and the team built a great house near the river"
        for prompt in ([], ["--prompt", "query: "]):
            got = self.windows("-m", MINILM, *prompt, "--chunk", "9", "--stride", "2", "--with", "text,embedding", text)
            self.assertGreater(len(got), 2)
            alone = run_two_heads("embed", "-m", MINILM, *prompt, "--", *[w["text"] for w in got], check=0).stdout.splitlines()
            self.assertEqual([w["embedding"] for w in got], [json.loads(l)["embedding"] for l in alone])
            self.assertEqual([w["text"] for w in got], [text[w["begin"]:w["end"]] for w in got])
        for name in ("new-cls-prompts-excluded", "new-mean-prompts-excluded"):  # include_prompt: false
            model = os.path.join(MINILM, "../st", name)
            asked = ["-q", "-m", model, "--role", "query"]
            window = self.windows(*asked, "--chunk", "20", "--with", "text,embedding", text)[0]
            (alone,) = self.windows(*asked, "--", window["text"])
            self.assertEqual(window["embedding"], alone["embedding"])
        for prompt in ([], ["--prompt", "search the archive. query: "]):
            late = self.windows("-m", MINILM, *prompt, "--late-chunk", "--with", "text", "The cat sat. The team built a house! Why?")
            self.assertEqual([w["text"] for w in late], ["The cat sat.", "The team built a house!", "Why?"])
        for name in ("tiny-albert", "tiny-marian", "tiny-modernbert"):  # pieces that take the blank before them
            for window in self.windows("-m", os.path.join(MINILM, "..", name), "--chunk", "8", "--with", "text", text):
                self.assertEqual(window["text"], window["text"].lstrip())
                self.assertEqual(window["text"], text[window["begin"]:window["end"]])
        (empty,) = self.windows("-m", MINILM, "--chunk", "9", "")
        self.assertEqual((empty["begin"], empty["end"]), (0, 0))
        (late,) = self.windows("-m", MINILM, "--late-chunk", "")
        self.assertEqual(late["embedding"], empty["embedding"])
        run_two_heads("embed", "-m", MINILM, "--chunk", "2", text, check=2)
        run_two_heads("embed", "-m", MINILM, "--chunk", "6", "--stride", "4", text, check=2)

    def test_bad_inputs_and_usage(self):
        pair = json.dumps({"text": "a", "text_pair": "b"}).encode()
        got = run_two_heads("embed", "--chunk", "5", "--input-format", "jsonl", "--on-error", "record", stdin=pair, check=1)
        self.assertIn("pair", json.loads(got.stdout)["error"])
        for arguments, said in [
            (["--stride", "2", "x"], "--chunk"),
            (["--chunk-pooling", "mean", "x"], "--chunk"),
            (["--chunk", "0", "x"], "--chunk"),
            (["--chunk", "65", "x"], "--chunk"),
            (["--chunk", "4", "--stride", "4", "x"], "--stride"),
            (["--late-chunk", "--pooling", "cls", "x"], "--late-chunk"),
            (["--chunk", "4", "--pair", "y", "x"], "--pair"),
            (["--chunk", "4", "--with", "tokens", "x"], "--with"),
            (["--chunk", "4", "--truncation", "error", "x"], "--truncation"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(said, run_two_heads("embed", *arguments, check=2).stderr.decode())


class Quantized(unittest.TestCase):
    TEXTS = ["she is a leader", "the cat sat", "a scalable api", "great team"]

    def vectors(self, *arguments):
        return [json.loads(l)["embedding"] for l in run("embed", *arguments, "--", *self.TEXTS, check=0).stdout.splitlines()]

    def test_bits(self):
        plain = self.vectors("--dims", "11")
        bits = [[sum((v > 0) << (7 - i) for i, v in enumerate(row[begin:begin + 8])) for begin in (0, 8)] for row in plain]
        self.assertEqual(self.vectors("--dims", "11", "--quantize", "ubinary"), bits)
        self.assertEqual(self.vectors("--dims", "11", "--quantize", "binary"), [[b - 128 for b in row] for row in bits])

    def test_int8_of_unit_vectors(self):
        plain = self.vectors("--normalize", "l2")
        self.assertEqual(self.vectors("--normalize", "l2", "--quantize", "int8", "--digits", "3"), [[round(127 * v) for v in row] for row in plain])
        self.assertIn("--quantize-ranges", run("embed", "-m", "two-heads", "--quantize", "int8", "x", check=2).stderr.decode())

    def test_ranges_come_from_a_file_or_from_texts(self):
        import math
        plain = self.vectors()
        least, greatest = [min(c) for c in zip(*plain)], [max(c) for c in zip(*plain)]
        with tempfile.TemporaryDirectory() as folder:
            texts, ranges = os.path.join(folder, "texts.txt"), os.path.join(folder, "ranges.json")
            with open(texts, "wb") as file:
                file.write(text_of(self.TEXTS))
            with open(ranges, "w", encoding="ascii") as file:
                json.dump([least, greatest], file)
            got = self.vectors("--quantize", "int8", "--quantize-ranges", ranges)
            self.assertEqual(got, self.vectors("--quantize", "int8", "--calibrate", texts))
            for row, vector in zip(got, plain):
                for level, value, low, high in zip(row, vector, least, greatest):
                    step = (high - low) / 255 or 1
                    self.assertLessEqual(abs(level + 128 - math.floor((value - low) / step)), 1)
            for bad, said in (([[1]], "[[least"), ([least, greatest[1:]], "numbers"), ([greatest, least], "expected more than"),
                              ([least, ["x"] * len(least)], "finite"), ("{", "ranges.json"),
                              ([[-3e38] * len(least), [3e38] * len(least)], "expected a range that float32 can hold")):
                with open(ranges, "w", encoding="ascii") as file:
                    file.write(bad if isinstance(bad, str) else json.dumps(bad))
                self.assertIn(said, run("embed", "--quantize", "int8", "--quantize-ranges", ranges, "x", check=1).stderr.decode())
            with open(texts, "wb") as file:
                file.write(b"")
            self.assertIn("--calibrate", run("embed", "--quantize", "int8", "--calibrate", texts, "x", check=1).stderr.decode())
            run("embed", "--quantize", "int8", "--calibrate", folder + "/none", "x", check=1)
        run("embed", "--quantize", "binary", "--calibrate", "x", "x", check=2)
        run("embed", "--quantize-ranges", "x", "x", check=2)
        run("embed", "--quantize", "int4", "x", check=2)

    def test_formats(self):
        import array, csv, io, zipfile
        for kind, code, name in (("int8", "b", b"'|i1'"), ("binary", "b", b"'|i1'"), ("ubinary", "B", b"'|u1'")):
            arguments = ["--normalize", "l2", "--quantize", kind]
            got = self.vectors(*arguments)
            as_format = lambda form: run("embed", *arguments, "--format", form, "--", *self.TEXTS, check=0).stdout
            values = array.array(code, sum(got, []))
            self.assertEqual(as_format("raw"), values.tobytes())
            npy = as_format("npy")
            self.assertIn(name, npy)
            self.assertIn(f"({len(got)}, {len(got[0])})".encode(), npy)
            self.assertTrue(npy.endswith(values.tobytes()))
            archive = zipfile.ZipFile(io.BytesIO(as_format("npz")))
            self.assertTrue(archive.read("1.embedding.npy").endswith(array.array(code, got[1]).tobytes()))
            rows = list(csv.reader(io.StringIO(as_format("csv").decode())))
            self.assertEqual([[int(v) for v in row[1:]] for row in rows[1:]], got)
            self.assertEqual([r["embedding"] for r in json.loads(as_format("json"))], got)
            self.assertIn(f"[{len(got[0])}]  {got[0][0]} {got[0][1]}", as_format("table").decode())

    def test_windows_are_quantized_too(self):
        for more in (["--chunk", "2"], ["--chunk", "2", "--chunk-pooling", "mean"], ["--late-chunk"]):
            plain = self.vectors("--normalize", "l2", *more)
            self.assertEqual(self.vectors("--normalize", "l2", "--quantize", "int8", *more), [[round(127 * v) for v in row] for row in plain])


class Convert(unittest.TestCase):
    def test_quality(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = os.path.join(folder, "texts.txt")
            with open(texts, "wb") as file:
                file.write(text_of(lines(20)))
            words, model = os.path.join(folder, "words.txt"), os.path.join(folder, "small.json")
            with open(words, "w", encoding="utf-8") as file:
                file.write("\n".join(WORDS))
            run("model", "init", "--words", words, "--d-model", "16", "--heads", "2", "--layers", "1", "-o", model, check=0)
            for kind, least in (("f32", 1), ("bf16", 0.999), ("int8", 0.99)):
                out = run("model", "convert", model, "--dtype", kind, "-o", os.path.join(folder, kind), "--quality", texts,
                          "--format", "json", check=0).stdout
                loss = json.loads(out)
                self.assertEqual(list(loss), ["texts", "mean_cosine", "least_cosine", "max_abs"])
                self.assertEqual(loss["texts"], 20)
                self.assertGreaterEqual(loss["least_cosine"], least - 1e-6)
                self.assertEqual(loss["max_abs"] > 0, kind != "f32")
            self.assertIn("mean cosine", run("model", "convert", "two-heads", "--to", "json", "-o", os.path.join(folder, "x.json"),
                                             "--quality", texts, check=0).stdout.decode())
            done = run("model", "convert", "two-heads", "-o", os.path.join(folder, "y"), "--quality", folder + "/none", check=1)
            self.assertIn("none", done.stderr.decode())
            self.assertFalse(os.path.exists(os.path.join(folder, "y")))

    def test_dtype_is_what_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("model", "convert", "two-heads", "--dtype", "bf16x3", "-o", os.path.join(folder, "x"), check=2)
            self.assertIn("--dtype: expected one of f32, f16", done.stderr.decode())
            self.assertIn('got "f16"', run("embed", "--dtype", "f16", "x", check=2).stderr.decode())
            self.assertEqual(os.listdir(folder), [])
            done = run("model", "convert", "two-heads", "--to", "json", "--dtype", "int8", "-o", os.path.join(folder, "x.json"), check=2)
            self.assertIn("--dtype: expected f32", done.stderr.decode())
            self.assertIn(b"f16", run("model", "convert", "--help", check=0).stdout)

    def test_vocab_txt_becomes_json(self):
        tiny = os.path.join(MINILM, "../tiny-bert")
        if not os.path.isdir(tiny):
            self.skipTest("no ../shared: tiny-bert is not tested")
        with tempfile.TemporaryDirectory() as folder:
            old = os.path.join(folder, "old")
            os.mkdir(old)
            for name in os.listdir(tiny):
                if name != "tokenizer.json":
                    os.symlink(os.path.abspath(os.path.join(tiny, name)), os.path.join(old, name))
            with open(os.path.join(tiny, "tokenizer.json"), encoding="utf-8") as file:
                vocabulary = json.load(file)["model"]["vocab"]
            if not os.path.exists(os.path.join(old, "vocab.txt")):
                with open(os.path.join(old, "vocab.txt"), "w", encoding="utf-8") as file:
                    file.writelines(token + "\n" for token in sorted(vocabulary, key=vocabulary.get))
            new = os.path.join(folder, "new.json")
            run("model", "convert", old, "--to", "json", "-o", new, check=0)
            some = ["Unbelievable naïve Café-goers [MASK] 東京 🙂", "", "she"]
            for command in (["tokenize", "--format", "jsonl"], ["embed"]):
                self.assertEqual(run(*command, "-m", old, "--", *some, check=0).stdout, run(*command, "-m", new, "--", *some, check=0).stdout)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
