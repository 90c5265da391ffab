#!/usr/bin/env python3
"""attention.py MHA_CLI: the answers of `attention`, `heads`, `compare` and `explain` in each format, with the model `two-heads`."""
import csv
import io
import json
import os
import sys
import tempfile
import unittest

from commands import lines, run_two_heads, text_of

TEXT = "She is a great leader"
TREE = """# text = She is a great leader
1\tShe\tshe\tPRON\t_\t_\t5\tnsubj\t_\t_
2\tis\tbe\tAUX\t_\t_\t5\tcop\t_\t_
3\ta\ta\tDET\t_\t_\t5\tdet\t_\t_
4\tgreat\tgreat\tADJ\t_\t_\t5\tamod\t_\t_
5\tleader\tleader\tNOUN\t_\t_\t0\troot\t_\t_

"""


def json_of(*arguments, **more):
    return json.loads(run_two_heads(*arguments, "--format", "json", check=0, **more).stdout)


def rows_of(text, separator=","):
    return list(csv.DictReader(io.StringIO(text.decode()), delimiter=separator))


class Maps(unittest.TestCase):
    def test_rows_sum_to_1(self):
        for arguments in ([], ["--words"], ["--average", "all"]):
            for layer in json_of("attention", *arguments, TEXT)[0]["attentions"]:
                for head in layer:
                    for row in head:
                        self.assertAlmostEqual(sum(row), 1, places=5)
        for row in json_of("attention", "--rollout", TEXT)[0]["rollout"]:
            self.assertAlmostEqual(sum(row), 1, places=5)

    def test_no_line_of_a_terminal_is_too_wide(self):
        for columns in ("60", "80", "120", "200"):
            for arguments in ([], ["--stats"], ["--top", "1"], ["--find", "She>leader"]):
                out = run_two_heads("attention", *arguments, TEXT, check=0, COLUMNS=columns).stdout.decode()
                self.assertLessEqual(max(map(len, out.splitlines())), int(columns), arguments)

    def test_pictures_have_the_same_bytes_every_time(self):
        for form in ("svg", "png", "html"):
            self.assertEqual(run_two_heads("attention", "--format", form, TEXT, check=0).stdout, run_two_heads("attention", "-t", "2", "--format", form, TEXT, check=0).stdout)

    def test_a_single_token_and_no_token(self):
        self.assertEqual(json_of("attention", "she")[0]["attentions"], [[[[1]], [[1]]]])
        self.assertIn("no tokens", run_two_heads("attention", "", check=0).stdout.decode())
        self.assertEqual(json_of("attention", "")[0]["tokens"], [])
        stats = json_of("heads", "she")["stats"]
        self.assertEqual({(s["entropy"], s["self"], s["previous"], s["next"], s["distance"], s["tokens"]) for s in stats}, {(0, 1, 0, 0, 0, 1)})


class Heads(unittest.TestCase):
    def test_a_corpus_of_one_text_has_its_statistics(self):
        self.assertEqual(json_of("heads", TEXT)["stats"], json_of("attention", "--stats", TEXT)[0]["stats"])

    def test_each_token_weighs_the_same_whatever_the_threads(self):
        some = lines(60)
        one = json_of("heads", "-t", "1", stdin=text_of(some))["stats"]
        self.assertEqual(one, json_of("heads", "-t", "3", stdin=text_of(some))["stats"])
        single = [json_of("heads", line)["stats"][0] for line in some[:20]]
        together = json_of("heads", *some[:20])["stats"][0]
        tokens = sum(s["tokens"] for s in single)
        self.assertEqual(together["tokens"], tokens)
        for key in ("entropy", "self", "first", "special", "distance"):
            self.assertAlmostEqual(together[key], sum(s[key] * s["tokens"] for s in single) / tokens, places=5)

    def test_formats_hold_the_same_numbers(self):
        stats = json_of("heads", TEXT)["stats"]
        self.assertEqual(stats, [json.loads(l) for l in run_two_heads("heads", "--format", "jsonl", TEXT, check=0).stdout.splitlines()])
        for form, separator in (("csv", ","), ("tsv", "\t")):
            rows = rows_of(run_two_heads("heads", "--format", form, TEXT, check=0).stdout, separator)
            self.assertEqual([{k: float(v) for k, v in row.items()} for row in rows], stats)

    def test_no_input_is_no_statistics(self):
        self.assertEqual(json_of("heads", stdin=b""), {"stats": []})
        self.assertEqual(json_of("heads", ""), {"stats": []})

    def test_a_treebank(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "tree.conllu")
            with open(file, "w", encoding="utf8") as tree:
                tree.write(TREE * 3)
            whole = json_of("heads", "--conllu", file)
            table = run_two_heads("heads", "--conllu", file, check=0, COLUMNS="80").stdout.decode()
            rows = [json.loads(l) for l in run_two_heads("heads", "--conllu", file, "--format", "jsonl", check=0).stdout.splitlines()]
        found = {(r["relation"], r["direction"]): r for r in whole["relations"]}
        subject = found["nsubj", "dependent-to-head"]  # head 0 sends She to leader
        self.assertEqual((subject["layer"], subject["head"], subject["accuracy"], subject["support"]), (0, 0, 1, 3))
        self.assertEqual((subject["baseline"], subject["baseline_offset"]), (1, 4))
        modifier = found["amod", "head-to-dependent"]  # head 1 sends leader to great
        self.assertEqual((modifier["head"], modifier["accuracy"], modifier["support_any"]), (1, 1, 3))
        self.assertEqual(whole["attachment"]["support"], 12)
        self.assertEqual(rows, whole["relations"] + [{"attachment": whole["attachment"]}])
        for word in ("nsubj", "→ head", "→ dependent", "0.0"):
            self.assertIn(word, table)
        self.assertLessEqual(max(map(len, table.splitlines())), 80)

    def test_a_broken_treebank_names_its_line(self):
        for bad, said in ((TREE.replace("\t5\tnsubj", "\t9\tnsubj"), "heads up to 5"), (TREE.replace("2\tis", "7\tis"), "line 3: expected id 2"), ("1\tx\n", "10 columns")):
            done = run_two_heads("heads", "--conllu", "-", stdin=bad, check=1)
            self.assertIn(said, done.stderr.decode())

    def test_importance_is_the_change_without_each_head(self):
        heads = json_of("heads", "--importance", TEXT, "a leader")["importance"]
        self.assertEqual([(h["layer"], h["head"], h["inputs"]) for h in heads], [(0, 0, 2), (0, 1, 2)])
        self.assertTrue(all(h["change"] > 0 for h in heads))
        self.assertEqual(json_of("heads", "--importance", stdin=b""), {"importance": []})
        ablated = json_of("heads", "--importance", "--ablate", "0.0", TEXT)["importance"]
        self.assertEqual(ablated[0]["change"], 0)
        self.assertGreater(ablated[1]["change"], 0)
        self.assertEqual([h["head"] for h in json_of("heads", "--importance", "--head", "1", TEXT)["importance"]], [1])


class Compare(unittest.TestCase):
    def test_a_model_with_itself_is_zero(self):
        done = run_two_heads("compare", "--against", "two-heads", "--tolerance", "0", "--format", "json", TEXT, check=0)
        found = json.loads(done.stdout)
        self.assertTrue(found["within"])
        self.assertEqual(found["embedding"], {"cosine": 1, "max_abs": 0})
        self.assertTrue(all(l["cosine"] == 1 and l["max_abs"] == 0 for l in found["layers"]))
        self.assertTrue(all(h["distance"] == 0 for h in found["heads"]))

    def test_the_first_place_over_the_tolerance(self):
        done = run_two_heads("compare", "--tolerance", "1e-6", "she is", "a leader", check=1)
        self.assertIn("over the tolerance: hidden_states 0", done.stderr.decode())
        self.assertFalse(json.loads(run_two_heads("compare", "--tolerance", "1e-6", "--format", "json", "she is", "a leader", check=1).stdout)["within"])

    def test_nothing_to_compare_is_not_within_a_tolerance(self):
        with tempfile.TemporaryDirectory() as folder:
            other, words = os.path.join(folder, "other.json"), os.path.join(folder, "words.txt")
            with open(words, "w", encoding="utf8") as file:
                file.write("she\nis\na\nleader\n")
            run_two_heads("model", "init", "--words", words, "--d-model", "8", "--heads", "4", "--layers", "1", "-o", other, check=0)
            done = run_two_heads("compare", "--against", other, "--tolerance", "1", "--format", "json", "she is a leader", check=1)
            self.assertIn("nothing to compare", done.stderr.decode())
            self.assertEqual(json.loads(done.stdout), {"embedding": None, "layers": [], "heads": [], "within": False})
            self.assertTrue(json_of("compare", "--against", other, "she is a leader")["within"])

    def test_formats_hold_the_same_numbers(self):
        found = json_of("compare", "she is", "a leader")
        for form, separator in (("csv", ","), ("tsv", "\t")):
            rows = rows_of(run_two_heads("compare", "--format", form, "she is", "a leader", check=0).stdout, separator)
            self.assertEqual([r["part"] for r in rows], ["embedding", "layer", "layer", "head", "head"])
            self.assertEqual(float(rows[0]["cosine"]), found["embedding"]["cosine"])
            self.assertEqual([float(r["max_abs"]) for r in rows[1:3]], [l["max_abs"] for l in found["layers"]])
            self.assertEqual([float(r["distance"]) for r in rows[3:]], [h["distance"] for h in found["heads"]])
        self.assertEqual(json.loads(run_two_heads("compare", "--format", "jsonl", "she is", "a leader", check=0).stdout), found)

    def test_many_inputs_from_a_pipe(self):
        some = lines(150)
        found = json_of("compare", "--against", "two-heads", stdin=text_of(some))
        self.assertEqual(len(found), 150)
        self.assertTrue(all(f["embedding"] == {"cosine": 1, "max_abs": 0} for f in found))
        rows = rows_of(run_two_heads("compare", "--against", "two-heads", "--format", "csv", stdin=text_of(some), check=0).stdout)
        self.assertEqual(sorted({int(r["index"]) for r in rows}), list(range(150)))
        self.assertEqual(json_of("compare", "--against", "two-heads", stdin=b""), [])

    def test_what_has_other_shapes_is_left_out(self):
        found = json_of("compare", "she is", TEXT)
        self.assertEqual((found["layers"], found["heads"]), ([], []))


class Explain(unittest.TestCase):
    def test_shares_add_up_and_stages_multiply_out(self):
        e = json_of("explain", TEXT)
        tokens, width = len(e["tokens"]), e["d_model"]
        for i in range(tokens):
            for head in e["heads"]:
                self.assertAlmostEqual(sum(head["probabilities"][i]), 1, places=5)
                for j in range(tokens):
                    self.assertAlmostEqual(sum(q * k for q, k in zip(head["Q"][i], head["K"][j])), head["scores"][i][j], delta=1e-4)
            shares = [sum(head["output_share"][i][c] for head in e["heads"]) for c in range(width)]
            rest = [a - s for a, s in zip(e["attention_output"][i], shares)]  # Wo's bias, the same for every token
            first = rest if i == 0 else first
            for mine, theirs in zip(rest, first):
                self.assertAlmostEqual(mine, theirs, delta=1e-4)

    def test_heads_and_token_are_chosen(self):
        e = json_of("explain", "--head", "1", TEXT)
        self.assertEqual([h["head"] for h in e["heads"]], [1])
        self.assertIn("Whom leader listens to", run_two_heads("explain", "--token", "leader", TEXT, check=0).stdout.decode())
        run_two_heads("explain", "--token", "nobody", TEXT, check=2)

    def test_a_single_token(self):
        self.assertEqual(json_of("explain", "she")["heads"][0]["probabilities"], [[1]])
        for form in ("table", "html"):
            run_two_heads("explain", "--format", form, "she", check=0)
        run_two_heads("explain", "", check=1)


if __name__ == "__main__":
    unittest.main()
