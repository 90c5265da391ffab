#!/usr/bin/env python3
"""make_task_goldens.py SHARED OUT

Results of the reference for tasks without a golden in ../shared/models, as one JSON file (tests/data/task_goldens.json):
- `zero_shot`: the zero-shot-classification pipeline of transformers on SHARED/models/tiny-*-classify, also with other label
  names, which decide the places of entailment and contradiction;
- `entities`: its token classification on words of several pieces, for every aggregation strategy;
- `fills`: its fill-mask with several masks, and with targets;
- `quantized`: quantize_embeddings of sentence-transformers.

Needs torch, transformers (made with 5.24.0) and sentence-transformers (6.2.0)."""
import json
import os
import shutil
import sys
import tempfile

import numpy as np
import transformers as T
from sentence_transformers.util import quantize_embeddings

T.utils.logging.set_verbosity_error()
T.utils.logging.disable_progress_bar()
NAMES = {
    "as they are": None,
    "entailment first": ["entailment", "neutral", "contradiction"],
    "entailment last": ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"],
    "entailment in between": ["no", "Entails", "perhaps"],
}
ZERO_SHOT = [
    dict(text="She is a great leader.", labels=["people", "animals", "soap"]),
    dict(text="She is a great leader.", labels=["people", "animals", "soap"], multi_label=True),
    dict(text="Ein Käfer schläft.", labels=["sport", "natural science"], hypothesis="It is about {}, they say."),
    dict(text="one", labels=["alone"]),
    dict(text="word " * 80 + "end", labels=["short", "long"]),
]
TEXTS = ["Unbelievably tremendous Wolfeschlegelsteinhausen visited Rotterdam-Noord yesterday.", "naïve café-goers, 12345 of them",
         "UPPER lower MiXeD"]
MASKS = ["The {m} of the {m} is {m}.", "{m}", "a {m} b {m}"]


def renamed(folder, names, into):
    copy = os.path.join(into, os.path.basename(folder))
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    path = os.path.join(copy, "config.json")
    with open(path, encoding="utf8") as file:
        config = json.load(file)
    if names:
        config["id2label"] = {str(i): name for i, name in enumerate(names)}
        config["label2id"] = {name: i for i, name in enumerate(names)}
    with open(path, "w", encoding="utf8") as file:
        json.dump(config, file)
    return copy


def zero_shot(models):
    for model in ("tiny-bert-classify", "tiny-roberta-classify"):
        for how, names in NAMES.items():
            if names and model != "tiny-bert-classify":
                continue  # another number of labels
            with tempfile.TemporaryDirectory() as into:
                folder = renamed(os.path.join(models, model), names, into)
                pipe = T.pipeline("zero-shot-classification", model=folder, tokenizer=folder, device="cpu")
                for case in ZERO_SHOT:
                    more = {"hypothesis_template": case["hypothesis"]} if "hypothesis" in case else {}
                    got = pipe(case["text"], case["labels"], multi_label=case.get("multi_label", False), **more)
                    yield dict(case, model=model, names=names, scores=[dict(label=l, score=s) for l, s in zip(got["labels"], got["scores"])])


def entities(models):
    for model in ("tiny-bert-ner", "tiny-roberta-ner", "tiny-distilbert-ner"):
        for strategy in ("none", "simple", "first", "average", "max"):
            pipe = T.pipeline("token-classification", model=os.path.join(models, model), device="cpu", aggregation_strategy=strategy)
            for text in TEXTS:
                found = [{k: float(v) if k == "score" else v for k, v in e.items()} for e in pipe(text)]
                yield dict(model=model, aggregation=strategy, text=text, entities=found)


def fills(models):
    for model in ("tiny-bert-mlm", "tiny-roberta-mlm"):
        pipe = T.pipeline("fill-mask", model=os.path.join(models, model), device="cpu")
        vocabulary = pipe.tokenizer.get_vocab()
        words = [w for w in sorted(vocabulary) if w.isalpha() and w.isascii() and len(w) > 2][:3]
        for text in MASKS:
            text = text.format(m=pipe.tokenizer.mask_token)
            for targets in (None, words):
                got = pipe(text, top_k=3, **({"targets": targets} if targets else {}))
                lists = got if isinstance(got[0], list) else [got]
                yield dict(model=model, text=text, targets=targets, top_k=3, fills=lists)


def quantized():
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(6, 11)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[0, 3] = 0
    ranges = np.vstack((vectors[:4].min(0), vectors[:4].max(0)))
    ranges[:, 7] = 0.25  # a dimension that never changes
    yield dict(vectors=vectors.tolist(), ranges=ranges.tolist(), int8=quantize_embeddings(vectors, "int8", ranges=ranges).tolist(),
               binary=quantize_embeddings(vectors, "binary").tolist(), ubinary=quantize_embeddings(vectors, "ubinary").tolist())


def main():
    models = os.path.join(sys.argv[1], "models")
    golden = {"zero_shot": list(zero_shot(models)), "entities": list(entities(models)), "fills": list(fills(models)),
              "quantized": list(quantized())}
    with open(sys.argv[2], "w", encoding="utf8") as file:
        file.write("{\n" + ",\n".join(
            f'"{key}": [\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]" for key, rows in golden.items()) + "\n}\n")


main()
