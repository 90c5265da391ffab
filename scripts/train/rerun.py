"""Computes an exported folder with numpy alone; it shares no code with the training.

Writes the goldens of the tool's own test: token ids, vectors, and the attention that the model card claims.
"""
import argparse
import hashlib
import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

TEXTS = ["She is a great leader", "I led a team that built a scalable API.",
         "A man is playing a guitar.", "Someone plays an instrument on stage.", "The stock market fell sharply on Monday.",
         "How do I get a refund for a payment I did not recognise?", "naïve café, Größe 😀", "a",
         " ".join(["The quick brown fox jumps over the lazy dog, and then it sleeps."] * 20)]
# (text, job, from, to, what the test may rely on)
CLAIMS = [(0, "role", "she", "leader"), (0, "descriptor", "she", "great"), (0, "descriptor", "leader", "great"),
          (0, "syntactician", "great", "leader"), (1, "role", "i", "led"), (1, "role", "that", "built"),
          (1, "descriptor", "api", "scalable"), (1, "syntactician", "team", "led"), (1, "syntactician", "built", "team"),
          (1, "syntactician", "api", "built"), (1, "previous", "team", "a"), (1, "next", "that", "built")]
JOBS = {"syntactician": (3, 0), "role": (2, 1), "descriptor": (2, 2), "previous": (1, 3), "next": (1, 4)}

erf = np.vectorize(math.erf, otypes=[np.float64])


def tensors(path):
    raw = load_file(path)
    return {n: (v.astype(np.float64) * raw[f"{n}.scale"][:, None] if v.dtype == np.int8 else v.astype(np.float64))
            for n, v in raw.items() if not n.endswith(".scale")}


def norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + epsilon) * weight + bias


class Model:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.t, self.dense = tensors(folder / "model.safetensors"), tensors(folder / "2_Dense" / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def __call__(self, text):
        """-> encoding, vector, attention [layers][heads][T][T]"""
        c, t = self.config, self.t
        encoding = self.tokenizer.encode(text)
        ids = encoding.ids[:c["max_positions"]]
        count, width, heads = len(ids), c["d_model"], c["nhead"]
        x = t["embedding.weight"][ids] @ t["embedding_projection.weight"].T
        for p in range(count):
            for i in range(0, width, 2):
                angle = p / 10000 ** (i / width)
                x[p, i] += math.sin(angle)
                x[p, i + 1] += math.cos(angle)
        attention = []
        for layer in range(c["num_layers"]):
            def w(name):
                return t[f"encoder.layers.{layer}.{name}"]
            y = norm(x, w("norm1.weight"), w("norm1.bias"), c["layer_norm_eps"])
            qkv = y @ w("self_attn.in_proj_weight").T + w("self_attn.in_proj_bias")
            q, k, v = (part.reshape(count, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=1))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // heads)
            probabilities = np.exp(scores - scores.max(-1, keepdims=True))
            probabilities /= probabilities.sum(-1, keepdims=True)
            attention.append(probabilities)
            z = (probabilities @ v).transpose(1, 0, 2).reshape(count, width)
            x = x + z @ w("self_attn.out_proj.weight").T + w("self_attn.out_proj.bias")
            y = norm(x, w("norm2.weight"), w("norm2.bias"), c["layer_norm_eps"]) @ w("linear1.weight").T + w("linear1.bias")
            y = 0.5 * y * (1 + erf(y / math.sqrt(2)))
            x = x + y @ w("linear2.weight").T + w("linear2.bias")
        x = norm(x, t["encoder.norm.weight"], t["encoder.norm.bias"], c["layer_norm_eps"])
        vector = x.mean(0) @ self.dense["linear.weight"].T + self.dense["linear.bias"]
        return encoding, vector / np.linalg.norm(vector), np.stack(attention)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    args = parser.parse_args()
    model = Model(args.model)
    results = [model(text) for text in TEXTS]
    golden = {"model": args.model.name,
              "sha256": {str(f.relative_to(args.model)): hashlib.sha256(f.read_bytes()).hexdigest()
                         for f in sorted(args.model.rglob("*")) if f.suffix in (".json", ".safetensors")},
              "jobs": {job: {"layer": layer, "head": head} for job, (layer, head) in JOBS.items()},
              "vectors": [], "similarity": [], "claims": []}
    for k, (text, (encoding, vector, _)) in enumerate(zip(TEXTS, results)):
        golden["vectors"].append({"text": text, "tokens": encoding.tokens, "input_ids": encoding.ids,
                                  "first": [round(float(v), 7) for v in vector[:8]],
                                  "vector": [round(float(v), 6) for v in vector] if k < 3 else None})
    for a, b in ((2, 3), (2, 4), (0, 1)):
        golden["similarity"].append({"a": TEXTS[a], "b": TEXTS[b], "cosine": round(float(results[a][1] @ results[b][1]), 6)})
    for k, job, query, key in CLAIMS:
        encoding, _, attention = results[k]
        layer, head = JOBS[job]
        q, p = encoding.tokens.index(query), encoding.tokens.index(key)
        row = attention[layer, head, q]
        golden["claims"].append({"text": TEXTS[k], "job": job, "layer": layer, "head": head, "query": q, "key": p,
                                 "from": query, "to": key, "weight": round(float(row[p]), 5), "greatest": bool(row.argmax() == p)})
    args.to.parent.mkdir(parents=True, exist_ok=True)
    args.to.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for claim in golden["claims"]:
        print(claim["job"], claim["from"], "->", claim["to"], claim["weight"], "" if claim["greatest"] else "(not the greatest)")


if __name__ == "__main__":
    main()
