"""Stage 2: the corpus in chunks, each with the teacher's sentence vectors and token states.

A chunk is a folder WORK/chunks/NNN: ids, offsets of the texts, vector (float16), state (int8, one scale a dimension)
and known (tokens that the teacher cuts alike). Texts are the chunk's lines, then longer texts joined from its runs of
neighbouring lines (no token states for those). Chunk `ewt` is the treebank's training part.
Lines come in runs of 32 in a weighted random order, so the first chunks are already a good sample.
It may be stopped at any time, and continues with the first missing chunk.
"""
import json
import os
import shutil

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

import trees
from common import CUT, TEACHER_WIDTH, arguments, corpus_lines, log, sources, step_back

RUN, RUNS = 32, 640            # lines in a run, runs in a chunk
# Everyday sentences first; a weight of 4 makes a run four times as likely to come early. All lines come in the end.
WEIGHT = {"commonvoice": 2, "coco": 4, "nlu-home": 4, "masc": 4, "scitldr": 1.5, "webible": .5, "books": .5, "wordnet": .5,
          "jargon": .7, "devil": .7, "sqlite-docs": .7, "python-docs": .7, "postgres-docs": .7, "apache-docs": .7, "tldr": .7}
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
ROWS = 2048                    # tokens in a call of the teacher, so that only len(LENGTHS) shapes occur
STATE_SCALE = 4.5 / 127        # the largest number in the states of the development part is 4.3; beyond is clipped


def order(data, seed=1):
    """Runs [(first line, one past the last)] in the order of training."""
    rng = np.random.default_rng(seed)
    runs, keys = [], []
    for name, first, last in sources(data):
        for begin in range(first, last, RUN):
            runs.append((begin, min(begin + RUN, last)))
            keys.append(rng.random() ** (1 / WEIGHT.get(name, 1)))
    return [runs[i] for i in np.argsort(-np.array(keys))]


class Teacher:
    """all-MiniLM-L6-v2 in fixed shapes."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(512)
        self.model = AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def __call__(self, texts, exact=False):
        """Yields (index, sentence vector, states without the specials, offsets) in an order of its own."""
        encodings = self.tokenizer.encode_batch(texts)
        by_length = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        begin = 0
        while begin < len(by_length):
            shortest = len(encodings[by_length[begin]].ids)
            length = next(n for n in LENGTHS if n >= shortest)
            size = ROWS // length
            rows = [i for i in by_length[begin:begin + size] if len(encodings[i].ids) <= length]
            begin += len(rows)
            ids, mask = torch.zeros(size, length, dtype=torch.long), torch.zeros(size, length, dtype=torch.long)
            mask[:, 0] = 1
            for r, i in enumerate(rows):
                n = len(encodings[i].ids)
                ids[r, :n], mask[r, :n] = torch.tensor(encodings[i].ids), 1
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not exact):
                states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            vector = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            vector = torch.nn.functional.normalize(vector, dim=-1).numpy()
            states = states.numpy()
            for r, i in enumerate(rows):
                n = len(encodings[i].ids)
                yield i, vector[r], states[r, 1:n - 1], encodings[i].offsets[1:n - 1]

    def vectors(self, texts, exact=False):
        out = np.zeros((len(texts), TEACHER_WIDTH), np.float32)
        for i, vector, _, _ in self(texts, exact):
            out[i] = vector
        return out


def build(folder, teacher, student, texts, joined, extra=None):
    """Write one chunk. `joined`: [(first, one past the last)] texts to be joined into longer ones. `extra`: more arrays."""
    encodings = student.encode_batch(texts, add_special_tokens=False)
    ids = [np.array(e.ids[:CUT], np.uint16) for e in encodings]
    begins = np.concatenate([[0], np.cumsum([len(i) for i in ids])])
    vector = np.zeros((len(texts) + len(joined), TEACHER_WIDTH), np.float16)
    state = np.zeros((begins[-1], TEACHER_WIDTH), np.int8)
    known = np.zeros(begins[-1], bool)
    for i, v, s, offsets in teacher(texts):
        vector[i] = v
        mine = {span: k for k, span in enumerate(encodings[i].offsets[:CUT])}
        for k, span in enumerate(offsets):
            j = mine.get(span)
            if j is not None:
                known[begins[i] + j] = True
                state[begins[i] + j] = np.clip(np.rint(s[k] / STATE_SCALE), -127, 127)
    for i, v, _, _ in teacher([" ".join(texts[a:b]) for a, b in joined]):
        vector[len(texts) + i] = v
    temporary = folder.with_name(f"new-{folder.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    arrays = dict(ids=np.concatenate(ids), begins=begins, vector=vector, state=state, known=known,
                  joined=np.array(joined, np.int32).reshape(-1, 2), **(extra or {}))
    for name, value in arrays.items():
        np.save(temporary / f"{name}.npy", value)
    os.replace(temporary, folder)


def joins(runs, counts, rng):
    """Longer texts: from every fourth run, groups of neighbours of a random length between 70 and 500 pieces."""
    out, line = [], 0
    for k, (begin, end) in enumerate(runs):
        if k % 4 == 0:
            at, stop = line, line + end - begin
            while at < stop:
                wanted, last, total = np.exp(rng.uniform(np.log(70), np.log(500))), at, 0
                while last < stop and total + counts[last] <= min(wanted, 500):
                    total += counts[last]
                    last += 1
                if last - at > 1:
                    out.append((at, last))
                at = max(last, at + 1)
        line += end - begin
    return out


def main():
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=10 ** 6, help="stop after so many chunks")
    parser.add_argument("--share", default="0/1", help="I/N: only every N-th chunk, beginning with I")
    args = parser.parse_args()
    step_back(args.work, "teacher")
    torch.set_num_threads(1)
    which, of = map(int, args.share.split("/"))
    lines = corpus_lines(args.data)
    runs = order(args.data)
    student = Tokenizer.from_file(str(args.work / "tokenizer.json"))
    teacher = Teacher(args.teacher)
    if which == 0 and not (args.work / "chunks" / "ewt").exists():
        ewt = trees.treebank(args.data / "probe" / "en_ewt-ud-train.conllu.gz", student, CUT)
        made = [trees.piece_targets(s["word"], *trees.word_targets(s["head"], s["relation"], s["upos"])) for s in ewt]
        build(args.work / "chunks" / "ewt", teacher, student, [s["text"] for s in ewt], [],
              dict(word=np.concatenate([s["word"] for s in ewt]).astype(np.int16),
                   target=np.concatenate([t for t, _ in made]), weight=np.concatenate([w for _, w in made])))
        log("treebank", len(ewt), "sentences")
    for number in range(min(args.chunks, -(-len(runs) // RUNS))):
        folder = args.work / "chunks" / f"{number:03d}"
        if number % of != which or folder.exists():
            continue
        mine = [(a, b) for a, b in runs[number * RUNS:(number + 1) * RUNS]]
        texts = [lines[i] or "." for a, b in mine for i in range(a, b)]
        counts = [min(len(e.ids), CUT) for e in student.encode_batch(texts, add_special_tokens=False)]
        texts = [t if c else "." for t, c in zip(texts, counts)]
        joined = joins(mine, [len(student.encode(t).ids) if c == CUT else max(c, 1) for t, c in zip(texts, counts)],
                       np.random.default_rng(number))
        build(folder, teacher, student, texts, joined)
        log("chunk", number, "texts", len(texts), "joined", len(joined), "tokens", sum(counts))


if __name__ == "__main__":
    main()
