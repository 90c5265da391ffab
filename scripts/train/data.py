"""Batches of two fixed shapes, made from the finished chunks: many short texts, or a few long ones, packed into rows."""
import numpy as np
import torch

import trees
from common import LONG, SHORT, log
from teacher import STATE_SCALE

SHAPES = {SHORT: (32, 16), LONG: (4, 8)}       # row length -> rows, greatest number of texts in a row
ROUND = 16000                  # lines planned at once
LONG_SHARE = 0.025             # of all batches
TREEBANK_TIMES = 4             # how much more often a treebank sentence comes than another
TOPICS = 64                    # every second batch holds sentences that resemble each other


class Chunk:
    """The arrays of one chunk, mapped from disk. Items are (first line, one past the last, row of `vector`)."""

    def __init__(self, folder):
        self.name = folder.name
        self.folder = folder
        self.ids, self.vector, self.state, self.known = (np.load(folder / f"{n}.npy", mmap_mode="r")
                                                         for n in ("ids", "vector", "state", "known"))
        self.begins = np.load(folder / "begins.npy")
        counts = np.diff(self.begins)
        joined = np.load(folder / "joined.npy")
        lines = np.arange(len(counts))
        self.short = [(i, i + 1, i) for i in lines[(counts > 1) & (counts <= SHORT)]]
        self.long = [(i, i + 1, i) for i in lines[counts > SHORT]]
        self.long += [(a, b, len(counts) + k) for k, (a, b) in enumerate(joined)
                      if SHORT < self.begins[b] - self.begins[a] <= LONG]
        self.has_trees = False
        self.look_for_trees()

    def look_for_trees(self):
        if not self.has_trees and (self.folder / "weight.npy").exists():
            self.word, self.target, self.weight = (np.load(self.folder / f"{n}.npy", mmap_mode="r")
                                                   for n in ("word", "target", "weight"))
            self.has_trees = True

    def tokens(self, item):
        return int(self.begins[item[1]] - self.begins[item[0]])

    def tree(self, item):
        """word, target and weight of a text; the trees of joined lines follow each other, previous and next word go on."""
        words, targets, weights, offset = [], [], [], 0
        for line in range(item[0], item[1]):
            part = slice(self.begins[line], self.begins[line + 1])
            word, target, weight = (np.array(a[part]) for a in (self.word, self.target, self.weight))
            if not len(word):
                continue
            last = word[-1]
            target[target >= 0] += offset
            if words:
                target[word == 0, 3], weight[word == 0, 3] = offset - 1, trees.WEIGHT_UNIT
            if line + 1 < item[1]:
                target[word == last, 4], weight[word == last, 4] = offset + last + 1, trees.WEIGHT_UNIT
            words.append(word + offset)
            targets.append(target)
            weights.append(weight)
            offset += int(last) + 1
        return np.concatenate(words), np.concatenate(targets), np.concatenate(weights)


class Stream:
    """An endless stream of batches for one of several workers. Least seen lines come first; new chunks are found."""

    def __init__(self, work, worker, workers, seed, state=None):
        self.folder, self.worker, self.workers, self.seed = work / "chunks", worker, workers, seed
        self.chunks, self.seen, self.round = {}, {}, 0
        if state:
            self.seen, self.round = state["seen"], state["round"]
        self.waiting = []

    def state(self):
        return {"seen": self.seen, "round": self.round}

    def look_for_chunks(self):
        for chunk in self.chunks.values():
            chunk.look_for_trees()
        for folder in sorted(self.folder.glob("[0-9e]*")):
            if folder.name in self.chunks:
                continue
            chunk = self.chunks[folder.name] = Chunk(folder)
            chunk.short, chunk.long = chunk.short[self.worker::self.workers], chunk.long[self.worker::self.workers]
            if folder.name not in self.seen:       # a newcomer is a little ahead of the queue, not far ahead
                known = [s["short"].mean() for n, s in self.seen.items() if n != "ewt"]
                level = max(0.0, float(np.mean(known)) - 0.5) if known else 0.0
                self.seen[folder.name] = {kind: np.full(len(getattr(chunk, kind)), level, np.float32)
                                          for kind in ("short", "long")}

    def choose(self, kind, count, rng):
        """The `count` least seen texts of a kind: [(chunk, item)]."""
        names = list(self.chunks)
        keys = np.concatenate([self.seen[n][kind] for n in names])
        keys = keys + rng.random(len(keys)) * np.concatenate(
            [np.full(len(self.seen[n][kind]), 1 / TREEBANK_TIMES if n == "ewt" else 1.0) for n in names])
        starts = np.concatenate([[0], np.cumsum([len(self.seen[n][kind]) for n in names])])
        chosen = np.argsort(keys)[:count]
        out = []
        for at in chosen:
            k = int(np.searchsorted(starts, at, side="right")) - 1
            local = int(at - starts[k])
            chunk = self.chunks[names[k]]
            self.seen[names[k]][kind][local] += 1 / TREEBANK_TIMES if names[k] == "ewt" else 1.0
            out.append((chunk, getattr(chunk, kind)[local]))
        rng.shuffle(out)
        return out

    def plan(self):
        """The batches of the next round, as lists of rows of (chunk, item)."""
        self.look_for_chunks()
        rng = np.random.default_rng([self.seed, self.worker, self.round])
        self.round += 1
        chosen = self.choose("short", ROUND, rng)
        half = len(chosen) // 2
        by_topic = chosen[half:]
        vectors = np.stack([c.vector[i[2]] for c, i in by_topic]).astype(np.float32)
        centres = vectors[rng.choice(len(vectors), TOPICS, replace=False)]
        nearest = (vectors @ centres.T).argmax(1)
        by_topic = [by_topic[k] for k in np.argsort(nearest, kind="stable")]
        batches = []
        for part in (chosen[:half], by_topic):
            batches += [(SHORT, rows) for rows in pack(part, SHORT)]
        longs = self.choose("long", max(2, int(len(batches) * LONG_SHARE * 7.5)), rng)
        batches += [(LONG, rows) for rows in pack(longs, LONG)]
        rng.shuffle(batches)
        self.waiting = batches

    def __next__(self):
        if not self.waiting:
            self.plan()
        length, rows = self.waiting.pop()
        return fill(length, rows)


def pack(items, length, open_rows=48):
    """Best fit into rows; -> full batches of rows (what is left over at the end is dropped)."""
    height, most = SHAPES[length]
    rows, left, done = [], [], []
    for chunk, item in items:
        need = chunk.tokens(item)
        best = min((k for k in range(len(rows)) if left[k] >= need and len(rows[k]) < most),
                   key=lambda k: left[k], default=None)
        if best is None:
            if len(rows) >= open_rows:
                fullest = min(range(len(rows)), key=lambda k: left[k])
                done.append(rows.pop(fullest))
                left.pop(fullest)
            rows.append([])
            left.append(length)
            best = len(rows) - 1
        rows[best].append((chunk, item))
        left[best] -= need
        if left[best] < 3:
            done.append(rows.pop(best))
            left.pop(best)
    done += rows
    return [done[k:k + height] for k in range(0, len(done) - height + 1, height)]


def fill(length, rows):
    """Arrays of one batch, see model.losses."""
    height, most = SHAPES[length]
    ids, place, segment = (np.zeros((height, length), np.int64) for _ in range(3))
    vector, present = np.zeros((height, most, 384), np.float16), np.zeros((height, most), np.float32)
    state, known = np.zeros((height, length, 384), np.int8), np.zeros((height, length), bool)
    word = np.full((height, length), -2, np.int32)
    target, weight = np.full((height, length, trees.JOB_COUNT), -1, np.int32), np.zeros((height, length, trees.JOB_COUNT), np.float32)
    for r, row in enumerate(rows):
        at = 0
        for k, (chunk, item) in enumerate(row):
            begin, end = chunk.begins[item[0]], chunk.begins[item[1]]
            part = slice(at, at + end - begin)
            ids[r, part], place[r, part], segment[r, part] = chunk.ids[begin:end], np.arange(end - begin), k + 1
            vector[r, k], present[r, k] = chunk.vector[item[2]], 1
            if item[1] == item[0] + 1:
                state[r, part], known[r, part] = chunk.state[begin:end], chunk.known[begin:end]
            if chunk.has_trees:
                word[r, part], target[r, part], w = chunk.tree(item)
                weight[r, part] = w / trees.WEIGHT_UNIT
            at += end - begin
    arrays = dict(ids=ids, place=place, segment=segment, vector=vector, present=present, state=state, known=known,
                  word=word, target=target, weight=weight)
    batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    batch["state_scale"] = STATE_SCALE
    return batch
