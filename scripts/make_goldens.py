#!/usr/bin/env python3
"""make_goldens.py MODEL OUT [--all]

Goldens of a sentence-transformers BERT folder (made for ../shared/models/all-MiniLM-L6-v2): results of transformers for 60 texts
and pairs, eager, float32, with float64 to measure the noise. The layout of OUT/golden.json and OUT/golden.safetensors is that of
../shared/models. The committed ones in tests/data/minilm have only a few rows of hidden states and attention, in every fourth
case (--all keeps every case whole). `limit` is the largest difference allowed: 1e-6 for sentence vectors, 3e-5 for the rest.

Needs torch and transformers (made with 5.24.0)."""
import argparse, json, os
import numpy as np, torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoTokenizer

LONG = "The committee met for the third time this year and, after a long debate about cost, staff and weather, agreed to build the bridge. "
TEXTS = [
    "Hello World", "She is a great leader", "I led a team that built a scalable API.", "The river is wide here.", "He sat by the bank of the river.",
    "He took the money to the bank.", "a", "", " ", "?", "Yes.", "no no no no no no", "The quick brown fox jumps over the lazy dog.",
    "How big can elephants be?", "An elephant is a very big animal.", "Please shut the door.", "It is in the pictures folder.",
    "Transformers map a sequence of vectors to a sequence of vectors.", "Attention is all you need.", "UPPER CASE AND lower case",
    "Numbers: 3.14159, 1,000,000 and -42.", "e-mail: someone@example.org, see https://example.org/a?b=c#d", "C++20 and x86-64; a[i] += b[i] * c;",
    "Zürich, Århus, Łódź, São Paulo, Ōsaka", "naïve café résumé", "Ελληνικά και русский и 日本語", "中文句子没有空格", "한국어 문장입니다.", "हिन्दी में एक वाक्य", "العربية من اليمين",
    "emoji 😀 🎉 👩‍👩‍👧‍👦 in a text", "tabs\tand\nnew lines\r\nhere", "“Quotes” — dashes – and … dots", "Don't, can't, won't; it's, we're.",
    "antidisestablishmentarianism floccinaucinihilipilification", "xqzzk wvvbn plrrt", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "[CLS] and [SEP] and [MASK] stand in the text", "The cat sat on the mat because it was tired.", "The trophy does not fit into the suitcase because it is too big.",
    "Time flies like an arrow; fruit flies like a banana.", "I saw the man with the telescope.", "Not bad at all.", "This film was terrible.",
    "This film was wonderful.", "It was neither good nor bad.", LONG.strip(), LONG * 4, LONG * 20, LONG * 60,
]
PAIRS = [
    ("How big can elephants be?", "An elephant is a very big animal."), ("How big can elephants be?", "Please shut the door."),
    ("Where is the file?", "It is in the pictures folder."), ("She leads the team.", "She is a great leader."), ("", "only the second"), ("only the first", ""),
    ("A man is eating food.", "A man is eating a piece of bread."), ("The weather is lovely today.", "It's so sunny outside!"),
    ("short", LONG * 3), (LONG * 15, LONG * 15),
]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model"); parser.add_argument("out"); parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModel.from_pretrained(options.model, attn_implementation="eager").eval()
    double = AutoModel.from_pretrained(options.model, attn_implementation="eager").double().eval()
    golden, cases = {}, []
    for i, (text, pair) in enumerate([(t, None) for t in TEXTS] + PAIRS):
        inputs = tokenizer(text, pair, truncation=True, max_length=256 if pair is None else 512, return_tensors="pt")
        with torch.no_grad():
            one, exact = (m(**inputs, output_hidden_states=True, output_attentions=True) for m in (model, double))
        tokens = inputs["input_ids"].shape[1]
        whole = options.all or (i % 4 == 0 and tokens <= 256)
        rows = list(range(tokens)) if options.all else sorted({0, tokens // 2})

        def arrays(output):
            mean = output.last_hidden_state[0].mean(0)
            got = {"sentence": mean / mean.norm().clamp_min(1e-12)}
            if whole:
                got["hidden_rows"] = torch.stack([h[0, rows] for h in output.hidden_states])
                got["attention_rows"] = torch.stack([a[0][:, rows] for a in output.attentions])
            return got
        single, reference = arrays(one), arrays(exact)
        name, keys = f"t{i:02d}", {}
        for key, value in single.items():
            golden[f"{name}.{key}"] = value.float().contiguous()
            keys[key] = {"shape": list(value.shape), "noise": float((value.double() - reference[key]).abs().max()), "scale": float(value.abs().max()),
                         "limit": 1e-6 if key == "sentence" else 3e-5}
        case = {"name": name, "text": text, "input_ids": inputs["input_ids"][0].tolist(), "token_type_ids": inputs["token_type_ids"][0].tolist(), "keys": keys}
        if pair is not None: case["text_pair"] = pair
        if whole: case["rows"] = rows
        cases.append(case)
    os.makedirs(options.out, exist_ok=True)
    save_file(golden, os.path.join(options.out, "golden.safetensors"))
    with open(os.path.join(options.out, "golden.json"), "w", encoding="utf8") as f:
        json.dump({"family": "bert", "token_types_fed": True, "max_length": 256, "max_length_pair": 512, "cases": cases}, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__": main()
