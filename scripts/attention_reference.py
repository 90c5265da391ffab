#!/usr/bin/env python3
"""attention_reference.py MODELS OUT.json

Computes the answers of `attention` and `--ablate` from the goldens of ../shared/models alone, in float64 with numpy. Rollout,
head statistics and words come from the golden attention. Ablation comes from a forward pass of tiny-bert in this file, which must
first give the golden's own hidden states. The output is tests/data/attention/expected.json; tests/cli/attention_values.py compares
the program with it.

Definitions: rollout is the product over layers of (mean over heads + I) / 2, first layer rightmost (Abnar & Zuidema 2020);
statistics are means over all query tokens (queries without a previous or next token do not count in that mean), entropy is in
bits, distance is the sum of w * |q - k|; weights to a word are summed, weights from a word averaged (Clark et al. 2019)."""
import json
import math
import os
import sys

import numpy as np

MODELS = ["tiny-bert", "tiny-distilbert", "tiny-roberta", "tiny-transformer-encoder-pre"]
ABLATED = ["0.1", "0.0,2.*", "*.2"]


def arrays(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        body = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(body[slice(*v["data_offsets"])], np.float32).reshape(v["shape"]).astype(np.float64)
            for name, v in header.items() if v["dtype"] == "F32"}


def rollout(attention):
    tokens = attention.shape[-1]
    product = np.eye(tokens)
    for layer in attention:
        product = 0.5 * (layer.mean(0) + np.eye(tokens)) @ product
    return product


def statistics(attention, special):
    place = np.arange(attention.shape[-1])
    rows = []
    for l, layer in enumerate(attention):
        for h, a in enumerate(layer):
            logs = np.log2(np.where(a > 0, a, 1))
            off = lambda k: float(np.diagonal(a, k).mean()) if a.shape[0] > 1 else 0.0
            rows.append({"layer": l, "head": h, "entropy": float(-(a * logs).sum(1).mean()), "self": off(0) if a.shape[0] > 1 else float(a[0, 0]),
                         "previous": off(-1), "next": off(1), "first": float(a[:, 0].mean()), "special": float(a[:, special].sum(1).mean()),
                         "distance": float((a * abs(place[:, None] - place)).sum(1).mean()), "tokens": a.shape[0]})
    return rows


def words(attention, tokens):
    """WordPiece: a piece that begins with ## continues the word before it."""
    member = np.cumsum([not t.startswith("##") for t in tokens]) - 1
    join = np.zeros((member[-1] + 1, len(tokens)))
    join[member, np.arange(len(tokens))] = 1
    return (join / join.sum(1, keepdims=True)) @ attention @ join.T


def bert(weights, config, case, ablated):
    """hidden_states of a post-norm BERT; `ablated` is a set of (layer, head)."""
    gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))
    linear = lambda x, name: x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(1, keepdims=True)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + config["layer_norm_eps"]) * weights[name + ".weight"] + weights[name + ".bias"]

    e = "embeddings."
    x = weights[e + "word_embeddings.weight"][case["input_ids"]] + weights[e + "token_type_embeddings.weight"][case["token_type_ids"]]
    x = norm(x + weights[e + "position_embeddings.weight"][:len(x)], e + "LayerNorm")
    states, heads = [x], config["num_attention_heads"]
    for l in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{l}."
        q, k, v = (np.split(linear(x, f"{name}attention.self.{part}"), heads, 1) for part in ("query", "key", "value"))
        context = []
        for h in range(heads):
            scores = q[h] @ k[h].T / math.sqrt(q[h].shape[1])
            shares = np.exp(scores - scores.max(1, keepdims=True))
            shares /= shares.sum(1, keepdims=True)
            context.append((shares @ v[h]) * ((l, h) not in ablated))
        x = norm(linear(np.hstack(context), name + "attention.output.dense") + x, name + "attention.output.LayerNorm")
        x = norm(linear(gelu(linear(x, name + "intermediate.dense")), name + "output.dense") + x, name + "output.LayerNorm")
        states.append(x)
    return np.array(states)


def ablated_set(text, layers, heads):
    chosen = set()
    for part in text.split(","):
        layer, head = part.split(".")
        chosen |= {(l, h) for l in (range(layers) if layer == "*" else [int(layer)]) for h in (range(heads) if head == "*" else [int(head)])}
    return chosen


def rounded(x):
    return np.round(x, 7).tolist()


def main():
    folder, out = sys.argv[1:3]
    expected = []
    for model in MODELS:
        with open(os.path.join(folder, model, "golden.json"), encoding="utf8") as file:
            golden = json.load(file)
        values = arrays(os.path.join(folder, model, "golden.safetensors"))
        for case in golden["cases"]:
            attention = values.get(case["name"] + ".attentions")
            if attention is None or "text" not in case or not case["text"]:
                continue
            entry = {"model": model, "text": case["text"], "specials": case["add_special_tokens"], "rollout": rounded(rollout(attention)),
                     "stats": statistics(attention, np.array(case["special_tokens_mask"], bool))}
            if "bert" in model.replace("roberta", ""):
                entry["words"] = rounded(words(attention, case["tokens"]))
            if model == "tiny-bert":
                with open(os.path.join(folder, model, "config.json"), encoding="utf8") as file:
                    config = json.load(file)
                weights = arrays(os.path.join(folder, model, "model.safetensors"))
                weights = {name.removeprefix("bert."): value for name, value in weights.items()}
                states = values[case["name"] + ".hidden_states"]
                worst = abs(bert(weights, config, case, set()) - states).max()
                if worst > 1e-4:
                    raise SystemExit(f"{model} {case['name']}: the forward here is {worst} away from the golden hidden states")
                entry["ablated"] = {text: rounded(bert(weights, config, case, ablated_set(text, *attention.shape[:2]))[-1]) for text in ABLATED}
            expected.append(entry)
    with open(out, "w", encoding="utf8") as file:
        json.dump(expected, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    print(f"{len(expected)} cases")


if __name__ == "__main__":
    main()
