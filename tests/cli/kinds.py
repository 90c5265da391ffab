#!/usr/bin/env python3
"""kinds.py MHA [FOLDER] checks that models of each kind give what the reference gives.

FOLDER (tests/data/kinds) is made by scripts/make_kind_goldens.py: its golden.json holds texts, the arguments of the
command and the expected values. Plain Python, no packages."""
import json, subprocess, sys
from pathlib import Path

TOLERANCE = 2e-5


def far(a, b):
    """greatest difference of two nested lists of numbers; infinite if their shapes differ"""
    if isinstance(a, list) != isinstance(b, list): return float("inf")
    if not isinstance(a, list): return abs(a - b)
    if len(a) != len(b): return float("inf")
    return max((far(x, y) for x, y in zip(a, b)), default=0.0)


def run(mha, folder, golden, more=()):
    command = [mha, golden["arguments"][0], "-m", str(folder), *golden["arguments"][1:], *more, "--format", "jsonl"]
    done = subprocess.run(command, input="\n".join(golden["texts"]) + "\n", capture_output=True, text=True)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def values(record, golden, key):
    if key == "score": return record["score"]
    if key != "weights": return record[key]
    dense = [0.0] * len(golden["weights"][0])
    for entry in record["weights"]: dense[entry["id"]] = entry["weight"]
    assert record["weights"] == sorted(record["weights"], key=lambda e: (-e["weight"], e["id"])), "weights are not sorted"
    return dense


def check(mha, folder):
    golden = json.loads((folder / "golden.json").read_text())
    key = next(k for k in ("embedding", "score", "weights", "token_embeddings") if k in golden)
    done, records = run(mha, folder, golden)
    if done.returncode != 0: return f"exit {done.returncode}: {done.stderr.strip()}"
    if len(records) != len(golden["texts"]): return f"{len(records)} records for {len(golden['texts'])} texts"
    records.sort(key=lambda record: record["index"])
    for record, expected in zip(records, golden[key]):
        distance = far(values(record, golden, key), expected)
        if not distance <= TOLERANCE: return f"text {record['index']}: {key} differs by {distance}"
        if key == "token_embeddings" and len(record["tokens"]) != len(expected): return "tokens and vectors differ in number"
    if "warning" in done.stderr: return f"a warning about a sound folder: {done.stderr.strip()}"
    done = subprocess.run([mha, "model", "verify", str(folder)], capture_output=True, text=True)
    if done.returncode != 0: return f"verify: exit {done.returncode}: {done.stdout}{done.stderr}"
    done = subprocess.run([mha, "encode", "-m", str(folder), "--format", "json", "she is"], capture_output=True, text=True)
    if done.returncode != 0: return f"encode: exit {done.returncode}: {done.stderr.strip()}"
    layers = folder.name not in ("static", "model2vec")
    done = subprocess.run([mha, "attention", "-m", str(folder), "--format", "json", "she is"], capture_output=True, text=True)
    if (done.returncode == 0) != layers: return f"attention: exit {done.returncode}: {done.stderr.strip()}"
    return ""


def main():
    mha = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent / "data/kinds"
    folders = sorted(path.parent for path in folder.glob("*/golden.json"))
    failures = 0
    for one in folders:
        problem = check(mha, one)
        failures += bool(problem)
        if problem: print(f"FAILED {one.name}: {problem}")
    print(f"{len(folders) - failures} kinds equal the reference, {failures} do not")
    return 1 if failures or not folders else 0


if __name__ == "__main__": sys.exit(main())
