"""Stage 3: a dependency parser (the teacher, fine-tuned on the treebank with a biaffine head) and its trees for every chunk.

The parser reads the student's own pieces, so its trees need no alignment. Writes WORK/parser.pt, and word, target and
weight into each chunk. It may be stopped at any time; finished chunks and the trained parser are kept.
"""
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

import json
import trees
from common import CUT, arguments, log, step_back

LENGTHS = (12, 16, 24, 32, 48, 64, 128)
ROWS = 2048
INSIDE = "inside"              # relation of a piece that does not begin a word, to the piece that does
SURE = 0.5                     # arcs below this probability are left out


class Parser(nn.Module):
    """Heads, relations and parts of speech of pieces."""

    def __init__(self, teacher, teacher_ids, relations, tags):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(teacher, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.0)
        table = self.encoder.embeddings.word_embeddings.weight.data
        rows = [table[ids].mean(0) for ids in teacher_ids] + [table[101], table[102]]
        self.encoder.embeddings.word_embeddings = nn.Embedding.from_pretrained(torch.stack(rows), freeze=False)
        self.begin, self.end = len(rows) - 2, len(rows) - 1
        self.dependent, self.head = nn.Linear(384, 384), nn.Linear(384, 384)
        self.pair, self.bias = nn.Parameter(torch.randn(384, 384) * 0.01), nn.Linear(384, 1)
        self.of_dependent, self.of_head = nn.Linear(384, 128), nn.Linear(384, 128)
        self.relation, self.tag = nn.Linear(256, relations), nn.Linear(384, tags)

    def forward(self, ids, mask):
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        d = F.dropout(F.gelu(self.dependent(states)), 0.2, self.training)
        h = F.dropout(F.gelu(self.head(states)), 0.2, self.training)
        scores = (d @ self.pair @ h.transpose(1, 2)).float() + self.bias(h).float().transpose(1, 2)
        eye = torch.eye(ids.shape[1], dtype=torch.bool)
        return scores.masked_fill((mask[:, None] == 0) | eye, -1e9), states

    def labels(self, states, head):
        of = torch.gather(states, 1, head[..., None].expand(-1, -1, states.shape[-1]))
        both = torch.cat([F.gelu(self.of_dependent(states)), F.gelu(self.of_head(of))], -1)
        return self.relation(both).float(), self.tag(states).float()


def batches(lengths, rng=None):
    """Index lists with their row length: equal shapes only, the last of each length is filled up with empty rows."""
    of_length = {n: [] for n in LENGTHS}
    for i in (rng.permutation(len(lengths)) if rng else range(len(lengths))):
        of_length[next(n for n in LENGTHS if n >= lengths[i] + 2)].append(i)
    out = [(rows[b:b + ROWS // n], n) for n, rows in of_length.items() for b in range(0, len(rows), ROWS // n)]
    if rng:
        rng.shuffle(out)
    return out


def padded(parser, ids, length):
    x, mask = torch.zeros(ROWS // length, length, dtype=torch.long), torch.zeros(ROWS // length, length, dtype=torch.long)
    mask[:, 0] = 1
    for r, i in enumerate(ids):
        n = len(i)
        x[r, 0], x[r, 1:n + 1], x[r, n + 1], mask[r, :n + 2] = parser.begin, torch.as_tensor(i.astype(np.int64)), parser.end, 1
    return x, mask


def piece_tree(sentence, relations, tags):
    """Gold head (index in the padded row; 0 is the root), relation and tag of each piece; -1 if there is none."""
    word, count = sentence["word"], len(sentence["word"])
    first = {w: p for p, w in reversed(list(enumerate(word)))}
    head, relation, tag = np.full(count, -1), np.full(count, -1), np.zeros(count, int)
    for p, w in enumerate(word):
        tag[p] = tags[sentence["upos"][w]]
        if first[w] != p:
            head[p], relation[p] = first[w] + 1, relations[INSIDE]
        elif sentence["head"][w] == w:
            head[p], relation[p] = 0, relations["root"]
        elif sentence["head"][w] in first:
            head[p], relation[p] = first[sentence["head"][w]] + 1, relations[sentence["relation"][w]]
    return head, relation, tag


def train(parser, sentences, golds, epochs, seed=1):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    own = [p for n, p in parser.named_parameters() if not n.startswith("encoder.")]
    groups = [dict(params=list(parser.encoder.parameters()), top=2e-4), dict(params=own, top=1.5e-3)]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    lengths = [len(s["ids"]) for s in sentences]
    plan = [b for _ in range(epochs) for b in batches(lengths, rng)]
    parser.train()
    started = time.time()
    for step, (rows, length) in enumerate(plan):
        for group in optimiser.param_groups:
            group["lr"] = group["top"] * min(1, (step + 1) / 60) * (1 - step / len(plan))
        x, mask = padded(parser, [sentences[i]["ids"] for i in rows], length)
        gold = torch.full((3, len(x), length), -1)
        for r, i in enumerate(rows):
            gold[:, r, 1:lengths[i] + 1] = torch.as_tensor(np.stack(golds[i]))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, states = parser(x, mask)
            relation, tag = parser.labels(states, gold[0].clamp(min=0))
        loss = sum(w * F.cross_entropy(out.flatten(0, 1), g.flatten(), ignore_index=-1)
                   for w, out, g in ((1, scores, gold[0]), (1, relation, gold[1]), (.5, tag, gold[2])))
        loss.backward()
        nn.utils.clip_grad_norm_(parser.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        if step % 100 == 0:
            log("parser step", step, "of", len(plan), f"loss {loss.item():.3f}", f"{time.time() - started:.0f}s")


@torch.inference_mode()
def parse(parser, ids):
    """Yields (index, head, relation, tag, probability of the arc), by piece."""
    parser.eval()
    for rows, length in batches([len(i) for i in ids]):
        x, mask = padded(parser, [ids[i] for i in rows], length)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, states = parser(x, mask)
            sure, head = scores.softmax(-1).max(-1)
            relation, tag = parser.labels(states, head)
        relation, tag = relation.argmax(-1), tag.argmax(-1)
        for r, i in enumerate(rows):
            part = slice(1, len(ids[i]) + 1)
            yield i, head[r, part].numpy(), relation[r, part].numpy(), tag[r, part].numpy(), sure[r, part].numpy()


def evaluate(parser, sentences, golds, relation_names):
    hits, total, plain_hits, plain_total, labelled = 0, 0, 0, 0, 0
    inside = relation_names.index(INSIDE)
    for i, head, relation, _, _ in parse(parser, [s["ids"] for s in sentences]):
        gold_head, gold_relation, _ = golds[i]
        scored = (gold_head > 0) & (gold_relation != inside)
        plain = scored & np.array([sentences[i]["relation"][w].split(":")[0] != "punct" for w in sentences[i]["word"]])
        right = head == gold_head
        hits, total = hits + (right & scored).sum(), total + scored.sum()
        plain_hits, plain_total = plain_hits + (right & plain).sum(), plain_total + plain.sum()
        labelled += (right & plain & (relation == gold_relation)).sum()
    log(f"parser on the development part: attachment {hits / total:.4f}, without punctuation {plain_hits / plain_total:.4f}, "
        f"with labels {labelled / plain_total:.4f}")


def silver(head, relation, tag, sure, relation_names, tag_names):
    """Pieces to words, and the targets of the heads. -> word, target, weight, by piece."""
    begins = np.array([relation_names[r] != INSIDE for r in relation])
    begins[0] = True
    word = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    at = head[first] - 1       # -1 is the root; a place past the end is the closing special
    fine = at < len(head)
    heads = np.where(at < 0, np.arange(len(first)), word[np.clip(at, 0, len(head) - 1)])
    fine &= (heads != np.arange(len(first))) | (at < 0)
    names = [relation_names[r] for r in relation[first]]
    target, weight = trees.word_targets(heads, names, [tag_names[t] for t in tag[first]])
    trust = np.where(fine & (sure[first] >= SURE), sure[first], 0.0)
    weight[:, 0] *= trust
    weight[:, 1] = np.where(weight[:, 1] > 0, weight[:, 1] * trust, weight[:, 1])
    return (word.astype(np.int16), *trees.piece_targets(word, target, weight))


def main():
    options = arguments(__doc__)
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--wait", action="store_true", help="wait for chunks that are still being made")
    options.add_argument("--chunks", type=int, default=10 ** 6)
    options.add_argument("--share", default="0/1", help="I/N: only every N-th chunk, beginning with I")
    args = options.parse_args()
    which, of = map(int, args.share.split("/"))
    step_back(args.work, "treeparser")
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(args.work / "tokenizer.json"))
    probe = args.data / "probe"
    gold_train = trees.treebank(probe / "en_ewt-ud-train.conllu.gz", tokenizer, CUT)
    gold_dev = trees.treebank(probe / "en_ewt-ud-dev.conllu", tokenizer, CUT)
    seen = [r for s in gold_train for r in s["relation"]]
    common = {r for r in set(seen) if seen.count(r) >= 20}
    for s in gold_train + gold_dev:
        s["relation"] = [r if r in common else r.split(":")[0] for r in s["relation"]]
    relation_names = sorted({r for s in gold_train + gold_dev for r in s["relation"]} | {INSIDE, "root"})
    tag_names = sorted({t for s in gold_train + gold_dev for t in s["upos"]})
    relations, tags = ({n: k for k, n in enumerate(names)} for names in (relation_names, tag_names))
    teacher_ids = json.loads((args.work / "vocabulary.json").read_text())["teacher_ids"]
    parser = Parser(args.teacher, teacher_ids, len(relation_names), len(tag_names))
    if (args.work / "parser.pt").exists():
        parser.load_state_dict(torch.load(args.work / "parser.pt", weights_only=True))
    else:
        train(parser, gold_train, [piece_tree(s, relations, tags) for s in gold_train], args.epochs)
        evaluate(parser, gold_dev, [piece_tree(s, relations, tags) for s in gold_dev], relation_names)
        torch.save(parser.state_dict(), args.work / "parser.pt.new")
        os.replace(args.work / "parser.pt.new", args.work / "parser.pt")
    number = which
    while number < args.chunks:
        folder = args.work / "chunks" / f"{number:03d}"
        if not folder.exists():
            if not args.wait:
                break
            time.sleep(5)
            continue
        if not (folder / "weight.npy").exists():
            ids, begins = np.load(folder / "ids.npy"), np.load(folder / "begins.npy")
            word, target, weight = (np.zeros(len(ids), np.int16), np.full((len(ids), trees.JOB_COUNT), -1, np.int16),
                                    np.zeros((len(ids), trees.JOB_COUNT), np.int8))
            texts = [ids[a:b] for a, b in zip(begins, begins[1:])]
            for i, *tree in parse(parser, texts):
                part = slice(begins[i], begins[i + 1])
                word[part], target[part], weight[part] = silver(*tree, relation_names, tag_names)
            for name, value in (("word", word), ("target", target), ("weight", weight)):
                np.save(folder / f"new-{name}.npy", value)
            for name in ("word", "target", "weight"):      # weight last: its presence says the trees are complete
                os.replace(folder / f"new-{name}.npy", folder / f"{name}.npy")
            log("trees of chunk", number)
        number += of


if __name__ == "__main__":
    main()
