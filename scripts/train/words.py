"""Stage 2b: the word table that the student begins with, distilled from the teacher without any text.

The teacher reads each piece alone; its mean state, centred, normalised, reduced to 256 numbers and weighted by
rarity is the piece's row. The 256 -> 512 projection begins orthonormal and the 512 -> 384 map as its inverse.
"""
import json

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoModel

from common import EMBEDDING, TEACHER_WIDTH, WIDTH, arguments, log


def main():
    args = arguments(__doc__).parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    teacher_ids = json.loads((args.work / "vocabulary.json").read_text())["teacher_ids"]
    teacher = AutoModel.from_pretrained(args.teacher).eval()
    rows = torch.zeros(len(teacher_ids), TEACHER_WIDTH)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        for length in sorted({len(i) for i in teacher_ids}):
            mine = torch.tensor([k for k, i in enumerate(teacher_ids) if len(i) == length])
            for part in mine.split(512):
                x = torch.tensor([[101, *teacher_ids[k], 102] for k in part])
                rows[part] = teacher(input_ids=x).last_hidden_state.float().mean(1)
    ids = np.load(args.work / "chunks" / "000" / "ids.npy")
    count = torch.tensor(np.bincount(ids, minlength=len(rows))).float()
    rarity = 1e-3 / (1e-3 + count / count.sum())
    rows = F.normalize(rows - rows.mean(0), dim=-1)
    _, _, directions = torch.linalg.svd(rows, full_matrices=False)
    table = rows @ directions[:EMBEDDING].T * rarity[:, None]
    table /= table.norm(dim=-1).mean()
    projection = torch.linalg.qr(torch.randn(WIDTH, WIDTH))[0][:, :EMBEDDING]
    torch.save({"embedding.weight": table, "embedding_projection.weight": projection.contiguous(),
                "dense.weight": (directions[:EMBEDDING].T @ projection.T * 0.3).contiguous()}, args.work / "words.pt")
    log("word table", tuple(table.shape))


if __name__ == "__main__":
    main()
