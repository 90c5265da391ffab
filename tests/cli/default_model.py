#!/usr/bin/env python3
"""default_model.py MHA_CLI: the model inside the binary is the one that its card describes: hashes of the files, known vectors,
similarities, and the jobs of its heads. The expected numbers are in ../data/contextual-512/golden.json, computed by
scripts/train/rerun.py from the files alone."""
import hashlib
import json
import os
import subprocess
import sys
import unittest

MHA = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "mha-cli"
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../../models/contextual-512")
WITHIN = {"auto": 2e-5, "bf16": 2e-3, "int8": 1e-2}     # of a number of a unit vector

with open(os.path.join(HERE, "../data/contextual-512/golden.json"), encoding="utf-8") as file:
    GOLDEN = json.load(file)
TEXTS = [entry["text"] for entry in GOLDEN["vectors"]]


def start(*arguments):
    env = {key: value for key, value in os.environ.items() if key != "MHA_MODEL"}
    return subprocess.run([MHA, *arguments], capture_output=True, env=env, timeout=120)


def run(*arguments):
    done = start(*arguments)
    done.check_returncode()
    return json.loads(done.stdout)


class DefaultModel(unittest.TestCase):
    def test_it_is_the_default(self):
        self.assertEqual(run("model", "info", "--format", "json")["name"], GOLDEN["model"])

    def test_files(self):
        for name, digest in GOLDEN["sha256"].items():
            with open(os.path.join(FOLDER, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest, name)

    def test_vectors(self):
        for dtype, within in WITHIN.items():
            if b"does not have it on this machine" in start("embed", "--dtype", dtype, "a").stderr:
                continue  # int8 needs AVX512_VNNI or AMX
            records = run("embed", "--dtype", dtype, "--with", "tokens,embedding", "--format", "json", "--", *TEXTS)
            for record, expected in zip(records, GOLDEN["vectors"], strict=True):
                self.assertEqual(record["input_ids"], expected["input_ids"])
                self.assertEqual(record["tokens"], expected["tokens"])
                known = expected["vector"] or expected["first"]
                far = max(abs(a - b) for a, b in zip(record["embedding"], known))
                self.assertLess(far, within, (dtype, expected["text"]))

    def test_similarities(self):
        for pair in GOLDEN["similarity"]:
            found = run("similarity", "--format", "json", "--", pair["a"], pair["b"])[0]["similarity"]
            self.assertAlmostEqual(found, pair["cosine"], delta=2e-5)

    def test_heads_do_their_jobs(self):
        for claim in GOLDEN["claims"]:
            found = run("attention", "--layer", str(claim["layer"]), "--head", str(claim["head"]), "--format", "json",
                        "--", claim["text"])[0]
            row = found["attentions"][0][0][claim["query"]]
            self.assertEqual(found["tokens"][claim["query"]].lower(), claim["from"])
            self.assertEqual(found["tokens"][claim["key"]].lower(), claim["to"])
            self.assertAlmostEqual(row[claim["key"]], claim["weight"], delta=3e-5)
            self.assertEqual(max(row) == row[claim["key"]], claim["greatest"])

    def test_she_is_a_great_leader(self):
        """The claims of the model card and of the README about "She is a great leader"."""
        weights = {(c["job"], c["from"], c["to"]): c["weight"] for c in GOLDEN["claims"] if c["text"] == TEXTS[0]}
        self.assertGreater(weights["role", "she", "leader"], 0.8)
        self.assertGreater(weights["descriptor", "she", "great"], 0.8)


if __name__ == "__main__":
    unittest.main()
