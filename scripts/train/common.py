"""Shared by all stages: paths, reading the corpus, atomic writing, log lines with the time."""
import argparse
import atexit
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np

WIDTH, HEADS, LAYERS, FEED_FORWARD, EMBEDDING, TEACHER_WIDTH = 512, 8, 4, 1024, 256, 384
MAX_POSITIONS = 512
SHORT, LONG = 64, 512          # the two row lengths that training ever sees
CUT = 126                      # most pieces of a single line
STARTED = time.time()


def log(*words):
    """A line with the clock in front, flushed at once."""
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def arguments(description):
    """The two places every stage needs; a stage adds its own options to the parser."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True,
                        help="folder with sentences.txt.gz, sentences.sources.tsv, probe/ and eval/")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that is made (several GB)")
    return parser


def step_back(work, name):
    """Takes the lowest priority, even if the kernel groups processes by session, and writes a pid file for `pause`."""
    os.nice(max(0, 19 - os.nice(0)))
    try:
        Path("/proc/self/autogroup").write_text("19")
    except OSError:
        pass
    (work / name).mkdir(parents=True, exist_ok=True)
    pid, me = work / name / "pid", os.getpid()
    pid.write_text(f"{os.getpid()}\n")
    atexit.register(lambda: os.getpid() == me and pid.unlink(missing_ok=True))


def corpus_lines(data):
    """All sentences, in the order of the file."""
    with gzip.open(data / "sentences.txt.gz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def sources(data):
    """[(name, first line, one past the last line)], counted from 0."""
    out = []
    with open(data / "sentences.sources.tsv", encoding="utf-8") as file:
        next(file)
        for line in file:
            name, first, last = line.split("\t")[:3]
            out.append((name, int(first) - 1, int(last)))
    return out


def write_json(path, value):
    """Write so that a reader sees the old file or the whole new one."""
    temporary = Path(f"{path}.{os.getpid()}.new")
    temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def positions(count=MAX_POSITIONS, width=WIDTH):
    """The sinusoid table of 2017, sine and cosine interleaved."""
    angle = np.arange(count)[:, None] / 10000 ** (np.arange(0, width, 2)[None] / width)
    table = np.zeros((count, width), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table
