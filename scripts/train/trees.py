"""Dependency trees as targets of the supervised heads."""
import gzip

import numpy as np

JOB_COUNT = 5                  # syntactician, role, descriptor, previous, next: the order of model.JOBS
WEIGHT_UNIT = 20               # weights are stored as int8 in twentieths
ITSELF = 0.1                   # weight: a word without role or descriptor attends to itself
RELATIVE_CLAUSE, PUNCTUATION, ROOT = 3.0, 0.5, 0.5


def read_conllu(path):
    """-> [(text, words)], a word being (form, upos, head index or -1 for the root, deprel)."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    sentences, words, text = [], [], ""
    with opened as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("# text = "):
                text = line[9:]
            elif not line:
                if words:
                    sentences.append((text, words))
                words = []
            elif line[0] != "#":
                column = line.split("\t")
                if column[0].isdigit():
                    words.append((column[1], column[3], int(column[6]) - 1, column[7]))
    if words:
        sentences.append((text, words))
    return sentences


def spans(text, words):
    """The position of each word in the text, or None if the words cannot be found one after the other."""
    out, at = [], 0
    for form, *_ in words:
        while at < len(text) and text[at].isspace():
            at += 1
        if not text.startswith(form, at):
            return None
        out.append((at, at + len(form)))
        at += len(form)
    return out


def align(offsets, word_spans):
    """The word of each piece: the word in which the piece begins."""
    starts = [begin for begin, _ in word_spans]
    return np.maximum(np.searchsorted(starts, [begin for begin, _ in offsets], side="right") - 1, 0)


def word_targets(head, relation, upos):
    """-> target [words, jobs] (index of a word, -1 nobody) and weight [words, jobs] (negative: itself, weakly).
    `head` of the root is the root."""
    count = len(head)
    target, weight = np.full((count, JOB_COUNT), -1), np.zeros((count, JOB_COUNT))
    base = [name.split(":")[0] for name in relation]
    target[:, 0] = head
    weight[:, 0] = [ROOT if head[i] == i else RELATIVE_CLAUSE if relation[i] == "acl:relcl"
                    else PUNCTUATION if base[i] == "punct" else 1.0 for i in range(count)]
    adjective = {}             # noun -> its nearest adjective
    for i in range(count):
        if base[i] == "amod" and head[i] != i:
            noun = head[i]
            if noun not in adjective or abs(i - noun) < abs(adjective[noun] - noun):
                adjective[noun] = i
    for i in range(count):
        if base[i] == "nsubj" and head[i] != i:
            target[i, 1] = head[i]
            if upos[head[i]] == "ADJ":
                target[i, 2] = head[i]
            elif head[i] in adjective and upos[head[i]] in ("NOUN", "PROPN"):
                target[i, 2] = adjective[head[i]]
        if i in adjective and upos[i] in ("NOUN", "PROPN"):
            target[i, 2] = adjective[i]
    for job in (1, 2):
        nobody = target[:, job] < 0
        weight[:, job] = np.where(nobody, -ITSELF, 1.0)
        target[nobody, job] = np.flatnonzero(nobody)
    target[1:, 3], weight[1:, 3] = np.arange(count - 1), 1.0
    target[:-1, 4], weight[:-1, 4] = np.arange(1, count), 1.0
    target[0, 3], weight[0, 3], target[-1, 4], weight[-1, 4] = 0, -ITSELF, count - 1, -ITSELF
    return target, weight


def piece_targets(word, target, weight):
    """From words to pieces; a job whose target word owns no piece is dropped. `word`: the word of each piece."""
    owns = np.zeros(len(target), bool)
    owns[word] = True
    weight = np.where((target >= 0) & owns[np.maximum(target, 0)], weight, 0.0)
    packed = np.clip(np.round(weight * WEIGHT_UNIT), -127, 127)
    return np.where(weight[word] != 0, target[word], -1).astype(np.int16), packed[word].astype(np.int8)


def treebank(path, tokenizer, longest):
    """Sentences of a treebank as dicts: text, ids, offsets, word (of each piece), head, relation, upos."""
    out = []
    for text, words in read_conllu(path):
        where = spans(text, words)
        encoding = tokenizer.encode(text, add_special_tokens=False)
        if where is None or not 0 < len(encoding.ids) <= longest:
            continue
        head = np.array([h if h >= 0 else i for i, (_, _, h, _) in enumerate(words)])
        out.append(dict(text=text, ids=np.array(encoding.ids), offsets=encoding.offsets,
                        word=align(encoding.offsets, where), head=head,
                        relation=[w[3] for w in words], upos=[w[1] for w in words]))
    return out
