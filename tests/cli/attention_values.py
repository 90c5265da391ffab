#!/usr/bin/env python3
"""attention_values.py MHA_CLI: rollout, head statistics, words and ablation of the program against values that
scripts/attention_reference.py computed once, independently, from the goldens of ../shared/models. Says so and passes if that
folder is absent."""
import json
import os
import subprocess
import sys
import unittest

MHA = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mha-cli"
HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(os.environ.get("MHA_SHARED", os.path.join(HERE, "../../../shared")), "models")

# Golden attention carries up to 6e-6 of float32 noise, hidden states 2e-5 (golden.json, "noise"; 20 times that is allowed).
# Entropy and distance sum a row's errors times log2 w or the distance.
WEIGHT, SUM, HIDDEN = 1e-4, 5e-4, 4e-4


def record(*arguments):
    done = subprocess.run([MHA, *arguments, "--format", "jsonl"], capture_output=True, timeout=120, check=True)
    return json.loads(done.stdout)


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


class Values(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(HERE, "../data/attention/expected.json"), encoding="utf8") as file:
            self.cases = json.load(file)
        self.assertGreater(len(self.cases), 6)

    def close(self, got, expected, limit, where):
        got, expected = flat(got), flat(expected)
        self.assertEqual(len(got), len(expected), where)
        for mine, theirs in zip(got, expected):
            self.assertAlmostEqual(mine, theirs, delta=limit, msg=where)

    def each(self, key):
        for case in self.cases:
            if key in case:
                arguments = ["-m", os.path.join(MODELS, case["model"]), *([] if case["specials"] else ["--no-special-tokens"]), case["text"]]
                yield case[key], arguments, f"{case['model']}: {case['text']}"

    def test_rollout(self):
        for expected, arguments, where in self.each("rollout"):
            self.close(record("attention", "--rollout", *arguments)["rollout"], expected, WEIGHT, where)

    def test_words(self):
        for expected, arguments, where in self.each("words"):
            self.close(record("attention", "--words", *arguments)["attentions"], expected, WEIGHT, where)

    def test_statistics(self):
        for expected, arguments, where in self.each("stats"):
            heads = subprocess.run([MHA, "heads", *arguments, "--format", "json"], capture_output=True, timeout=120, check=True).stdout
            for got in (record("attention", "--stats", *arguments)["stats"], json.loads(heads)["stats"]):
                self.assertEqual([list(row) for row in got], [list(row) for row in expected], where)
                for mine, theirs in zip(got, expected):
                    for key, value in theirs.items():
                        self.assertAlmostEqual(mine[key], value, delta=SUM if key in ("entropy", "distance") else WEIGHT, msg=f"{where}: {key}")

    def test_ablation(self):
        for expected, arguments, where in self.each("ablated"):
            for heads, states in expected.items():
                got = record("encode", "--ablate", heads, "--with", "last_hidden_state", *arguments)["last_hidden_state"]
                self.close(got, states, HIDDEN, f"{where}: {heads}")


if __name__ == "__main__":
    if not os.path.isdir(MODELS):
        print(f"skipped: no {MODELS}")
        sys.exit(0)
    unittest.main()
