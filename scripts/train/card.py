"""Writes MODEL.md of a release from its scores; no number is written by hand."""
import hashlib
import json
from pathlib import Path

from common import arguments, log
from model import JOBS

USED = {"syntactician": ("a word → its syntactic head (the root → itself)", "attachment", "≥ 78"),
        "role": ("a subject → its predicate: She → leader, I → led, that → built", "role", "≥ 91"),
        "descriptor": ("a noun, or the subject of a description → the adjective: She → great, API → scalable", "descriptor", "≥ 91"),
        "previous": ("a word → the word before it", "previous", "≥ 97"),
        "next": ("a word → the word after it", "next", "≥ 95")}

SCORES = [("STS-B dev, Spearman × 100", "stsb.dev"), ("STS12", "sts12"), ("STS14", "sts14"), ("STS15", "sts15"),
          ("STS12/14/15 mean", "sts12/14/15 mean"), ("SST-2 dev, logistic regression, 5 folds", "sst2"),
          ("TREC test, logistic regression", "trec"), ("Banking77 test, logistic regression", "banking77"),
          ("Banking77 nearest neighbour, queries and index by the same model", "retrieval within"),
          ("Banking77 nearest neighbour, queries by this model, index by the teacher", "retrieval across")]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--release", type=Path, required=True, help="folder with contextual-512/ and scores.json")
    parser.add_argument("--notes", type=Path, help="a text about this very release: how long it was trained, known failures")
    args = parser.parse_args()
    folder = args.release / "contextual-512"
    scores = json.loads((args.release / "scores.json").read_text())
    teacher = scores["teacher"]
    ours = next(v for k, v in scores.items() if k != "teacher")
    lines = []
    add = lines.append
    add("# contextual-512\n")
    add("A small encoder of English sentences for `mha-cli`. The mean of its token vectors, through one 512 → 384 layer, is a sentence vector")
    add("**in the space of all-MiniLM-L6-v2**: an index made with that model can be searched with this one. Five of its heads have a job, listed below;")
    add("the others are free.")
    add("")
    add("| d_model | heads | layers | feed-forward | positions | vocabulary | parameters | number type |")
    add("| --- | --- | --- | --- | --- | --- | --- | --- |")
    add("| 512 | 8 of 64 | 4, pre-norm | 1024 | sinusoidal, up to 512 | 16,000 WordPieces, no special tokens; table 256 wide, projected to 512 | 12.8 million | int8, one scale per row |\n")
    add("**Use it** to learn and show what attention does; for similarity, search and clustering of English sentences and short paragraphs; as a fast stand-in")
    add("for its teacher. **Do not use it** for other languages, code, decisions about people, facts (it is not a language model), or real parsing.")
    add("It sees lower-cased text without accents. It repeats what its teacher and its texts (old books, captions, forums, manuals) take for granted about people.\n")
    if args.notes:
        add(args.notes.read_text().strip() + "\n")
    add("## Scores\n")
    add("Our scores come from the exported int8 files; the same code scored the teacher in the same run. None of this data was used for training,")
    add("STS-B train included. STS-B dev and the treebank's development part were looked at during training; the others were not.\n")
    add("| | contextual-512 | all-MiniLM-L6-v2 |\n| --- | --- | --- |")
    for title, key in SCORES:
        add(f"| {title} | {ours[key]:.1f} | {teacher[key]:.1f} |" if key in teacher else f"| {title} | {ours[key]:.1f} | (itself: {teacher['retrieval within']:.1f}) |")
    add("\n    scripts/train/evaluate.py --data DATA --teacher TEACHER --work WORK models/contextual-512 --with-teacher\n")
    add("## Heads\n")
    add("Percent right on the development part of the English Web Treebank. Pieces are joined to words: weights are summed over key pieces and averaged over")
    add("query pieces, and the other word with the greatest weight is the prediction. Layers and heads count from 0. `mha-cli heads --conllu en_ewt-ud-dev.conllu` measures the same.\n")
    add("| job | layer | head | what it does | right | aim |\n| --- | --- | --- | --- | --- | --- |")
    for job, (layer, head, _) in JOBS.items():
        what, key, aim = USED[job]
        add(f"| {job} | {layer} | {head} | {what} | {ours['heads'][key]:.1f} % | {aim} |")
    h = ours["heads"]
    add(f"\nSyntactician: without punctuation; {h['attachment_with_punct']:.1f} % with it, {h['relative_clause']:.1f} % of relative clauses (verb → noun). Role: of all nsubj.")
    add(f"Descriptor: nouns with an amod child, any of its adjectives; {h['descriptor_by_pair']:.1f} % of noun–adjective pairs. A word without a role or a")
    add("descriptor learns, weakly, to attend to itself.\n")
    add("| sentence | head | attention |\n| --- | --- | --- |")
    for claim in ours["claims"]:
        add(f"| {claim['text']} | {claim['job']}: {claim['from']} → {claim['to']} | {100 * claim['weight']:.0f} % |")
    price = args.release / "price.json"
    if price.exists():
        add("\n" + json.loads(price.read_text())["text"])
    add("\n## Training\n")
    add("`scripts/train/run` distils all-MiniLM-L6-v2: its sentence vectors (1 − cosine), the matrix of similarities within a batch, and its token vectors.")
    add("The word table begins as a static distillation of the teacher. A batch is rows of 64 tokens, packed with sentences; one batch in forty is rows of 512,")
    add("packed with neighbouring lines joined to texts. The five heads learn from the treebank's training part and from silver trees: the teacher, fine-tuned as")
    add("a parser on the same treebank, parses every line. Uncertain arcs are left out, and relative clauses count three times. The optimiser is AdamW")
    add("with 4,096 tokens per step and a constant learning rate of 1e-3, followed by a branch to zero.\n")
    add("![loss and scores](curve.png)\n")
    add("To make it again (two cores, one night, about 10 GB; DATA holds `sentences.txt.gz`, `sentences.sources.tsv`, `probe/` and `eval/`):\n")
    add("    scripts/train/run --data DATA --teacher all-MiniLM-L6-v2 --work WORK --hours 7\n")
    add("The same command continues after an interruption, and adds another night to the last one. `scripts/train/status WORK` shows its state;")
    add("`scripts/train/pause WORK` and `scripts/train/resume WORK` stop and continue it. Without the checkpoints, continue from these weights with")
    add("`scripts/train/train.py … --run WORK/main --from models/contextual-512`. `scripts/train/release` makes a release of the current state.")
    add("Runs are seeded, but two processes share the work by the machine's clock, so the numbers are alike and the bits are not.\n")
    add("## Data and licences\n")
    add("Weights: **CC BY-SA 4.0**, because the treebank (Universal Dependencies English Web Treebank, CC BY-SA 4.0) requires it. Keep the attributions below.")
    add("Teacher: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0. The vocabulary is part of that of bert-base-uncased, Apache-2.0.\n")
    add("| texts | lines | licence | origin |\n| --- | --- | --- | --- |")
    for row in (args.data / "sentences.sources.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, first, last, licence, origin = row.split("\t")
        add(f"| {name} | {int(last) - int(first) + 1:,} | {licence} | {origin.replace('*', chr(92) + '*')} |")
    add("\n## Files\n")
    add("| file | bytes | sha256 |\n| --- | --- | --- |")
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".safetensors"):
            add(f"| {file.relative_to(folder)} | {file.stat().st_size:,} | `{hashlib.sha256(file.read_bytes()).hexdigest()}` |")
    add("\n`scripts/train/export.py` describes the layout of `model.safetensors`.")
    (folder / "MODEL.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    log("wrote", folder / "MODEL.md")


if __name__ == "__main__":
    main()
