#!/usr/bin/env python3
"""tasks.py MHA_CLI: the results of every model with a task head in ../shared/models against those of the reference's
pipelines (golden.json there): scores within 1e-5, everything else exactly. Says so and passes if that folder is absent."""
import csv
import glob
import io
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

MHA = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mha-cli"
HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(os.environ.get("MHA_SHARED", os.path.join(HERE, "../../../shared")), "models")
LIMIT = 1e-5
with open(os.path.join(HERE, "../data/task_goldens.json"), encoding="utf8") as golden_file:
    GOLDEN = json.load(golden_file)  # scripts/make_task_goldens.py


def run(*arguments, stdin="", check=0):
    done = subprocess.run([MHA, *arguments], input=stdin.encode(), capture_output=True, timeout=120)
    if done.returncode != check:
        raise AssertionError(f"{arguments}: exit {done.returncode}, expected {check}: {done.stderr.decode()}")
    return done.stdout.decode()


def records(*arguments, stdin="", check=0):
    return [json.loads(line) for line in run(*arguments, "--format", "jsonl", stdin=stdin, check=check).splitlines()]


def folders(pattern):
    some = []
    for folder in sorted(glob.glob(os.path.join(MODELS, "tiny-" + pattern))):
        with open(os.path.join(folder, "golden.json"), encoding="utf8") as file:
            some.append((folder, json.load(file)))
    if not some:
        raise AssertionError(f"no tiny-{pattern} in {MODELS}")
    return some


def arrays(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        body = file.read()
    header.pop("__metadata__", None)
    return {name: struct.unpack(f"<{(v['data_offsets'][1] - v['data_offsets'][0]) // 4}f", body[slice(*v["data_offsets"])])
            for name, v in header.items()}


class Same(unittest.TestCase):
    def same(self, got, expected, where, limit=LIMIT):
        self.assertEqual(len(got), len(expected), where)
        for mine, theirs in zip(got, expected):
            self.assertEqual({k: v for k, v in mine.items() if k != "score"}, {k: v for k, v in theirs.items() if k != "score"}, where)
            self.assertAlmostEqual(mine["score"], theirs["score"], delta=limit, msg=where)


class FillMask(Same):
    def test_goldens(self):
        for folder, golden in folders("*-mlm"):
            for case in golden["cases"]:
                where = f"{folder}: {case['name']}"
                expected = case["pipeline"]
                lists = expected if isinstance(expected[0], list) else [expected]
                (record,) = records("-m", folder, "fill-mask", case["text"])
                self.assertEqual(record["text"], case["text"])
                self.assertEqual(len(record["fills"]), len(lists), where)
                for got, wanted in zip(record["fills"], lists):
                    self.same(got, wanted, where)

    def test_targets(self):
        for folder, golden in folders("*-mlm"):
            for case in golden["cases"]:
                if "targets" not in case:
                    continue
                words = [token_of(folder, target["token"]) for target in case["targets"]]
                (record,) = records("-m", folder, "fill-mask", "--targets", ",".join(words), case["text"])
                self.same(record["fills"][0], case["targets"], folder)

    def test_several_masks_and_targets(self):
        for case in GOLDEN["fills"]:
            more = ["--targets", ",".join(case["targets"])] if case["targets"] else []
            (record,) = records("-q", "-m", os.path.join(MODELS, case["model"]), "fill-mask", "--top-k", str(case["top_k"]), *more, case["text"])
            self.assertEqual(len(record["fills"]), len(case["fills"]))
            for got, wanted in zip(record["fills"], case["fills"]):
                self.same(got, wanted, str(case))

    def test_top_k_formats_and_bad_inputs(self):
        for folder, golden in folders("bert-mlm"):
            case = golden["cases"][1]
            (record,) = records("-m", folder, "fill-mask", "--top-k", "2", case["text"])
            self.assertEqual([len(fills) for fills in record["fills"]], [2, 2])
            rows = list(csv.DictReader(io.StringIO(run("-m", folder, "fill-mask", "--top-k", "2", "--format", "csv", case["text"]))))
            self.assertEqual([row["mask"] for row in rows], ["0", "0", "1", "1"])
            self.assertEqual([row["sequence"] for row in rows], [fill["sequence"] for fills in record["fills"] for fill in fills])
            self.assertEqual(rows[0]["score"], str(record["fills"][0][0]["score"]))
            self.assertIn("token_str", run("-m", folder, "fill-mask", case["text"]))
            got = records("-m", folder, "fill-mask", "--on-error", "record", stdin="no mask\na [MASK]\n", check=1)
            self.assertIn("[MASK]", got[0]["error"])
            self.assertIn("fills", got[1])


def token_of(folder, token_id):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf8") as file:
        tokenizer = json.load(file)
    for added in tokenizer["added_tokens"]:
        if added["id"] == token_id:
            return added["content"]
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, list):
        return vocabulary[token_id][0]
    return next(token for token, number in vocabulary.items() if number == token_id)


class Classify(Same):
    def inputs(self, golden):
        return "".join(json.dumps({k: case[k] for k in ("text", "text_pair") if k in case}) + "\n" for case in golden["cases"])

    def test_goldens(self):
        for folder, golden in folders("*-classify") + folders("*-reranker"):
            stdin = self.inputs(golden)
            full = records("-m", folder, "classify", "--all-scores", "--input-format", "jsonl", stdin=stdin)
            best = records("-m", folder, "classify", "--input-format", "jsonl", stdin=stdin)
            self.assertEqual(len(full), len(golden["cases"]))
            for case, record, first in zip(golden["cases"], full, best):
                expected = case["pipeline"]
                expected = expected[0] if isinstance(expected[0], list) else expected
                # A regression's score is a logit itself: the limit of compare.py for logits.
                noise = case["keys"]["logits"]
                limit = 20 * noise["noise"] + 1e-5 * noise["scale"] if golden["problem_type"] == "regression" else LIMIT
                self.same(record["scores"], expected, f"{folder}: {case['text']}", limit)
                self.same([{"label": first["label"], "score": first["score"]}], expected[:1], folder, limit)

    def test_alone_as_in_a_batch(self):
        for folder, golden in folders("*-classify"):
            together = records("-m", folder, "classify", "--input-format", "jsonl", stdin=self.inputs(golden))
            for case, record in zip(golden["cases"], together):
                pair = ["--pair", case["text_pair"]] if "text_pair" in case else []
                (alone,) = records("-m", folder, "classify", *pair, case["text"])
                self.assertEqual((alone["label"], alone["score"]), (record["label"], record["score"]))

    def test_zero_shot(self):
        # Each label by itself: entailment (the last output) against contradiction (the first), as the pair's own scores say.
        for folder, golden in folders("bert-classify"):
            text, labels = "She is a great leader.", ["people", "animals", "soap"]
            (record,) = records("-m", folder, "classify", "--labels", ",".join(labels), "--multi-label", "--all-scores", text)
            got = {row["label"]: row["score"] for row in record["scores"]}
            ratios = {}
            for label in labels:
                (pair,) = records("-m", folder, "classify", "--all-scores", "--pair", f"This example is {label}.", text)
                score = {row["label"]: row["score"] for row in pair["scores"]}
                ratios[label] = score["positive"] / (score["positive"] + score["negative"])
            for label in labels:
                self.assertAlmostEqual(got[label], ratios[label], delta=LIMIT)
            self.assertEqual([row["label"] for row in record["scores"]], sorted(labels, key=lambda label: -ratios[label]))
            (record,) = records("-m", folder, "classify", "--labels", ",".join(labels), "--all-scores", text)
            self.assertAlmostEqual(sum(row["score"] for row in record["scores"]), 1, delta=LIMIT)
            warned = subprocess.run([MHA, "-m", folder, "classify", "--labels", "a,b", text], capture_output=True, check=True).stderr
            self.assertIn(b"entail", warned)
            run("-m", folder, "classify", "--labels", "a,b", "--hypothesis", "no place", text, check=2)
            run("-m", folder, "classify", "--labels", "a,b", "--pair", "x", text, check=2)
            run("-m", folder, "classify", "--multi-label", text, check=2)

    def test_zero_shot_goldens(self):
        for case in GOLDEN["zero_shot"]:
            with tempfile.TemporaryDirectory() as into:
                folder = renamed(os.path.join(MODELS, case["model"]), case["names"], into)
                more = ["--hypothesis", case["hypothesis"]] if "hypothesis" in case else []
                more += ["--multi-label"] if case.get("multi_label") else []
                asked = ["-q", "-m", folder, "classify", "--labels", ",".join(case["labels"]), *more]
                (record,) = records(*asked, "--all-scores", case["text"])
                self.same(record["scores"], case["scores"], str(case))
                (best,) = records(*asked, case["text"])
                self.assertEqual({"label": best["label"], "score": best["score"]}, record["scores"][0])


    def test_zero_shot_cuts_the_text_and_never_the_hypothesis(self):
        folder, text, tried = os.path.join(MODELS, "tiny-bert-classify"), "the cat sat on the mat " * 20, 0
        (tokens,) = records("-q", "-m", folder, "tokenize", "--no-special-tokens", "--max-length", "9999", text)
        limit = len(records("-q", "-m", folder, "tokenize", text * 3)[0]["tokens"])
        ends = [end for _, end in tokens["offsets"]]
        for words in range(limit // 2):
            hypothesis = "It is {}" + " soap" * words
            taken = int(run("-m", folder, "tokenize", "--count", "--no-special-tokens", hypothesis.format("x"))) + 3
            if not limit // 2 < taken - 3 < limit - 6 or text[ends[limit - taken - 1]] != " ":
                continue
            asked = ["-q", "-m", folder, "classify", "--labels", "x", "--hypothesis", hypothesis]
            whole, cut = (records(*asked, some)[0]["score"] for some in (text, text[:ends[limit - taken - 1]]))
            self.assertEqual(whole, cut)
            tried += 1
        self.assertGreater(tried, 0)


def renamed(folder, names, into):
    """A copy of the model whose labels have other names."""
    for name in os.listdir(folder):
        os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(into, name))
    with open(os.path.join(folder, "config.json"), encoding="utf8") as file:
        config = json.load(file)
    if names:
        config["id2label"] = {str(i): name for i, name in enumerate(names)}
        config["label2id"] = {name: i for i, name in enumerate(names)}
    os.remove(os.path.join(into, "config.json"))
    with open(os.path.join(into, "config.json"), "w", encoding="utf8") as file:
        json.dump(config, file)
    return into


class Tag(Same):
    def test_words_cut_in_pieces(self):
        for case in GOLDEN["entities"]:
            (record,) = records("-m", os.path.join(MODELS, case["model"]), "tag", "--aggregation", case["aggregation"], case["text"])
            self.same(record["entities"], case["entities"], f"{case['model']}: {case['aggregation']}: {case['text']}")

    def test_goldens(self):
        for folder, golden in folders("*-ner"):
            stdin = "".join(case["text"] + "\n" for case in golden["cases"])
            for aggregation in ("none", "simple", "first", "average", "max"):
                got = records("-m", folder, "tag", "--aggregation", aggregation, stdin=stdin)
                for case, record in zip(golden["cases"], got):
                    self.same(record["entities"], case["pipeline"][aggregation], f"{folder}: {aggregation}: {case['text']}")

    def test_offsets_in_bytes(self):
        for folder, golden in folders("*-ner"):
            for case in golden["cases"]:
                (points,) = records("-m", folder, "tag", case["text"])
                (octets,) = records("-m", folder, "tag", "--offsets", "bytes", case["text"])
                text = case["text"].encode()
                for a, b in zip(points["entities"], octets["entities"]):
                    self.assertEqual(case["text"][a["start"]:a["end"]], text[b["start"]:b["end"]].decode())


class Rerank(unittest.TestCase):
    def test_goldens(self):
        for folder, golden in folders("*-reranker"):
            wanted = golden["rerank"]
            stdin = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(wanted["documents"]))
            got = records("-m", folder, "rerank", wanted["query"], "--input-format", "jsonl", stdin=stdin)
            self.assertEqual([record["index"] for record in got], wanted["order"])
            self.assertEqual([record["id"] for record in got], wanted["order"])
            for record in got:
                self.assertEqual(record["text"], wanted["documents"][record["index"]])
                self.assertAlmostEqual(record["score"], wanted["scores"][record["index"]], delta=LIMIT)
            top = records("-m", folder, "rerank", "--top-k", "2", wanted["query"], *wanted["documents"])
            self.assertEqual([record["index"] for record in top], wanted["order"][:2])

    def test_by_vectors(self):
        folder = os.path.join(MODELS, "all-MiniLM-L6-v2")
        if not os.path.isdir(folder):
            self.skipTest("no all-MiniLM-L6-v2")
        texts = ["The stock fell.", "An elephant is a very big animal.", "Please shut the door."]
        got = records("-m", folder, "rerank", "How big are elephants?", *texts)
        cosines = records("-m", folder, "similarity", "How big are elephants?", *texts)
        wanted = sorted(((row["similarity"], row["index"] - 1) for row in cosines), reverse=True)
        self.assertEqual([(record["score"], record["index"]) for record in got], wanted)
        self.assertEqual(got[0]["text"], texts[1])


class Answer(unittest.TestCase):
    @staticmethod
    def probability(logits, allowed, token):
        return math.exp(logits[token]) / sum(math.exp(logits[i]) for i in allowed)

    def test_goldens(self):
        for folder, golden in folders("*-qa"):
            logits = arrays(os.path.join(folder, "golden.safetensors"))
            for case in golden["cases"]:
                best = case["best_spans"][0]
                (record,) = records("-m", folder, "answer", case["text"], case["text_pair"])
                self.assertEqual(record["answer"], best["text"])
                self.assertEqual(record["text"], case["text_pair"])
                self.assertEqual(case["text_pair"][record["start"]:record["end"]], best["text"])
                self.assertEqual(record["start"], case["offsets"][best["start_token"]][0])
                # The context's tokens and the first special share the probability.
                allowed = [0] + list(range(case["tokens"].index("[SEP]") + 1, len(case["tokens"]) - 1))
                score = (self.probability(logits[case["name"] + ".start_logits"], allowed, best["start_token"]) *
                         self.probability(logits[case["name"] + ".end_logits"], allowed, best["end_token"]))
                self.assertAlmostEqual(record["score"], score, delta=LIMIT)
                (more,) = records("-m", folder, "answer", "--top-k", "3", case["text"], case["text_pair"])
                self.assertEqual([row["answer"] for row in more["answers"]], [span["text"] for span in case["best_spans"]])

    def test_no_answer(self):
        # "No answer" is the span from the first token to itself; the smallest such score of all windows counts.
        for folder, golden in folders("*-qa"):
            logits = arrays(os.path.join(folder, "golden.safetensors"))
            for case in golden["cases"]:
                allowed = [0] + list(range(case["tokens"].index("[SEP]") + 1, len(case["tokens"]) - 1))
                none = (self.probability(logits[case["name"] + ".start_logits"], allowed, 0) *
                        self.probability(logits[case["name"] + ".end_logits"], allowed, 0))
                plain = records("-m", folder, "answer", "--top-k", "400", case["text"], case["text_pair"])[0]["answers"]
                more = records("-m", folder, "answer", "--no-answer", "--top-k", "401", case["text"], case["text_pair"])[0]["answers"]
                (empty,) = [row for row in more if row["answer"] == "" and row not in plain]
                self.assertEqual((empty["start"], empty["end"]), (0, 0))
                self.assertAlmostEqual(empty["score"], none, delta=LIMIT)
                self.assertEqual([row for row in more if row != empty], plain)
                self.assertEqual(more, sorted(more, key=lambda row: -row["score"]))
                (best,) = records("-m", folder, "answer", "--no-answer", case["text"], case["text_pair"])
                self.assertEqual({k: best[k] for k in more[0]}, more[0])
            long = " ".join(case["text_pair"] for case in golden["cases"]) * 6
            windows = records("-m", folder, "answer", "--no-answer", "--top-k", "9999", "--max-length", "40", "--stride", "8",
                              golden["cases"][0]["text"], long)[0]["answers"]
            self.assertEqual(sum(row["answer"] == "" and row["end"] == 0 for row in windows), 1)
            self.least_of_windows(folder, golden["cases"][0]["text"], long)

    def least_of_windows(self, folder, question, text):
        # A text that is the first window alone, and the whole: more windows can only make "no answer" less likely.
        taken = int(run("-m", folder, "tokenize", "--count", "--no-special-tokens", question)) + 3
        (tokens,) = records("-m", folder, "tokenize", "--no-special-tokens", "--max-length", "9999", "-q", text)
        ends = [end for _, end in tokens["offsets"]]
        less = 0
        for length in range(taken + 10, min(taken + 30, len(ends))):
            end = ends[length - taken - 1]
            if text[end] != " ":
                continue
            asked = ["-m", folder, "answer", "--no-answer", "--top-k", "9999", "--max-length", str(length), "--stride", "2", question]
            first, whole = ([row["score"] for row in records(*asked, some)[0]["answers"] if row["answer"] == "" and row["end"] == 0][0]
                            for some in (text[:end], text))
            self.assertLessEqual(whole, first)
            less += whole < first
        self.assertGreater(less, 0)

    def test_windows(self):
        for folder, golden in folders("*-qa"):
            question = golden["cases"][0]["text"]
            long = " ".join(case["text_pair"] for case in golden["cases"]) * 6
            (record,) = records("-m", folder, "answer", "--max-length", "40", "--stride", "8", question, long)
            self.assertEqual(long[record["start"]:record["end"]], record["answer"])
            self.assertNotIn("truncated", record)
            run("-m", folder, "answer", "--max-length", "40", "--stride", "39", question, long, check=2)
            run("-m", folder, "answer", "--max-length", "5", question, long, check=2)
            run("-m", folder, "answer", check=2)


class Manners(unittest.TestCase):
    COMMANDS = [("tiny-bert-mlm", ["fill-mask"], "a [MASK] b"), ("tiny-bert-classify", ["classify"], "a b"), ("tiny-bert-ner", ["tag"], "a b"),
                ("tiny-bert-ner", ["tag", "--aggregation", "max"], "a b"), ("tiny-bert-classify", ["classify", "--labels", "x,y"], "a b"),
                ("tiny-xlm-roberta-reranker", ["rerank", "a question"], "a b"), ("tiny-bert", ["rerank", "a question"], "a b"),
                ("tiny-bert-qa", ["answer", "a question"], "a b"), ("tiny-bert-qa", ["answer", "--no-answer", "--top-k", "3", "a question"], "a b")]

    def test_single_texts_only(self):
        for model, command, text in self.COMMANDS:
            if command[0] in ("fill-mask", "classify") and "--labels" not in command:
                continue
            model = os.path.join(MODELS, model)
            run("-m", model, *command, "--pair", "c", text, check=2)
            pair = json.dumps({"text": text, "text_pair": "c"}) + "\n"
            (got,) = records("-m", model, *command, "--input-format", "jsonl", "--on-error", "record", stdin=pair, check=1)
            self.assertIn("text_pair", got["error"])

    def test_formats_and_errors_are_the_same_everywhere(self):
        for model, command, text in self.COMMANDS:
            model = os.path.join(MODELS, model)
            got = records("-m", model, *command, text)
            self.assertEqual(json.loads(run("-m", model, *command, "--format", "json", text)), got)
            keys = set(got[0])
            csv_rows = run("-m", model, *command, "--format", "csv", text)
            tsv_rows = run("-m", model, *command, "--format", "tsv", text)
            self.assertEqual(csv_rows.splitlines()[0].split(","), tsv_rows.splitlines()[0].split("\t"))
            self.assertTrue(run("-m", model, *command, text))
            bad = b"\xff\n" + text.encode() + b"\n"
            for policy, count in (("fail", 0), ("skip", 1), ("record", 2)):
                done = subprocess.run([MHA, "-m", model, *command, "--format", "jsonl", "--on-error", policy], input=bad, capture_output=True)
                self.assertEqual(done.returncode, 1, (command, policy))
                rows = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(rows), count, (command, policy))
                self.assertEqual([row["index"] for row in rows if "error" not in row], [1] if count else [])
                for row in rows:
                    self.assertTrue("error" in row or keys == set(row), row)
            self.assertEqual(records("-m", model, *command, stdin=""), [])

    def test_each_line_is_answered_at_once(self):
        for model, command, text in self.COMMANDS:
            if command[0] == "rerank":
                continue
            program = subprocess.Popen([MHA, "-m", os.path.join(MODELS, model), *command, "--format", "jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for index in range(3):
                program.stdin.write(text.encode() + b"\n")
                program.stdin.flush()
                self.assertEqual(json.loads(program.stdout.readline())["index"], index)
            program.stdin.close()
            self.assertEqual(program.wait(10), 0)
            program.stdout.close()


class Inspection(unittest.TestCase):
    def test_arrays_of_a_head_are_in_use(self):
        for model in ("tiny-bert-mlm", "tiny-bert-classify", "tiny-bert-ner", "tiny-bert-qa", "tiny-deberta-v2-mlm"):
            folder = os.path.join(MODELS, model)
            unused = json.loads(run("model", "info", folder, "--format", "json"))["unused_tensors"]
            self.assertEqual([name for name in unused if name.startswith(("cls.predictions", "classifier", "qa_outputs"))], [], model)
            self.assertNotIn("classifier", "".join(l for l in run("model", "verify", folder).splitlines() if l.startswith("note")))


class Help(unittest.TestCase):
    def test_pages(self):
        for command in ("fill-mask", "classify", "tag", "rerank", "answer"):
            page = run(command, "--help")
            self.assertIn("Examples:", page)
            self.assertIn(command, run("--help"))


if __name__ == "__main__":
    if not os.path.isdir(MODELS):
        print(f"skipped: no {MODELS}: task heads are not tested")
        sys.exit(0)
    unittest.main()
