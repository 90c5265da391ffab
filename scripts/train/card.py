"""MODEL.md of a release, from its scores: no number in it is written by hand."""
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
          ("Banking77 nearest neighbour, asked and indexed by itself", "retrieval within"),
          ("Banking77 nearest neighbour, asked by it, indexed by the teacher", "retrieval across")]


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
    add("A small encoder of English sentences for `mha-cli`: d_model 512, 8 heads of 64, 4 layers (pre-norm), feed-forward 1024, sinusoidal")
    add("positions up to 512, 16,000 WordPieces without special tokens, word table 256 wide and projected to 512; 12.8 million parameters, int8 with a")
    add("scale a row. The mean of its token states, through one 512 → 384 layer, is a sentence vector **in the space of all-MiniLM-L6-v2**: an index made")
    add("with the big model can be asked with this one. Five of its heads have jobs, listed below; the others are free.\n")
    add("**For**: learning and showing what attention does; similarity, search and clustering of English sentences and short paragraphs; a fast stand-in for")
    add("its teacher. **Not for**: other languages, code, decisions about people, facts (it is no language model), or parsing where a real parser is needed.")
    add("It sees lower-cased text without accents. What its teacher and its texts (old books, captions, forums, manuals) take for granted about people, it does too.\n")
    if args.notes:
        add(args.notes.read_text().strip() + "\n")
    add("## Scores\n")
    add("Ours from the exported int8 files, the teacher by the same code in the same run. Everything here was measured on data that was never trained on")
    add("(STS-B train neither); STS-B dev and the treebank's development part were looked at while training, the others were not.\n")
    add("| | contextual-512 | all-MiniLM-L6-v2 |\n| --- | --- | --- |")
    for title, key in SCORES:
        add(f"| {title} | {ours[key]:.1f} | {teacher[key]:.1f} |" if key in teacher else f"| {title} | {ours[key]:.1f} | (itself: {teacher['retrieval within']:.1f}) |")
    add("\n    scripts/train/evaluate.py --data DATA --teacher TEACHER --work WORK models/contextual-512 --with-teacher\n")
    add("## Heads\n")
    add("Percent right on the development part of the English Web Treebank, words joined from pieces (weights summed over key pieces, averaged over query pieces,")
    add("the greatest among the other words wins); layers and heads count from 0. `mha-cli heads --conllu en_ewt-ud-dev.conllu` measures the same.\n")
    add("| job | layer | head | what it does | right | aim |\n| --- | --- | --- | --- | --- | --- |")
    for job, (layer, head, _) in JOBS.items():
        what, key, aim = USED[job]
        add(f"| {job} | {layer} | {head} | {what} | {ours['heads'][key]:.1f} % | {aim} |")
    h = ours["heads"]
    add(f"\nSyntactician: without punctuation; {h['attachment_with_punct']:.1f} % with it, {h['relative_clause']:.1f} % of relative clauses (verb → noun). Role: of all nsubj.")
    add(f"Descriptor: nouns with an amod child, any of its adjectives; {h['descriptor_by_pair']:.1f} % of noun–adjective pairs. A word without a role or a descriptor is")
    add("taught, weakly, to look at itself.\n")
    add("| sentence | head | attention |\n| --- | --- | --- |")
    for claim in ours["claims"]:
        add(f"| {claim['text']} | {claim['job']}: {claim['from']} → {claim['to']} | {100 * claim['weight']:.0f} % |")
    price = args.release / "price.json"
    if price.exists():
        add("\n" + json.loads(price.read_text())["text"])
    add("\n## Training\n")
    add("Distilled from all-MiniLM-L6-v2 by `scripts/train/run`: sentence vectors (1 − cosine), the matrix of similarities within a batch, and the teacher's token")
    add("states; the word table begins as a static distillation of the teacher. Batches are rows of 64 tokens packed with sentences; one in forty is rows of 512 packed with")
    add("texts joined from neighbouring lines. The five heads are taught from the treebank's training part and from silver trees: the teacher, fine-tuned as a parser on the")
    add("same treebank, parses every line; arcs it is not sure of are left out, relative clauses count three times. AdamW, 4096 tokens a step, constant learning")
    add("rate 1e-3 and then a branch to zero.\n")
    add("![loss and scores](curve.png)\n")
    add("Make it again (two cores, a night, about 10 GB; DATA holds `sentences.txt.gz`, `sentences.sources.tsv`, `probe/`, `eval/`):\n")
    add("    scripts/train/run --data DATA --teacher all-MiniLM-L6-v2 --work WORK --hours 7\n")
    add("The same command goes on after any interruption, and adds another night to the last; `scripts/train/status WORK` shows how it stands,")
    add("`scripts/train/pause WORK` and `resume` stop it while something is measured. Without the checkpoints, go on from these very weights with")
    add("`scripts/train/train.py … --run WORK/main --from models/contextual-512`. `scripts/train/release` makes a release of the training as it stands.")
    add("Runs are seeded, but two processes share the work by the clock of the machine: the numbers come out alike, not the bits.\n")
    add("## Data and licences\n")
    add("Weights: **CC BY-SA 4.0**, because the treebank (Universal Dependencies English Web Treebank, CC BY-SA 4.0) asks for it; the attributions below go with them.")
    add("Teacher: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0; the vocabulary is a part of bert-base-uncased's, Apache-2.0.\n")
    add("| texts | lines | licence | origin |\n| --- | --- | --- | --- |")
    for row in (args.data / "sentences.sources.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, first, last, licence, origin = row.split("\t")
        add(f"| {name} | {int(last) - int(first) + 1:,} | {licence} | {origin.replace('*', chr(92) + '*')} |")
    add("\n## Files\n")
    add("| file | bytes | sha256 |\n| --- | --- | --- |")
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".safetensors"):
            add(f"| {file.relative_to(folder)} | {file.stat().st_size:,} | `{hashlib.sha256(file.read_bytes()).hexdigest()}` |")
    add("\nThe layout of `model.safetensors` is written down in `scripts/train/export.py`.")
    (folder / "MODEL.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    log("wrote", folder / "MODEL.md")


if __name__ == "__main__":
    main()
