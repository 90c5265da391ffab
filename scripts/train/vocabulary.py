"""Stage 1: cut the teacher's vocabulary to its most frequent pieces in the corpus and add a few whole words.

Writes WORK/tokenizer.json (the student's tokenizer) and WORK/vocabulary.json: for each student piece
the list of teacher ids it stands for (one, or several for an added word).
"""
import json
import re
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from common import arguments, corpus_lines, log, write_json


def main():
    parser = arguments(__doc__)
    parser.add_argument("--pieces", type=int, default=16000)
    args = parser.parse_args()
    lines = corpus_lines(args.data)
    teacher = Tokenizer.from_file(str(args.teacher / "tokenizer.json"))
    teacher.no_padding()
    teacher.no_truncation()
    vocabulary = teacher.get_vocab()
    name = {number: piece for piece, number in vocabulary.items()}
    count = np.zeros(len(name), np.int64)
    for begin in range(0, len(lines), 20000):
        for encoding in teacher.encode_batch_fast(lines[begin:begin + 20000], add_special_tokens=False):
            np.add.at(count, encoding.ids, 1)
    log("pieces in the corpus", int(count.sum()), "distinct", int((count > 0).sum()))

    words = re.findall(r"[a-z]+", Path(__file__).with_name("whole_words.txt").read_text())
    added = [word for word in words if word not in vocabulary]
    must = {vocabulary["[PAD]"], vocabulary["[UNK]"]} | {vocabulary[word] for word in words if word in vocabulary}
    for piece, number in vocabulary.items():       # every single character that occurs, or is ASCII
        bare = piece[2:] if piece.startswith("##") else piece
        if len(bare) == 1 and (count[number] or ord(bare) < 128):
            must.add(number)
    special = set(re.findall(r"\[[A-Z]+\]", " ".join(vocabulary)))
    rest = [int(number) for number in np.argsort(-count, kind="stable") if number not in must and count[number]
            and not name[number].startswith("[unused") and name[number] not in special]
    room = args.pieces - len(must) - len(added)
    kept = sorted(must | set(rest[:room]))
    log("kept", len(kept), "added", added, "coverage", round(count[kept].sum() / count.sum(), 5),
        "rarest seen", int(count[rest[room - 1]]))

    student = json.loads((args.teacher / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = {name[number]: k for k, number in enumerate(kept)}
    stands_for = [[number] for number in kept]
    for word in added:
        pieces[word] = len(pieces)
        stands_for.append(teacher.encode(word, add_special_tokens=False).ids)
    student["model"]["vocab"] = pieces
    student.update(post_processor=None, padding=None, truncation=None)
    student["added_tokens"] = [dict(token, id=pieces[token["content"]]) for token in student["added_tokens"]
                               if token["content"] in pieces]
    args.work.mkdir(parents=True, exist_ok=True)
    write_json(args.work / "vocabulary.json", {"teacher_ids": stands_for, "rare_count": int(count[rest[room - 1]])})
    (args.work / "tokenizer.json").write_text(json.dumps(student, ensure_ascii=False), encoding="utf-8")
    check = Tokenizer.from_file(str(args.work / "tokenizer.json"))
    log(check.get_vocab_size(), check.encode("I led a team that built a scalable API.").tokens)


if __name__ == "__main__":
    main()
