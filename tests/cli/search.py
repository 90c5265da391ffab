#!/usr/bin/env python3
"""search and index as people use them: search.py MHA-CLI. One line per failed check; exit 1 if there is any."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MHA = str(Path(sys.argv[1]).resolve())
failures = 0


def check(what, holds):
    global failures
    if not holds:
        failures += 1
        print(f"failed: {what}")


def run(*arguments, stdin=None, folder):
    done = subprocess.run([MHA, *arguments], input=stdin, cwd=folder, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def write(folder, name, text):
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def notes(folder):
    write(folder, "notes/team.md", "# Team\n\nShe is a great leader.\nThe team follows her.\n")
    write(folder, "notes/food.txt", "Cooking pasta needs salted water.\r\nBread needs time.\r\n")
    write(folder, "notes/blob.bin", b"\0\1\2")
    write(folder, "notes/.hidden.txt", "She is a hidden leader.\n")
    write(folder, "faq.jsonl", '{"id": 1, "text": "how big are elephants", "lang": "en"}\n'
                               '{"id": "x", "text": "stock markets fell", "lang": "de"}\n')


def files(folder):
    notes(folder)
    code, out, err = run("search", "who leads", "notes", folder=folder)
    check("search: exit 0 and no warning about binary files that a walk meets", code == 0 and err == "")
    check("search: path:line: text, tab, score", out.startswith("notes/team.md:1: # Team She is a great leader."))
    check("search: hidden files are left out", "hidden" not in out)
    code, out, _ = run("search", "--hidden", "--by-line", "-k", "1", "a hidden leader", "notes", folder=folder)
    check("search: --hidden finds them", out.startswith("notes/.hidden.txt:1: She is a hidden leader.\t"))
    code, out, _ = run("search", "--json", "--by-line", "-k", "2", "bread", "notes/food.txt", folder=folder)
    found = lines(out)
    check("search: --json", [hit["line"] for hit in found] == [2, 1] and found[0]["text"] == "Bread needs time.")
    check("search: keys", list(found[0]) == ["rank", "path", "line", "last_line", "score", "text"])
    code, out, err = run("search", "--threshold", "2", "bread", "notes", folder=folder)
    check("search: exit 1 if nothing passes", code == 1 and out == "" and err == "")
    code, out, _ = run("search", "-l", "-0", "leader", "notes", "faq.jsonl", folder=folder)
    check("search: -l -0", sorted(out.split("\0")) == ["", "faq.jsonl", "notes/food.txt", "notes/team.md"])
    code, out, _ = run("search", "-C", "1", "-k", "1", "--by-line", "the team follows", "notes", folder=folder)
    check("search: -C", out.splitlines()[0] == "notes/team.md-3- She is a great leader.")
    code, out, _ = run("search", "-g", "*.txt", "-l", "leader", folder=folder)
    check("search: this folder, --glob", out == "notes/food.txt\n" or out == "./notes/food.txt\n")
    code, _, err = run("search", "query", "absent", folder=folder)
    check("search: a path that is not there", code == 1 and "absent" in err)
    code, _, err = run("search", folder=folder)
    check("search: no query", code == 2 and "QUERY" in err)
    code, _, err = run("search", " ", "notes", folder=folder)
    check("search: a blank query", code == 2)


def index(folder):
    notes(folder)
    code, out, _ = run("index", "n.db", "notes", "faq.jsonl", "--format", "json", folder=folder)
    first = json.loads(out)
    check("index: what was done", code == 0 and first["files"] == 3 and first["passages"] == 4)
    code, out, _ = run("index", "n.db", "notes", "faq.jsonl", "--format", "json", folder=folder)
    check("index: nothing changed", json.loads(out)["unchanged"] == 3 and json.loads(out)["embedded"] == 0)
    check("index: one file when all is closed", sorted(os.listdir(folder)) == ["faq.jsonl", "n.db", "notes"])
    one_shot = run("search", "who leads", "notes", "faq.jsonl", folder=folder)[1]
    check("search: an index answers as the files do", run("search", "n.db", "who leads", folder=folder)[1] == one_shot)
    for threads in ("1", "2", "5"):
        check(f"search: {threads} threads",
              run("search", "n.db", "who leads", "-t", threads, folder=folder)[1] == one_shot)
    code, out, _ = run("search", "n.db", "--json", stdin=b"who leads\npasta\n", folder=folder)
    queries = [hit["query"] for hit in lines(out) if hit["rank"] == 1]
    check("search: many queries", queries == ["who leads", "pasta"])
    code, out, _ = run("search", "n.db", "animals", "--filter", "lang=de", "--json", folder=folder)
    check("search: --filter", [hit["id"] for hit in lines(out)] == ["x"] and lines(out)[0]["lang"] == "de")
    code, out, _ = run("search", "n.db", "--hybrid", "--json", "elephants", folder=folder)
    check("search: --hybrid", lines(out)[0]["word_rank"] == 1 and lines(out)[0]["vector_rank"] == 1)
    code, _, err = run("search", "n.db", "x", "-m", "two-heads", folder=folder)
    check("search: another model", code == 2 and "contextual-512" in err and "two-heads" in err)
    code, _, err = run("index", "n.db", "notes", "-m", "two-heads", folder=folder)
    check("index: another model", code == 2 and "contextual-512" in err and "two-heads" in err)
    code, _, err = run("index", "n.db", "notes", "--prompt", "p: ", folder=folder)
    check("index: another prompt", code == 2 and "prompt" in err)
    code, _, err = run("search", "n.db", "x", "--precision", "int8", folder=folder)
    check("search: a form that is not kept", code == 2 and "--store" in err)

    write(folder, "notes/team.md", "Nobody leads any more.\n")
    os.remove(Path(folder, "notes/food.txt"))
    code, out, _ = run("index", "n.db", "notes", "faq.jsonl", "--format", "json", folder=folder)
    second = json.loads(out)
    check("index: changed and removed files", (second["files"], second["removed"], second["unchanged"]) == (1, 1, 1))
    check("search: what was removed is gone", "pasta" not in run("search", "n.db", "pasta", folder=folder)[1])
    check("index verify", run("index", "verify", "n.db", folder=folder)[0] == 0)
    code, out, _ = run("index", "export", "n.db", folder=folder)
    check("index export", [row["path"] for row in lines(out)] == ["notes/team.md", "faq.jsonl", "faq.jsonl"] and
          len(lines(out)[0]["embedding"]) == 384)
    stats = json.loads(run("index", "stats", "n.db", "--format", "json", folder=folder)[1])
    check("index stats", stats["passages"] == 3 and stats["model"] == "contextual-512")

    code, out, _ = run("index", "m.db", "notes", "faq.jsonl", "--store", "int8,f32,binary", folder=folder)
    exact = run("search", "m.db", "who leads", "--json", folder=folder)[1]
    for form in ("int8", "binary"):
        check(f"search: --precision {form} with rescoring",
              run("search", "m.db", "who leads", "--json", "--precision", form, folder=folder)[1] == exact)
    code, out, _ = run("search", "m.db", "--recall", "--precision", "binary", "--json", folder=folder)
    check("search: --recall", json.loads(out)["recall"] == 1)

    write(folder, "bad.db", "text that is no database")
    code, _, err = run("index", "stats", "bad.db", folder=folder)
    check("index: another file", code == 1 and "bad.db" in err)
    cut = Path(folder, "n.db").read_bytes()[:150000]
    write(folder, "cut.db", cut)
    code, _, err = run("index", "verify", "cut.db", folder=folder)
    check("index: a file that was cut", code == 1 and "cut.db" in err)


def killed(folder):
    text = "".join(f"Sentence number {i} speaks about thing {i % 97} and place {i % 31}.\n" for i in range(6000))
    write(folder, "many.txt", text)
    notes(folder)
    run("index", "k.db", "notes", folder=folder)
    for wait in (0.05, 0.3, 0.9):
        child = subprocess.Popen([MHA, "index", "--by-line", "fresh.db", "many.txt"], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        if Path(folder, "fresh.db").exists() and Path(folder, "fresh.db").stat().st_size > 0:
            code = run("index", "verify", "fresh.db", folder=folder)[0]
            check(f"index: sound after a kill ({wait} s)", code == 0)
    write(folder, "empty.db", "")
    check("index: an empty file is filled", run("index", "empty.db", "notes", folder=folder)[0] == 0)
    child = subprocess.Popen([MHA, "index", "k.db", "notes", "many.txt"], cwd=folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    if child.poll() is None:
        code, _, err = run("index", "k.db", "notes", folder=folder)
        check("index: two writers", code == 1 and "another process" in err)
        check("index: readers go on", run("search", "k.db", "leader", folder=folder)[0] == 0)
    child.send_signal(signal.SIGKILL)
    child.wait()
    check("index: sound after a kill with readers", run("index", "verify", "k.db", folder=folder)[0] == 0)
    check("index: a killed run is repeated", run("index", "k.db", "notes", folder=folder)[0] == 0)


for part in (files, index, killed):
    with tempfile.TemporaryDirectory() as place:
        part(place)
print("failed" if failures else "passed")
sys.exit(1 if failures else 0)
