"""The student: a pre-norm nn.TransformerEncoder with factorised embeddings, written out so that attention
probabilities can be supervised, and the loss that trains it."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from common import EMBEDDING, FEED_FORWARD, HEADS, LAYERS, TEACHER_WIDTH, WIDTH, positions

# The supervised heads: name -> (layer, head, weight in the loss). Everything counts from 0.
JOBS = {"syntactician": (3, 0, 2.0), "role": (2, 1, 1.0), "descriptor": (2, 2, 1.0),
        "previous": (1, 3, 0.5), "next": (1, 4, 0.5)}
EMBEDDING_SCALE = 16.0         # embedding rows have norm 1 at the start; folded into the weights on export


class Layer(nn.Module):
    """One encoder layer; gives back the attention probabilities as well."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.linear1, self.linear2 = nn.Linear(WIDTH, FEED_FORWARD), nn.Linear(FEED_FORWARD, WIDTH)
        nn.init.xavier_uniform_(self.qkv.weight)
        for linear in (self.qkv, self.out, self.linear1, self.linear2):
            nn.init.zeros_(linear.bias)
        for linear in (self.out, self.linear2):
            linear.weight.data *= (2 * LAYERS) ** -0.5

    def forward(self, x, mask):
        rows, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        probabilities = (scores + mask).softmax(-1)
        mixed = (probabilities.to(v.dtype) @ v).transpose(1, 2).reshape(rows, length, WIDTH)
        x = x + self.out(mixed)
        x = x + self.linear2(F.gelu(self.linear1(self.norm2(x))))
        return x, probabilities


class Student(nn.Module):
    """Token states, and the map from their mean into the teacher's space."""

    def __init__(self, pieces):
        super().__init__()
        self.embedding = nn.Embedding(pieces, EMBEDDING)
        self.embedding_projection = nn.Linear(EMBEDDING, WIDTH, bias=False)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.dense = nn.Linear(WIDTH, TEACHER_WIDTH)
        self.register_buffer("position_table", torch.from_numpy(positions()), persistent=False)

    def forward(self, ids, place, segment):
        """ids, place (position inside its text) and segment (0 = padding, else the text's number in this row), all [R, T]."""
        x = self.embedding_projection(self.embedding(ids)) * EMBEDDING_SCALE + self.position_table[place]
        mask = torch.where(segment[:, None, :, None] == segment[:, None, None, :], 0.0, -1e4)
        probabilities = []
        for layer in self.layers:
            x, p = layer(x, mask)
            probabilities.append(p)
        return self.norm(x), probabilities


def means(states, segment, groups):
    """Mean of the states of each text: [R, groups, width]; texts are numbered from 1."""
    member = (segment[:, None, :] == torch.arange(1, groups + 1)[None, :, None]).float()
    return (member @ states.float()) / member.sum(-1, keepdim=True).clamp(min=1)


def head_losses(probabilities, word, target, weight):
    """For each job, the mean of -log(attention paid to the pieces of the target word). A token is a query when its
    weight is not 0; negative weights mark the weak "itself" of words without a target: they count, but not in the mean."""
    losses = []
    for k, (layer, head, _) in enumerate(JOBS.values()):
        paid = (probabilities[layer][:, head] * (target[..., k, None] == word[:, None, :])).float().sum(-1)
        nll = -(paid + 1e-6).log()
        w = weight[..., k]
        losses.append((nll * w.abs()).sum() / w.clamp(min=0).sum().clamp(min=1.0))
    return torch.stack(losses)


def losses(model, batch, with_heads=True):
    """-> tensor [4 + jobs]: total without heads, 1 - cosine, similarity, token states, then the heads."""
    states, probabilities = model(batch["ids"], batch["place"], batch["segment"])
    present, wanted = batch["present"], batch["vector"].float()
    groups = present.shape[1]
    mapped = F.normalize(model.dense(means(states, batch["segment"], groups)).float(), dim=-1)
    count = present.sum().clamp(min=1.0)
    cosine = ((1 - (mapped * wanted).sum(-1)) * present).sum() / count
    mine, theirs = mapped.flatten(0, 1), wanted.flatten(0, 1)
    both = present.flatten()[:, None] * present.flatten()[None, :]
    similarity = ((mine @ mine.T - theirs @ theirs.T) ** 2 * both).sum() / both.sum().clamp(min=1.0)
    if "state" in batch:
        theirs = batch["state"].float() * batch["state_scale"]
        known = batch["known"].float()
        error = ((model.dense(states).float() - theirs) ** 2).sum(-1)
        tokens = (error * known).sum() / ((theirs ** 2).sum(-1) * known).sum().clamp(min=1.0)
    else:
        tokens = torch.zeros(())
    total = cosine + 10 * similarity + tokens
    parts = [total, cosine, similarity, tokens]
    if with_heads:
        heads = head_losses(probabilities, batch["word"], batch["target"], batch["weight"])
        return torch.cat([torch.stack(parts), heads])
    return torch.stack(parts + [torch.zeros(())] * len(JOBS))
