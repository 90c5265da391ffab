#!/usr/bin/env python3
"""keys.py MHA_CLI: the JSON keys and CSV columns that the program prints are those that docs/cli.md names.

Runs commands that together print every key, collects the keys at each level, and looks for `key` in the hand-written part of the
page. Keys whose names come from a model or an input (prompts, switches of the config) are left out. Commands with a task head run
if ../shared/models has the models; otherwise the check says which keys were not seen.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
MODELS = os.path.join(ROOT, "../shared/models")
FREE = {"config", "prompts", "tokenizer"}  # objects with keys of their own
SENTENCE = "She is a great leader"
LINES = b'{"text":"She leads","id":1}\n'

TREE = """# text = She leads
1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tleads\tlead\tVERB\t_\t_\t0\troot\t_\t_

"""

COMMANDS = [
    (["encode", "--with", "all"], LINES),
    (["encode", "--layer", "0", "--with", "attentions", SENTENCE], b""),
    (["encode", "--max-length", "2", SENTENCE], b""),
    (["embed", "--chunk", "2", "--with", "text,embedding", SENTENCE], b""),
    (["embed", "--input-format", "jsonl", "--on-error", "record"], b"bad\n"),
    (["attention", "--find", "She>leader", "--top", "1", "--stats", SENTENCE], b""),
    (["attention", "--rollout", SENTENCE], b""),
    (["attention", "--average", "all", SENTENCE], b""),
    (["tokenize", "--stride", "1", "--max-length", "2", SENTENCE], b""),
    (["tokenize", "--count", SENTENCE], b""),
    (["tokenize", "--decode", "2 3"], b""),
    (["similarity", "--matrix", "she", "he"], b""),
    (["similarity", "she", "he"], b""),
    (["rerank", "she", "he"], b""),
    (["heads", SENTENCE], b""),
    (["heads", "--importance", SENTENCE], b""),
    (["heads", "--conllu", "-"], TREE.encode()),
    (["compare", "she", "he"], b""),
    (["explain", SENTENCE], b""),
    (["explain", "-m", "contextual-512", SENTENCE], b""),
    (["model", "list"], b""),
    (["model", "info"], b""),
    (["model", "verify"], b""),
    (["bench", "--batch", "1", "--tokens", "8", "--runs", "1"], b""),
]
TASKS = [
    ("tiny-bert-mlm", ["fill-mask", "She is a [MASK]."]),
    ("tiny-bert-classify", ["classify", SENTENCE]),
    ("tiny-bert-classify", ["classify", "--all-scores", SENTENCE]),
    ("tiny-bert-ner", ["tag", SENTENCE]),
    ("tiny-bert-ner", ["tag", "--aggregation", "simple", SENTENCE]),
    ("tiny-bert-qa", ["answer", "who?", SENTENCE]),
    ("tiny-bert-qa", ["answer", "--top-k", "2", "who?", SENTENCE]),
]
CSV = ["encode", "embed", "attention", "tokenize", "similarity", "compare", "rerank"]


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def main():
    program = os.path.abspath(sys.argv[1])
    env = {k: v for k, v in os.environ.items() if not k.startswith("MHA_")}
    env["MHA_MODEL"] = "two-heads"
    with open(os.path.join(ROOT, "docs/cli.md"), encoding="utf8") as file:
        page = file.read().split("<!-- generated", 1)[0]
    words = {word for code in re.findall(r"`([^`]+)`", page) for word in re.findall(r"\w+", code)}

    failures, seen, skipped = [], set(), []
    commands = [(command, data) for command, data in COMMANDS]
    for model, command in TASKS:
        folder = os.path.join(MODELS, model)
        if os.path.isdir(folder):
            commands.append(([*command, "-m", folder], b""))
        else:
            skipped.append(command[0])
    folder = tempfile.TemporaryDirectory()  # with a post-norm model, whose explanation has further steps
    with open(os.path.join(folder.name, "words.txt"), "w", encoding="utf8") as file:
        file.write("she\nleads\n")
    post_norm = os.path.join(folder.name, "post-norm.json")
    subprocess.run([program, "model", "init", "--words", file.name, "--d-model", "8", "--heads", "2", "-o", post_norm], env=env, check=True)
    commands.append((["explain", "-m", post_norm, "she leads"], b""))
    index = os.path.join(folder.name, "words.db")
    for command in (["index", index, file.name], ["index", "stats", index], ["search", index, "leads", "--hybrid"],
                    ["search", index, "--recall"], ["search", "leads", file.name, "-C", "1"]):
        commands.append((command, b""))
    for command, data in commands:
        if data.startswith(b"{") and "--input-format" not in command:
            command = [*command, "--input-format", "jsonl"]
        run = subprocess.run([program, *command, "--format", "json"], env=env, input=data, capture_output=True, timeout=120)
        try:
            printed = set(keys(json.loads(run.stdout)))
        except ValueError:
            failures.append(f"mha-cli {' '.join(command)}: exit {run.returncode}, no JSON: {run.stderr.decode()[:200]}")
            continue
        seen |= printed
        failures += [f"mha-cli {' '.join(command)}: docs/cli.md does not name the key {key}" for key in sorted(printed - words)]
    for command in CSV:
        run = subprocess.run([program, command, "--format", "csv", "she", "he"], env=env, capture_output=True, text=True, timeout=120)
        columns = {re.sub(r"\d+$", "", name) for name in run.stdout.splitlines()[0].split(",")}
        named = {re.sub(r"\d+$", "", word) for word in words}
        failures += [f"mha-cli {command} --format csv: docs/cli.md does not name the column {name}" for name in sorted(columns - named)]

    tables = re.findall(r"^\| key \| value \|\n\| --- \| --- \|\n((?:\|.*\n)+)", page, re.M)
    documented = {key for table in tables for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])}
    if not skipped:
        failures += [f"docs/cli.md names the key {key}, which no command printed" for key in sorted(documented - seen - {"text_pair"})]
    else:
        print("not run, because ../shared/models is absent: " + ", ".join(sorted(set(skipped))))
    print("\n".join([*failures, f"{len(seen)} keys, {len(failures)} failures"]))
    return 1 if failures or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
