#!/usr/bin/env python3
"""treebank_reference.py MHA_CLI MODEL FILE.conllu [SENTENCES]

Scores heads against the first sentences of a treebank, independently of `heads --conllu`, and compares all numbers. It uses only
numpy and the program's attention maps (npz). Rules: docs/attention.md, "Heads against a treebank"; Clark et al. 2019, §4.2."""
import io
import json
import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np


def sentences(path, count):
    blocks = open(path, encoding="utf8").read().strip().split("\n\n")[:count]
    for block in blocks:
        lines = block.split("\n")
        text = next(line[len("# text = "):] for line in lines if line.startswith("# text = "))
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        spans, place, inside = {}, 0, 0
        for row in rows:
            if "." in row[0]:
                continue
            if "-" in row[0]:
                first, last = map(int, row[0].split("-"))
                begin = text.index(row[1], place)
                parts = [r[1] for r in rows if r[0].isdigit() and first <= int(r[0]) <= last]
                place, inside, at = begin + len(row[1]), last, begin
                for number, part in zip(range(first, last + 1), parts):
                    if "".join(parts) == row[1]:
                        spans[number] = (at, at + len(part))
                    at += len(part)
            elif int(row[0]) > inside:
                begin = text.index(row[1], place)
                place = begin + len(row[1])
                spans[int(row[0])] = (begin, place)
        yield text, [(int(r[0]), int(r[6]), r[7]) for r in rows if r[0].isdigit()], spans


def main():
    program, model, path = sys.argv[1:4]
    some = list(sentences(path, int(sys.argv[4]) if len(sys.argv) > 4 else 200))
    texts = "".join(json.dumps({"text": text}) + "\n" for text, _, _ in some).encode()
    npz = subprocess.run([program, "attention", "-q", "-m", model, "--input-format", "jsonl", "--format", "npz", "--with", "tokens,attentions"],
                         input=texts, capture_output=True, check=True).stdout
    arrays = np.load(io.BytesIO(npz))
    right, support, offsets = defaultdict(lambda: 0), Counter(), defaultdict(Counter)
    for i, (_, words, spans) in enumerate(some):
        attention = arrays[f"{i}.attentions"].astype(np.float64)
        owner = {}
        for t, (begin, end) in enumerate(arrays[f"{i}.offsets"]):
            if not arrays[f"{i}.special_tokens_mask"][t]:
                owner[t] = next((w for w, (b, e) in spans.items() if b <= begin < e), None)
        pieces = defaultdict(list)
        for t, word in owner.items():
            if word is not None:
                pieces[word].append(t)
        order = sorted(pieces)
        if len(order) < 2:
            continue
        joined = np.stack([attention[..., pieces[w]].sum(-1) for w in order], -1)
        joined = np.stack([joined[:, :, pieces[w]].mean(2) for w in order], 2)
        joined[..., range(len(order)), range(len(order))] = -1
        guess = joined.argmax(-1)
        for word, head, relation in words:
            if head == 0 or word not in pieces or head not in pieces or head == word:
                continue
            w, h = order.index(word), order.index(head)
            for key, a, b, step in (((relation, "dependent-to-head"), w, h, head - word), ((relation, "head-to-dependent"), h, w, word - head)):
                support[key] += 1
                offsets[key][step] += 1
                right[key] = right[key] + (guess[:, :, a] == b)
    small = "\n\n".join(open(path, encoding="utf8").read().strip().split("\n\n")[:len(some)]) + "\n\n"
    out = subprocess.run([program, "heads", "-q", "-m", model, "--conllu", "-", "--format", "json"], input=small.encode(), capture_output=True, check=True).stdout
    mine = {(r["relation"], r["direction"]): r for r in json.loads(out)["relations"]}
    assert mine.keys() == support.keys(), mine.keys() ^ support.keys()
    wrong = 0
    for key, row in sorted(mine.items()):
        best = right[key].max() / support[key]
        same = (abs(best - row["accuracy"]) < 1e-6 and right[key][row["layer"], row["head"]] == right[key].max() and row["support"] == support[key]
                and abs(max(offsets[key].values()) / support[key] - row["baseline"]) < 1e-6)
        wrong += not same
        if not same:
            print(key, row, best, support[key])
    attached = sum(v for (relation, direction), v in right.items() if direction == "dependent-to-head" and relation.split(":")[0] != "punct")
    total = sum(v for (relation, direction), v in support.items() if direction == "dependent-to-head" and relation.split(":")[0] != "punct")
    attachment = json.loads(out)["attachment"]
    wrong += not (abs(attached.max() / total - attachment["accuracy"]) < 1e-6 and total == attachment["support"])
    print(f"{len(mine)} relations and directions over {len(some)} sentences, {wrong} differ; best single head {attached.max() / total:.4f} of {total}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
