#!/usr/bin/env python3
"""Compares random tokenizers with the reference. Each seed makes a tokenizer.json of random components with random options
and trains its vocabulary on some of the texts. `mha-cli tokenize` must then equal the Python package tokenizers 0.22.2 in
ids, offsets, type ids, special-token masks, refusals, truncation, and the decoded text.

  scripts/compare_tokenizers.py --mha build/mha-cli --count 200 [--first SEED] [--texts 300] [--keep FOLDER]

Exit code 1 on any difference; --keep keeps the files of tokenizers that differ.
"""
import argparse, json, os, random, subprocess, sys, tempfile

import tokenizers
from tokenizers import Tokenizer, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("MHA_SHARED") or os.path.join(HERE, "..", "..", "shared")

TRICKY = list("aAeEiIzZ0189 \t\n\r.,!?-_'\"()[]{}<>|#@&%+=*/\\^~`") + [
    "é", "É", "e\u0301", "\u0301", "\u0302\u0301", "ß", "İ", "ı", "Σ", "ς", "ſ", "ﬁ", "½", "²", "Ⅳ", "ａ", "Ａ", "①", "㎏", "ﷺ",
    "中", "文", "字", "か\u3099", "が", "ｶﾞ", "각", "\u1100\u1161\u11a8", "ह", "\u094d", "\u093f", "ก", "\u0e33", "ا", "\u0651",
    "א", "\u05b7", "я", "й", "и\u0306", "😀", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u00a0",
    "\u2003", "\u2028", "\u3000", "\u0085", "\u000b", "\x1c", "\x00", "\x7f", "\ufffd", "\u2581", "\u0120", "¿", "—", "„", "。", "，",
    "’s", "'s", "'ll", "'RE", "don't", "\r\n", "   ", "\ue000", "\U000e0041", "\U0001d400", "\U0002b820", "\U0010ffff", "\u0378",
    "Hello", "world", "the", "leader", "[MASK]", "<mask>", "[UNK]", "<unk>", "<s>", "http://x.yz/a?b=1", "3.14", "1,000"]
PATTERNS = [r"\s+", r"\w+|[^\w\s]+", r"\p{N}{1,3}", r"[^\r\n\p{L}\p{N}]?\p{L}+", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"\b", r"(?<=\d)(?=\p{L})", r"\d", r"\p{P}", r"[[:alpha:]]+", r"a|b|", r"(\w)\1", r"\X",
            r"[\u4e00-\u9fff]", r"\p{Han}+", r"^\s+|\s+$", r"\A.", r".\z", r"x*", r"(?s:.)", r"\R", r"\p{Lu}\p{Ll}*", r"[a-z&&[^aeiou]]+",
            r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", r" {2,}", r"\S+", r"\p{M}+", r"[^\P{L}a]", r"(?>a+)b?", r"\h+", r"\p{Greek}|\p{Cyrillic}"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def charsmaps():
    import glob, gzip
    found = []
    for path in sorted(glob.glob(f"{SHARED}/tokenizers/models/*/tokenizer.json*")):
        text = (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8").read(3_000_000)
        at = text.find('"precompiled_charsmap"')
        if at >= 0:
            begin = text.index('"', text.index(":", at)) + 1
            found.append(text[begin:text.index('"', begin)])
    return sorted(set(found), key=len)


class Maker:
    def __init__(self, seed, texts, maps):
        self.r, self.texts, self.maps = random.Random(seed), texts, maps

    def flag(self):
        return self.r.random() < 0.5

    def bit(self):
        """A short string that occurs in the texts, or a tricky one."""
        if self.flag():
            return self.r.choice(TRICKY)
        text = self.r.choice(self.texts)
        at = self.r.randrange(len(text) + 1)
        return text[at:at + self.r.randint(1, 4)] or "a"

    def pattern(self):
        return {"Regex": self.r.choice(PATTERNS)} if self.r.random() < 0.7 else {"String": self.bit()}

    def sequence(self, one, key, most):
        steps = [one() for _ in range(self.r.randint(0, most))]
        if not steps:
            return None
        return steps[0] if len(steps) == 1 else {"type": "Sequence", key: steps}

    def normalizer(self):
        kind = self.r.choice("Bert NFC NFD NFKC NFKD Nmt Precompiled Lowercase StripAccents Strip Replace Replace Prepend ByteLevel".split())
        if kind == "Bert":
            return {"type": "BertNormalizer", "clean_text": self.flag(), "handle_chinese_chars": self.flag(),
                    "strip_accents": self.r.choice([None, True, False]), "lowercase": self.flag()}
        extra = {"Precompiled": lambda: {"precompiled_charsmap": self.r.choice(self.maps)},
                 "Strip": lambda: {"strip_left": self.flag(), "strip_right": self.flag()},
                 "Replace": lambda: {"pattern": self.pattern(), "content": self.r.choice(["", " ", "x", "▁", self.bit()])},
                 "Prepend": lambda: {"prepend": self.r.choice(["▁", " ", "x", self.bit()])}}
        if kind == "ByteLevel" and self.r.random() < 0.6:
            kind = "Lowercase"
        return {"type": kind, **extra.get(kind, dict)()}

    def pre_tokenizer(self):
        kind = self.r.choice("BertPreTokenizer ByteLevel ByteLevel Metaspace Metaspace Whitespace WhitespaceSplit Punctuation Digits Split Split Split "
                             "UnicodeScripts CharDelimiterSplit FixedLength".split())
        extra = {"ByteLevel": lambda: {"add_prefix_space": self.flag(), "trim_offsets": self.flag(), "use_regex": self.flag()},
                 "Metaspace": lambda: {"replacement": self.r.choice(["▁", "▁", "_", "é"]), "split": self.flag(),
                                       "prepend_scheme": self.r.choice(["always", "first", "never"])},
                 "Punctuation": lambda: {"behavior": self.r.choice(BEHAVIORS)}, "Digits": lambda: {"individual_digits": self.flag()},
                 "Split": lambda: {"pattern": self.pattern(), "behavior": self.r.choice(BEHAVIORS), "invert": self.flag()},
                 "CharDelimiterSplit": lambda: {"delimiter": self.r.choice(" -eé中")}, "FixedLength": lambda: {"length": self.r.randint(1, 9)}}
        return {"type": kind, **extra.get(kind, dict)()}

    def post_processor(self, ids, depth=0):
        pick = lambda: self.r.choice(list(ids.items()))
        kind = self.r.choice("none BertProcessing RobertaProcessing TemplateProcessing TemplateProcessing ByteLevel ByteLevel".split() + ["Sequence"] * (depth == 0))
        if kind == "none":
            return None
        if kind == "Sequence":
            steps = [p for p in (self.post_processor(ids, 1) for _ in range(self.r.randint(1, 3))) if p]
            first = next((p for p in steps if p["type"] != "ByteLevel"), None)  # a second template panics in the reference
            return {"type": kind, "processors": [p for p in steps if p["type"] == "ByteLevel" or p is first]}
        if kind == "ByteLevel":
            return {"type": kind, "add_prefix_space": self.flag(), "trim_offsets": self.flag(), "use_regex": self.flag()}
        if kind != "TemplateProcessing":
            made = {"type": kind, "sep": list(pick()), "cls": list(pick())}
            return {**made, "trim_offsets": self.flag(), "add_prefix_space": self.flag()} if kind[0] == "R" else made
        specials, type_id = dict(pick() for _ in range(3)), lambda: self.r.choice([0, 0, 0, 1, 2])
        some = lambda: [{"SpecialToken": {"id": self.r.choice(list(specials)), "type_id": type_id()}} for _ in range(self.r.choice([0, 0, 1, 1, 2]))]
        one = lambda name: [{"Sequence": {"id": name, "type_id": type_id()}}]
        order = ["A", "B"] if self.r.random() < 0.9 else ["B", "A"]
        return {"type": kind, "single": some() + one("A") + some(), "pair": some() + one(order[0]) + some() + one(order[1]) + some(),
                "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in specials.items()}}

    def decoder(self):
        kind = self.r.choice("ByteLevel WordPiece Metaspace BPEDecoder CTC Replace Fuse Strip ByteFallback".split())
        extra = {"ByteLevel": lambda: {"add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                 "WordPiece": lambda: {"prefix": self.r.choice(["##", "@"]), "cleanup": self.flag()},
                 "Metaspace": lambda: {"replacement": "▁", "prepend_scheme": self.r.choice(["always", "first", "never"]), "split": self.flag()},
                 "BPEDecoder": lambda: {"suffix": self.r.choice(["</w>", "e"])},
                 "CTC": lambda: {"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": self.flag()},
                 "Replace": lambda: {"pattern": self.pattern(), "content": self.r.choice(["", " ", "x"])},
                 "Strip": lambda: {"content": self.r.choice(" e▁"), "start": self.r.randint(0, 2), "stop": self.r.randint(0, 2)}}
        return {"type": kind, **extra.get(kind, dict)()}

    def model(self, stages):
        """A model trained on some of the texts after the earlier stages, then given odd options and holes."""
        kind = self.r.choice("WordPiece WordLevel BPE BPE BPE Unigram Unigram".split())
        empty = {"WordPiece": {"type": kind, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {}},
                 "WordLevel": {"type": kind, "unk_token": "[UNK]", "vocab": {}}, "BPE": {"type": kind, "vocab": {}, "merges": []},
                 "Unigram": {"type": kind, "unk_id": 0, "vocab": [["[UNK]", 0.0]]}}[kind]
        t = Tokenizer.from_str(json.dumps({**stages, "model": empty}))
        specials, size = ["[UNK]", "[CLS]", "[SEP]", "<mask>"], self.r.choice([80, 300, 1200])
        prefix, suffix = self.r.choice(["", "", "", "##", "@"]), self.r.choice(["", "", "", "</w>", "e"])
        affixes = {k: v for k, v in [("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix)] if v}
        trainer = {"WordPiece": lambda: trainers.WordPieceTrainer(vocab_size=size, special_tokens=specials, continuing_subword_prefix=prefix or "##", show_progress=False),
                   "WordLevel": lambda: trainers.WordLevelTrainer(vocab_size=size, special_tokens=specials, show_progress=False),
                   "BPE": lambda: trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False, **affixes),
                   "Unigram": lambda: trainers.UnigramTrainer(vocab_size=size + 1500, special_tokens=specials, unk_token="[UNK]", show_progress=False)}[kind]()
        t.train_from_iterator(self.r.sample(self.texts, min(len(self.texts), 150)), trainer)
        model = json.loads(t.to_str())["model"]
        if kind == "BPE":
            model.update(unk_token=self.r.choice([None, "[UNK]", "[UNK]"]), fuse_unk=self.flag(), ignore_merges=self.r.random() < 0.3,
                         # the reference has offsets outside the text for bytes that an affix falls back to
                         byte_fallback=self.r.random() < 0.4 and prefix + suffix == "", continuing_subword_prefix=prefix or None, end_of_word_suffix=suffix or None)
            if self.flag():
                model["merges"] = [" ".join(m) for m in model["merges"] if " " not in m[0] + m[1]]
            if self.r.random() < 0.3:
                self.r.shuffle(model["merges"])
        if kind == "Unigram":  # the trainer writes specials that the texts hold twice; that is refused here
            model["vocab"] = list(dict((p, [p, s]) for p, s in model["vocab"]).values())
            model["byte_fallback"] = self.r.random() < 0.4
            if self.flag():  # ties
                model["vocab"] = [[p, float(round(s))] for p, s in model["vocab"]]
            model["unk_id"] = self.r.choice([0, 0, 0, None, 5])
        if kind == "WordPiece":
            model.update(max_input_chars_per_word=self.r.choice([100, 100, 5, 1]), unk_token=self.r.choice(["[UNK]", "[UNK]", "[CLS]"]))
        if model.get("byte_fallback"):
            for byte in self.r.sample(range(256), self.r.choice([256, 256, 255, 128])):
                name = f"<0x{byte:02X}>"
                if kind == "Unigram":
                    if name not in [p for p, _ in model["vocab"]]:
                        model["vocab"].append([name, -5.0])
                else:
                    model["vocab"].setdefault(name, len(model["vocab"]))
        return model

    def tokenizer(self):
        stages = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
                  "normalizer": self.sequence(self.normalizer, "normalizers", 3), "pre_tokenizer": self.sequence(self.pre_tokenizer, "pretokenizers", 3),
                  "post_processor": None, "decoder": None}
        model = self.model(stages)
        vocab = {p: i for i, (p, _) in enumerate(model["vocab"])} if isinstance(model["vocab"], list) else model["vocab"]
        added = {c: None for c in ["[MASK]", "<mask>", "[UNK]"] + [self.bit() for _ in range(self.r.randint(0, 5))] if self.flag()}
        free = max(vocab.values(), default=-1) + 1
        behind = Tokenizer.from_str(json.dumps({**stages, "model": model})).normalizer
        stages["added_tokens"] = []
        for content in added:
            gone = behind is not None and behind.normalize_str(content) == ""  # the reference then matches it between all bytes
            token = vocab.get(content)
            if token is None:
                token, free = free, free + 1
            stages["added_tokens"].append({"id": token, "content": content, "special": self.flag(), "normalized": self.flag() and not gone,
                                           "lstrip": self.r.random() < 0.3, "rstrip": self.r.random() < 0.3, "single_word": self.r.random() < 0.3})
        stages["added_tokens"].sort(key=lambda t: t["id"])
        stages["post_processor"] = self.post_processor({t: i for t, i in vocab.items() if t in ("[UNK]", "[CLS]", "[SEP]", "<mask>")} or {"[UNK]": 0})
        stages["decoder"] = self.sequence(self.decoder, "decoders", 3)
        return {**stages, "model": model}

    def inputs(self, count):
        made = self.r.sample(self.texts, min(count // 2, len(self.texts)))
        while len(made) < count:
            made.append("".join(self.r.choice(TRICKY) for _ in range(self.r.randint(0, 24))))
        return [(text, self.r.choice(made) if self.r.random() < 0.2 else None) for text in made]


def reference(make):
    try:
        return make()
    except BaseException as error:  # the binding's panics derive from it
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return f"{type(error).__name__}: {error}"


def ours(mha, folder, lines, *options):
    name = f"{folder}/inputs"
    with open(name, "w", encoding="utf-8") as f:
        f.writelines(x + "\n" for x in lines)
    run = subprocess.run([mha, "tokenize", "-q", "-t", "1", "-m", folder, "-i", name, "--format", "jsonl", "--on-error", "record", *options],
                         capture_output=True, text=True, encoding="utf-8")
    records = [json.loads(x) for x in run.stdout.split("\n") if x]
    return records, run.stderr.strip(), run.returncode


def compare(seed, a, texts, maps):
    """The differences, as a list of lines."""
    maker = Maker(seed, texts, maps)
    made = reference(maker.tokenizer)
    if isinstance(made, str):
        if a.show > 2:
            print(f"seed {seed}: no tokenizer: {made}")
        return None
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(made, ensure_ascii=False)
        open(f"{folder}/tokenizer.json", "w", encoding="utf-8").write(text)
        theirs = reference(lambda: Tokenizer.from_str(text))
        inputs = maker.inputs(a.texts)
        limit = maker.r.choice([None, None, maker.r.randint(8, 24)])
        side, stride = maker.r.choice(["head", "tail"]), maker.r.choice([None, 0, 1, 2])
        options = ["--input-format", "jsonl", "--max-length", str(limit or 100000000), "--truncation", side]
        if limit and stride is not None:
            options += ["--stride", str(stride)]
        lines = [json.dumps({"text": t, **({"text_pair": p} if p is not None else {})}) for t, p in inputs]
        records, message, code = ours(a.mha, folder, lines, *options)
        if isinstance(theirs, str) or code not in (0, 1):
            same = isinstance(theirs, str) and code == 3
            if code < 0 or not same:
                return [f"loading: theirs {theirs if isinstance(theirs, str) else 'loads'}; ours {code} {message}"]
            return []
        if limit:
            theirs.enable_truncation(limit, stride=stride or 0, direction={"head": "right", "tail": "left"}[side])
        by_index, found, decoded, wanted_text = {}, [], [], []
        for record in records:
            by_index.setdefault(record["index"], []).append(record)
        for i, (t, p) in enumerate(inputs):
            want = reference(lambda: theirs.encode(t, p))
            got = by_index.get(i, [])
            if isinstance(want, str) or not got or "error" in got[0]:
                panics = isinstance(want, str) and want.startswith("PanicException")  # a slip of the reference, no refusal
                if not panics and not (isinstance(want, str) and got and "error" in got[0]):
                    found.append(f"{t!r} {p!r}: theirs {want if isinstance(want, str) else want.ids}; ours {got}")
                continue
            windows = [want] + (want.overflowing if limit and stride is not None else [])
            if len(windows) != len(got):
                found.append(f"{t!r} {p!r}: {len(windows)} windows, ours {len(got)}")
                continue
            for w, g in zip(windows, got):
                for name, x, y in [("ids", w.ids, g["input_ids"]), ("offsets", [list(o) for o in w.offsets], g["offsets"]),
                                   ("type_ids", w.type_ids, g["token_type_ids"]), ("mask", w.special_tokens_mask, g["special_tokens_mask"])]:
                    if x != y:
                        found.append(f"{t!r} {p!r}: {name}\n    theirs {x}\n    ours   {y}\n    tokens {w.tokens}")
                        break
            decoded.append(" ".join(map(str, want.ids)))
            wanted_text.append(reference(lambda: theirs.decode(want.ids, skip_special_tokens=True)))
        records, message, code = ours(a.mha, folder, decoded, "--decode")
        for ids, want, got in zip(decoded, wanted_text, records):
            if want != got.get("text") and not want.startswith("PanicException"):
                found.append(f"decode {ids}\n    theirs {want!r}\n    ours   {got}")
        if len(records) != len(decoded):
            found.append(f"decode: {len(decoded)} lines gave {len(records)} records: {message}")
        if found and a.keep:
            os.makedirs(a.keep, exist_ok=True)
            open(f"{a.keep}/{seed}.json", "w", encoding="utf-8").write(text)
        return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mha", required=True)
    p.add_argument("--count", type=int, default=100), p.add_argument("--first", type=int, default=0)
    p.add_argument("--texts", type=int, default=200), p.add_argument("--keep"), p.add_argument("--show", type=int, default=2)
    a = p.parse_args()
    if tokenizers.__version__ != "0.22.2":
        sys.exit(f"tokenizers 0.22.2 is the reference, this is {tokenizers.__version__}")
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # panics of the binding
    texts = [json.loads(x)["text"] for x in open(f"{SHARED}/tokenizers/corpus.jsonl", encoding="utf-8")]
    texts, maps, different, compared = [t for t in texts if len(t) < 3000], charsmaps(), 0, 0
    for seed in range(a.first, a.first + a.count):
        found = compare(seed, a, texts, maps)
        compared += found is not None
        if found:
            different += 1
            print(f"seed {seed}: {len(found)} differences", *found[:a.show], sep="\n  ", flush=True)
    print(f"{compared} tokenizers, {different} with differences")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
