#!/usr/bin/env python3
"""Checks what a reader sees in the pages of `attention` and `explain`, in a headless Chromium.

pages.py MHA_CLI [SCREENSHOTS]    needs chromium and chromedriver; without them it prints "skipped: no …" and exits 0
"""

import json
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import webdriver
from webdriver import DOWN, RIGHT

HOSTILE = "She </script><b>leads</b> & 'is' <!-- great"
SENTENCE = "I led a team that built a scalable API."
WIDTH, HEIGHT = 1500, 950


def equal(got, expected, what=""):
    assert got == expected, f"{what}: expected {expected!r}, got {got!r}"


def matches(pattern, text):
    assert re.search(pattern, text), f"expected {pattern!r} in {text[:300]!r}"


def tokenizer():
    """A small WordPiece with special tokens, in which some words have several pieces."""
    words = [word.strip(".").lower() for word in SENTENCE.split() if word != "scalable"]
    pieces = ["[UNK]", "[CLS]", "[SEP]", *words, "sca", "##lab", "##le", *".<>/&'!-"]
    pieces = list(dict.fromkeys([*pieces, "script", "b", "she", "is", "great", "leads"]))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    end = [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    return {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": pieces[i], **flags} for i in range(3)],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single + end,
            "pair": single + end + [{"Sequence": {"id": "B", "type_id": 0}}] + end,
            "special_tokens": {t: {"id": t, "ids": [pieces.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: i for i, piece in enumerate(pieces)},
        },
    }


def make_pages(program, folder):
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    model = folder / "random.safetensors"
    sizes = ["--layers", "12", "--heads", "12", "--d-model", "144", "--d-ff", "64"]
    init = ["model", "init", "--tokenizer", folder / "tokenizer.json", *sizes, "--to", "safetensors", "-o", model]
    subprocess.run([program, *init], check=True)

    def page(name, command, *arguments):
        out = ["--format", "html", "-o", folder / f"{name}.html", "-q"]
        subprocess.run([program, command, "-m", model, *arguments, *out], check=True)

    page("hostile", "attention", HOSTILE)
    page("attention", "attention", SENTENCE)
    page("big", "attention", "--max-length", "128", SENTENCE * 20)
    page("explain", "explain", "--layer", "1", SENTENCE)
    page("explain-hostile", "explain", HOSTILE)


class Pages:
    def __init__(self, browser, folder, screenshots):
        self.browser = browser
        self.folder = folder
        self.screenshots = screenshots

    def open(self, name):
        source = (self.folder / f"{name}.html").read_text(encoding="utf-8")
        matches("""http-equiv="Content-Security-Policy" content="default-src 'none';""", source)
        assert not re.search("unsafe-(inline|eval)", source), f"{name}: the policy allows what is not in it"
        self.browser.open((self.folder / f"{name}.html").as_uri())
        return source

    def shot(self, name):
        if self.screenshots:
            self.browser.screenshot(self.screenshots / f"{name}.png")

    def ground(self):
        return self.browser.run("return getComputedStyle(document.body).backgroundColor")

    def narrow(self):
        self.browser.resize(400, 800)
        fits = self.browser.run("return document.documentElement.scrollWidth <= innerWidth")
        assert fits, "a narrow window scrolls sideways"

    def numbers(self, selector):
        return [float(cell) for cell in self.browser.texts(selector)]

    def test_attention_heads(self):
        b = self.browser
        self.open("attention")
        equal(b.count(".head"), 144)
        equal(b.text("#head-title"), "Layer 0, head 0")
        b.click(".head", 15)
        equal(b.text("#head-title"), "Layer 1, head 3")
        equal(b.attribute(".head[aria-selected=true]", "aria-label"), "layer 1, head 3")
        b.press("#grid", DOWN + RIGHT)
        equal(b.text("#head-title"), "Layer 2, head 4")
        equal(b.attribute("#grid", "aria-activedescendant"), "head-28")

    def test_attention_matrix(self):
        """The mouse and the keyboard name the strongest partners of a token."""
        b = self.browser
        self.open("attention")
        b.hover("#stage canvas")
        matches("→.*%", b.text("#partners"))
        equal(b.count("#partners li"), 12)
        b.press("#stage canvas", DOWN + DOWN)
        matches("listens to", b.text("#partners"))
        self.shot("attention-matrix")

    def test_attention_lines(self):
        """Lines of all tokens, then of the token under the mouse."""
        b = self.browser
        self.open("attention")
        b.check("input[value=lines]")
        lines = b.count("#stage line")
        equal(b.count("#stage svg text") / 2, 14)
        assert lines > 14
        b.hover("#stage svg text", 4)
        assert b.count("#stage line") < lines
        matches("^“.+” listens to$", b.text("#partners h3"))
        self.shot("attention-lines")
        b.leave()
        b.check("input[value=words]")
        equal(b.count("#stage svg text") / 2, 12)
        assert "scalable" in b.texts("#stage svg text")
        b.check("#hide")
        equal(b.count("#stage svg text") / 2, 10)
        before = b.count("#stage line")
        b.fill("#threshold", "12")
        equal(b.text("#threshold-value"), "12 %")
        assert b.count("#stage line") < before

    def test_attention_search(self):
        b = self.browser
        self.open("attention")
        for control in ("input[value=lines]", "input[value=words]", "#hide"):
            b.check(control)
        b.fill("#search", "SCAL")
        equal(b.count("#stage text.found"), 2)
        b.check("input[value=table]")
        equal(b.count("#stage th.found"), 2)
        row = "#stage tbody tr:first-child td"
        equal(len(self.numbers(row)), 10)
        assert sum(self.numbers(row)) < 100, "hidden special tokens keep their share"
        b.check("#hide", False)
        assert abs(sum(self.numbers(row)) - 100) < 1, "a row sums to 1"

    def test_attention_looks(self):
        """Light, dark, what the system prefers, paper, a narrow window."""
        b = self.browser
        self.open("attention")
        b.select("#theme", "light")
        light = self.ground()
        b.select("#theme", "dark")
        assert self.ground() != light
        self.shot("attention-dark")
        b.select("#theme", "")
        b.media(scheme="dark")
        assert self.ground() != light
        b.media(scheme="light")
        equal(self.ground(), light)
        b.media("print")
        assert not b.shown("#controls")
        self.shot("attention-print")
        b.media()
        self.narrow()
        self.shot("attention-narrow")

    def test_hostile(self):
        b = self.browser
        for name in ("hostile", "explain-hostile"):
            self.open(name)
            shown = b.run("return document.body.innerText")
            assert "</script><b>leads</b>" in shown, f"{name}: the text is shown"
            equal(b.count("b"), 0, name)
            equal(b.count("script"), 3, name)

    def test_big(self):
        """12 layers of 12 heads over 128 tokens: far less than ten seconds per change, on a machine that is shared too."""
        b = self.browser
        size = len(self.open("big"))
        assert size < 8_000_000, f"{size} bytes"
        equal(b.count(".head"), 144)
        choose = "document.querySelector('input[value={}]').click()".format
        move = (
            "const c = document.querySelector('#stage canvas'); const r = c.getBoundingClientRect();"
            "c.dispatchEvent(new PointerEvent('pointermove', {clientX: r.x + 200, clientY: r.y + 200}))"
        )
        changes = {
            "head": "document.getElementById('head-77').click()",
            "lines": choose("lines"),
            "words": choose("words"),
            "matrix": choose("matrix"),
            "threshold": "const e = document.getElementById('threshold'); e.value = 3; e.dispatchEvent(new Event('input'))",
            "hover": move,
        }
        times = {name: b.timed(change) for name, change in changes.items()}
        print(f"{size / 1e6:.2f} MB; ms: " + ", ".join(f"{name} {time:.0f}" for name, time in times.items()))
        for name, time in times.items():
            assert time < 10_000, f"{name} takes {time} ms"
        self.shot("big")

    def test_explain_heads(self):
        b = self.browser
        self.open("explain")
        equal(b.count("#heads input"), 12)
        equal(b.count(".multiples button"), 12)
        equal(b.count(".static"), 0)
        seen = set()
        for head in range(12):
            b.check("#heads input", index=head)
            summaries = "\n".join(b.texts("[data-stages] summary"))
            for what in ("Q", "K", "V", "scores = Q·Kᵀ", "probabilities = softmax by row", "Z = probabilities·V"):
                assert f"head {head}: {what}: (" in summaries, f"head {head}: {what}"
            rows = b.texts("[data-stages] details[open] tbody tr")
            equal(len(rows), 14)
            seen.add(tuple(rows))
        equal(len(seen), 12, "heads with numbers of their own")
        b.click(".multiples button", 3)
        assert b.run("return document.querySelectorAll('#heads input')[3].checked")

    def test_explain_folded(self):
        """A folded matrix is filled when it is opened."""
        b = self.browser
        self.open("explain")
        first = "[data-stages] details:first-of-type"
        equal(b.count(f"{first} table"), 0)
        b.click(f"{first} summary")
        b.wait(f"{first} td")
        matches(r"^-?\d+\.\d{3}$", b.texts(f"{first} td")[1])

    def test_explain_token(self):
        """Another token: a sentence for every head, and rows that sum to 1."""
        b = self.browser
        self.open("explain")
        b.select("#token", b.run("return document.querySelectorAll('#token option')[6].value"))
        findings = b.texts("[data-findings=scores] li")
        equal(len(findings), 12)
        for line in findings:
            matches(r"^head \d+: built → .+ \d+ %", line)
        matches("^head 0: Z of built is", b.text("[data-findings=context] li"))
        matches(r"^head 0: columns 0 to 11, share of length [\d.]+$", b.text("[data-findings=output] li"))
        script = "const rows = document.querySelectorAll('details[open] tr.current'); return [...rows[rows.length - 1]"
        cells = b.run(script + ".querySelectorAll('td')].map(e => Number(e.textContent))")
        assert abs(sum(cells) - 1) < 0.01
        main = b.run("return document.querySelector('main').innerText")
        for word in ("residual", "LayerNorm (times γ, plus β)", "feed-forward"):
            assert word in main, word
        b.media("print")
        assert not b.shown("#picker")
        b.media(scheme="dark")
        self.shot("explain-dark")
        self.narrow()
        self.shot("explain-narrow")


def main():
    program = Path(sys.argv[1]).resolve()
    screenshots = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    try:
        browser = webdriver.Browser(WIDTH, HEIGHT)
    except webdriver.NotFound as missing:
        print(f"skipped: no {missing}")
        return 0
    failed = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            make_pages(program, folder)
            pages = Pages(browser, folder, screenshots)
            for test in sorted(name for name in dir(Pages) if name.startswith("test_")):
                browser.media()
                browser.resize(WIDTH, HEIGHT)
                try:
                    getattr(pages, test)()
                    complaints = browser.complaints(folder.as_uri())
                    assert not complaints, "\n".join(complaints)
                    print(f"ok {test}")
                except AssertionError:
                    failed.append(test)
                    print(f"FAILED {test}\n{traceback.format_exc()}")
    finally:
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
