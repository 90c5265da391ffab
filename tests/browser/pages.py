#!/usr/bin/env python3
"""pages.py MHA_CLI [SCREENSHOTS]: makes the pages of `attention` and `explain` with the program and drives them in a headless
Chromium (pages.js). Needs node, playwright-core (NODE_PATH, $MHA_PLAYWRIGHT or ../env/pw/node_modules) and a Chromium
($MHA_CHROMIUM or on the PATH); says so and passes where one is not there."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTILE = "She </script><b>leads</b> & 'is' <!-- great"
SENTENCE = "I led a team that built a scalable API."


def find_playwright():
    for folder in (os.environ.get("MHA_PLAYWRIGHT"), *os.environ.get("NODE_PATH", "").split(":"), os.path.join(HERE, "../../../env/pw/node_modules")):
        if folder and os.path.isdir(os.path.join(folder, "playwright-core")):
            return os.path.join(os.path.abspath(folder), "playwright-core")
    return None


def tokenizer():
    """A small WordPiece with specials, in which some words have several pieces."""
    words = [w.strip(".").lower() for w in SENTENCE.split() if w != "scalable"]
    pieces = ["[UNK]", "[CLS]", "[SEP]", *words, "sca", "##lab", "##le", ".", "<", ">", "/", "&", "'", "!", "-", "script", "b", "she", "is", "great", "leads"]
    specials = [{"id": i, "content": pieces[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i in range(3)]
    special = {t: {"id": t, "ids": [pieces.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")}
    side = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    text = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}
    return {"version": "1.0", "added_tokens": specials, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": [side("[CLS]"), text("A", 0), side("[SEP]")],
                               "pair": [side("[CLS]"), text("A", 0), side("[SEP]"), text("B", 0), side("[SEP]")], "special_tokens": special},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}}}


def main():
    program = os.path.abspath(sys.argv[1])
    node, playwright = shutil.which("node"), find_playwright()
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    chromium = os.environ.get("MHA_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    for what, found in (("node", node), ("playwright-core", playwright), ("Chromium", chromium)):
        if not found:
            print(f"skipped: no {what}")
            return 0
    with tempfile.TemporaryDirectory() as folder:
        def page(name, *arguments):
            subprocess.run([program, *arguments, "--format", "html", "-o", os.path.join(folder, name + ".html"), "-q"], check=True)

        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf8") as file:
            json.dump(tokenizer(), file)
        random = os.path.join(folder, "random.safetensors")
        subprocess.run([program, "model", "init", "--tokenizer", os.path.join(folder, "tokenizer.json"), "--layers", "12", "--heads", "12",
                        "--d-model", "144", "--d-ff", "64", "--to", "safetensors", "-o", random], check=True)
        page("hostile", "attention", "-m", random, HOSTILE)
        page("attention", "attention", "-m", random, SENTENCE)
        page("big", "attention", "-m", random, "--max-length", "128", SENTENCE * 20)
        page("explain", "explain", "-m", random, "--layer", "1", SENTENCE)
        page("explain-hostile", "explain", "-m", random, HOSTILE)
        command = [node, os.path.join(HERE, "pages.js"), playwright, chromium, folder, *map(os.path.abspath, sys.argv[2:3])]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
