"""The picture of a training: loss and development scores over tokens, and the same numbers as CSV."""
import argparse
import csv
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def table(path):
    with open(path, encoding="utf-8") as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file, delimiter="\t")]


def scores(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training")
    parser.add_argument("--release", type=Path, help="folder of the branch that was released")
    parser.add_argument("--without-heads", type=Path, help="folder of the same training without supervised heads")
    parser.add_argument("--png", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    args = parser.parse_args()
    log, marks = table(args.run / "log.tsv"), scores(args.run / "evaluations.jsonl")
    branch = table(args.release / "log.tsv") if args.release else []
    branch_marks = scores(args.release / "evaluations.jsonl") if args.release else []
    picture, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.4), dpi=90)
    for rows, style in ((log, "-"), (branch, "--")):
        x = [r["tokens"] / 1e6 for r in rows]
        for name, colour in (("cosine", "tab:blue"), ("states", "tab:orange")):
            label = None if style == "--" else {"cosine": "1 − cosine to the teacher", "states": "token states (relative)"}[name]
            left.plot(x, [r[name] for r in rows], style, color=colour, label=label, linewidth=1)
    left.set_title("distillation losses")
    left.set_ylim(0, 0.8)
    middle.plot([m["tokens"] / 1e6 for m in marks], [m["stsb"] for m in marks], "o-", markersize=3, label="training")
    middle.plot([m["tokens"] / 1e6 for m in branch_marks], [m["stsb"] for m in branch_marks], "*", markersize=10, label="release")
    if args.without_heads:
        other = scores(args.without_heads / "evaluations.jsonl")
        middle.plot([m["tokens"] / 1e6 for m in other], [m["stsb"] for m in other], "x-", markersize=4, label="without heads")
    middle.set_title("STS-B development, Spearman × 100")
    for name in ("attachment", "role", "descriptor", "previous", "next"):
        line, = right.plot([m["tokens"] / 1e6 for m in marks], [m[name] for m in marks], "-", linewidth=1, label=name)
        right.plot([m["tokens"] / 1e6 for m in branch_marks], [m[name] for m in branch_marks], "*", color=line.get_color())
    right.set_title("heads, % right (EWT development)")
    right.set_ylim(40, 100)
    for axis in (left, middle, right):
        axis.set_xlabel("million tokens")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    picture.tight_layout()
    picture.savefig(args.png)
    names = ["tokens", "step", "stsb", "attachment", "attachment_with_punct", "relative_clause", "role", "descriptor", "previous", "next"]
    with open(args.csv, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["run", *names], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for run, rows in (("training", marks), ("release", branch_marks)):
            writer.writerows({"run": run, **row} for row in rows)


if __name__ == "__main__":
    main()
