"""Scores of a model and of the teacher by the same code: similarity, classification on frozen vectors, retrieval across
the two spaces, and the accuracy of each supervised head on the treebank's development part.

A runner gives `vectors(texts)` (normalised) and, for a model with jobs, `attention(list of ids)`: for every text the
probabilities of the supervised heads, [jobs, T, T].
"""
import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import trees
from common import MAX_POSITIONS, arguments, log, write_json
from model import JOBS, means

LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)


def spearman(a, b):
    """Rank correlation, ties share their mean rank."""
    def ranks(x):
        _, place, count = np.unique(np.asarray(x), return_inverse=True, return_counts=True)
        return (np.cumsum(count) - (count + 1) / 2)[place]
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


class StudentRunner:
    """The student as it is being trained."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer

    def batches(self, ids):
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        while order:
            length = next(n for n in LENGTHS if n >= len(ids[order[0]]))
            rows = [i for i in order[:max(1, 2048 // length)] if len(ids[i]) <= length]
            order = order[len(rows):]
            x, segment = torch.zeros(max(1, 2048 // length), length, dtype=torch.long), torch.zeros(max(1, 2048 // length), length, dtype=torch.long)
            for r, i in enumerate(rows):
                x[r, :len(ids[i])], segment[r, :len(ids[i])] = torch.as_tensor(np.asarray(ids[i], np.int64)), 1
            yield rows, x, torch.arange(length).expand_as(x), segment

    @torch.no_grad()
    def vectors(self, texts):
        ids = [(e.ids or [1])[:MAX_POSITIONS] for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        out = torch.zeros(len(ids), self.model.dense.out_features)
        for rows, x, place, segment in self.batches(ids):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                mean = means(self.model(x, place, segment)[0], segment, 1)[:, 0]
                out[rows] = self.model.dense(mean).float()[:len(rows)]
        return F.normalize(out, dim=-1).numpy()

    @torch.no_grad()
    def attention(self, ids):
        out = [None] * len(ids)
        for rows, x, place, segment in self.batches(ids):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                _, probabilities = self.model(x, place, segment)
            for r, i in enumerate(rows):
                n = len(ids[i])
                out[i] = np.stack([probabilities[layer][r, head, :n, :n].float().numpy() for layer, head, _ in JOBS.values()])
        return out


class TeacherRunner:
    """The teacher in float32. Its vectors are stored, because every evaluation needs the same ones."""

    def __init__(self, folder, cache):
        from teacher import Teacher
        self.teacher, self.cache = Teacher(folder), cache
        cache.mkdir(parents=True, exist_ok=True)

    def vectors(self, texts):
        path = self.cache / f"{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:24]}.npy"
        if not path.exists():
            np.save(path.with_suffix(".new.npy"), self.teacher.vectors(texts, exact=True))
            os.replace(path.with_suffix(".new.npy"), path)
        return np.load(path)


class Evaluation:
    """Everything is read from the data folder; nothing of it is ever trained on, except the treebank's training part."""

    def __init__(self, data, tokenizer):
        self.data = data
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.treebank = trees.treebank(data / "probe" / "en_ewt-ud-dev.conllu", self.tokenizer, MAX_POSITIONS)

    def similarity(self, runner, name):
        rows = rows_of(self.data / "eval" / f"{name}.tsv")
        first, second = runner.vectors([r[1] for r in rows]), runner.vectors([r[2] for r in rows])
        return spearman((first * second).sum(1), [float(r[0]) for r in rows])

    def classification(self, runner, train, test):
        """Logistic regression on frozen vectors."""
        from sklearn.linear_model import LogisticRegression
        (x, y), (p, q) = ((runner.vectors([r[1] for r in part]), [r[0] for r in part]) for part in (train, test))
        return float(LogisticRegression(C=10, max_iter=2000).fit(x, y).score(p, q))

    def sst2(self, runner):
        """Five folds of the development part."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        rows = rows_of(self.data / "eval" / "sst2.dev.tsv")
        return float(cross_val_score(LogisticRegression(C=10, max_iter=2000), runner.vectors([r[1] for r in rows]),
                                     [r[0] for r in rows], cv=5).mean())

    def retrieval(self, asking, indexed):
        """Label of the nearest training text of Banking77: asked with one model, indexed with another."""
        train, test = (rows_of(self.data / "eval" / f"banking77.{part}.tsv") for part in ("train", "test"))
        index, asked = indexed.vectors([r[1] for r in train]), asking.vectors([r[1] for r in test])
        nearest = (asked @ index.T).argmax(1)
        return float(np.mean([train[n][0] == r[0] for n, r in zip(nearest, test)]))

    def heads(self, runner):
        """Percent right. From word to word: summed over key pieces, averaged over query pieces; the answer is the
        greatest among the other words. A word that owns no piece is not scored."""
        hits, totals = {}, {}

        def count(name, right, scored):
            hits[name] = hits.get(name, 0) + int((right & scored).sum())
            totals[name] = totals.get(name, 0) + int(scored.sum())

        for sentence, attention in zip(self.treebank, runner.attention([s["ids"] for s in self.treebank])):
            word, head = sentence["word"], sentence["head"]
            words = len(head)
            member = np.zeros((len(word), words))
            member[np.arange(len(word)), word] = 1
            owns = member.sum(0) > 0
            weights = (member / np.maximum(member.sum(0), 1)).T @ attention @ member     # jobs, words, words
            weights[:, np.arange(words), np.arange(words)] = -1
            answer = weights.argmax(-1)
            relation = np.array([r.split(":")[0] for r in sentence["relation"]])
            here = np.arange(words)
            arc = (head != here) & owns & owns[head]
            count("attachment", answer[0] == head, arc & (relation != "punct"))
            count("attachment_with_punct", answer[0] == head, arc)
            count("relative_clause", answer[0] == head, arc & np.array([r == "acl:relcl" for r in sentence["relation"]]))
            count("role", answer[1] == head, arc & (relation == "nsubj"))
            amod = arc & (relation == "amod")
            nouns = {int(h): [int(d) for d in here[amod & (head == h)]] for h in set(head[amod])}
            nouns = {h: d for h, d in nouns.items() if sentence["upos"][h] in ("NOUN", "PROPN")}
            count("descriptor", np.array([answer[2][h] in d for h, d in nouns.items()], bool), np.ones(len(nouns), bool))
            count("descriptor_by_pair", np.array([answer[2][h] == x for h, d in nouns.items() for x in d], bool),
                  np.ones(sum(map(len, nouns.values())), bool))
            count("previous", answer[3][1:] == here[:-1], owns[1:] & owns[:-1])
            count("next", answer[4][:-1] == here[1:], owns[1:] & owns[:-1])
        return {name: round(100 * hits[name] / max(1, totals[name]), 2) for name in hits}

    CLAIMS = [("She is a great leader", "role", "she", "leader"), ("She is a great leader", "descriptor", "she", "great"),
              ("She is a great leader", "descriptor", "leader", "great"), ("She is a great leader", "syntactician", "great", "leader"),
              ("She is a great leader.", "role", "she", "leader"), ("She is a great leader.", "descriptor", "she", "great"),
              ("I led a team that built a scalable API.", "role", "i", "led"),
              ("I led a team that built a scalable API.", "role", "that", "built"),
              ("I led a team that built a scalable API.", "descriptor", "api", "scalable"),
              ("I led a team that built a scalable API.", "syntactician", "team", "led"),
              ("I led a team that built a scalable API.", "syntactician", "built", "team"),
              ("I led a team that built a scalable API.", "syntactician", "api", "built")]

    def claims(self, runner):
        """Attention from a word to a word of the two example sentences."""
        out = []
        for text, job, query, key in self.CLAIMS:
            encoding = self.tokenizer.encode(text, add_special_tokens=False)
            attention = runner.attention([encoding.ids])[0][list(JOBS).index(job)]
            out.append({"text": text, "job": job, "from": query, "to": key,
                        "weight": round(float(attention[encoding.tokens.index(query), encoding.tokens.index(key)]), 4)})
        return out

    def quick(self, runner, with_heads=True):
        out = {"stsb": round(100 * self.similarity(runner, "stsb.dev"), 2)}
        if with_heads:
            out.update(self.heads(runner))
            out["claims"] = {f"{c['job'][:4]} {c['from']}>{c['to']}": round(c["weight"], 2) for c in self.claims(runner)}
        return out

    def full(self, runner, teacher):
        out = {}
        for name in ("stsb.dev", "sts12", "sts14", "sts15"):
            out[name] = round(100 * self.similarity(runner, name), 2)
        out["sts12/14/15 mean"] = round((out["sts12"] + out["sts14"] + out["sts15"]) / 3, 2)
        out["sst2"] = round(100 * self.sst2(runner), 2)
        for name in ("trec", "banking77"):
            out[name] = round(100 * self.classification(runner, *(rows_of(self.data / "eval" / f"{name}.{part}.tsv")
                                                                  for part in ("train", "test"))), 2)
        out["retrieval within"] = round(100 * self.retrieval(runner, runner), 2)
        if teacher is not runner:
            out["retrieval across"] = round(100 * self.retrieval(runner, teacher), 2)
            out["heads"], out["claims"] = self.heads(runner), self.claims(runner)
        return out


def main():
    parser = arguments(__doc__)
    parser.add_argument("models", nargs="*", type=Path, help="exported model folders, or checkpoints (.pt)")
    parser.add_argument("--with-teacher", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, help="write the scores here")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    from export import load_student
    evaluation = Evaluation(args.data, args.work / "tokenizer.json")
    cache = args.work / "teacher-scores.json"
    results, teacher = {}, None
    if not args.quick:
        teacher = TeacherRunner(args.teacher, args.work / "teacher-vectors")
    if args.with_teacher:
        if not cache.exists():
            write_json(cache, evaluation.full(teacher, teacher))
        results["teacher"] = json.loads(cache.read_text())
    for path in args.models:
        runner = StudentRunner(load_student(path), evaluation.tokenizer)
        results[str(path)] = evaluation.quick(runner) if args.quick else evaluation.full(runner, teacher)
    json.dump(results, sys.stdout, indent=1)
    print()
    if args.json:
        write_json(args.json, results)
        log("wrote", args.json)


if __name__ == "__main__":
    main()
