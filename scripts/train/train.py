"""Stage 4: the training itself, by several processes of one thread that share the parameters.

The learning rate warms up and then stays constant. A release is a branch that takes it to zero (--decay-steps, from any
checkpoint, into another folder), or the running mean of the weights, which every checkpoint has too. So the training has no
planned end. Stop it at any time: SIGTERM writes a checkpoint and ends, SIGSTOP and SIGCONT pause it, SIGKILL loses at most
--every seconds. Start it again with the same command, or continue from a checkpoint or an exported model folder (--from).

Writes into RUN: checkpoint.pt, stream-N.pt, log.tsv, evaluations.jsonl, pid.
"""
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.multiprocessing as mp

from common import arguments, log, step_back, write_json
from data import Stream
from evaluate import Evaluation, StudentRunner
from model import JOBS, Student, losses

BETAS, EPSILON, DECAY, CLIP = (0.9, 0.98), 1e-8, 0.01, 1.0
AVERAGE_EVERY, AVERAGE_KEEP = 8, 0.98      # a running mean over the last 400 steps or so: good weights at any time


def flatten(model):
    """[(name, parameter)] with those that decay first, and how many numbers decay."""
    named = list(model.named_parameters())
    decays = [(n, p) for n, p in named if p.ndim == 2 and n != "embedding.weight"]
    others = [(n, p) for n, p in named if not (p.ndim == 2 and n != "embedding.weight")]
    return decays + others, sum(p.numel() for _, p in decays)


def attach(model, flat, gradient):
    """Make the parameters views of `flat`, and their gradients views of `gradient`."""
    at = 0
    for _, parameter in flatten(model)[0]:
        size = parameter.numel()
        parameter.data = flat[at:at + size].view(parameter.shape)
        parameter.grad = gradient[at:at + size].view(parameter.shape)
        at += size


def names_and_views(model, flat):
    out, at = {}, 0
    for name, parameter in flatten(model)[0]:
        out[name] = flat[at:at + parameter.numel()].view(parameter.shape)
        at += parameter.numel()
    return out


class Shared:
    """State that all workers share."""

    def __init__(self, size, workers):
        self.flat, self.first, self.second, self.average = (torch.zeros(size).share_memory_() for _ in range(4))
        self.gradients = torch.zeros(workers, size).share_memory_()
        self.squares = torch.zeros(workers, dtype=torch.float64).share_memory_()
        self.parts = torch.zeros(workers, 6 + len(JOBS), dtype=torch.float64).share_memory_()
        self.numbers = torch.zeros(4, dtype=torch.float64).share_memory_()   # step, tokens, seconds of training, stop


def schedule(args, step):
    """Learning rate and weight of the heads at a step."""
    rate = args.rate * min(1.0, (step - args.warm_from + 1) / args.warm_up)
    if args.decay_steps:
        left = 1 - (step - args.decay_from) / args.decay_steps
        rate *= max(0.0, left)
    return rate, args.heads * min(1.0, max(0.0, (step - args.ramp[0]) / (args.ramp[1] - args.ramp[0])))


def work(rank, args, pieces, shared, barrier):
    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)          # the parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    model = Student(pieces)
    gradient = shared.gradients[rank]
    attach(model, shared.flat, gradient)
    decaying = flatten(model)[1]
    size, workers = len(shared.flat), args.workers
    begin, end = size * rank // workers, size * (rank + 1) // workers
    pieces_of_shard = [(a, b, d) for a, b, d in ((begin, min(end, decaying), DECAY), (max(begin, decaying), end, 0.0)) if a < b]
    groups = []
    for a, b, d in pieces_of_shard:
        parameter = torch.nn.Parameter(shared.flat[a:b])
        parameter.grad = torch.empty(b - a)
        groups.append(dict(params=[parameter], weight_decay=d))
    optimiser = torch.optim.AdamW(groups, lr=args.rate, betas=BETAS, eps=EPSILON, fused=True)
    for group, (a, b, _) in zip(optimiser.param_groups, pieces_of_shard):
        optimiser.state[group["params"][0]] = {"step": torch.tensor(float(args.optimiser_steps)),
                                               "exp_avg": shared.first[a:b], "exp_avg_sq": shared.second[a:b]}
    stream_file = args.run / f"stream-{rank}.pt"
    stream = Stream(args.work, rank, workers, args.seed,
                    torch.load(stream_file, weights_only=False) if stream_file.exists() else None)
    evaluation = Evaluation(args.data, args.work / "tokenizer.json") if rank == 0 and args.evaluate_every else None
    step, saved, evaluated, logged = int(shared.numbers[0]), time.time(), int(shared.numbers[0]), time.time()
    sums, tokens_logged, seconds_logged = np.zeros(6 + len(JOBS)), float(shared.numbers[1]), float(shared.numbers[2])
    tick = time.time()
    while True:
        rate, heads = schedule(args, step)
        batch = next(stream)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            parts = losses(model, batch, args.heads > 0)
            loss = parts[0]
            if heads:
                loss = loss + heads * sum(w * part for (_, _, w), part in zip(JOBS.values(), parts[4:]))
        loss.backward()
        shared.parts[rank, :-2] = parts.detach().double()
        shared.parts[rank, -2] = float((batch["segment"] > 0).sum())
        barrier.wait()
        total = shared.gradients[:, begin:end].sum(0) / workers
        shared.gradients[:, begin:end] = 0
        shared.squares[rank] = float(total.square().sum())
        barrier.wait()
        norm = float(shared.squares.sum()) ** 0.5
        total *= min(1.0, CLIP / (norm + 1e-6)) if np.isfinite(norm) else 0.0
        for group, (a, b, _) in zip(optimiser.param_groups, pieces_of_shard):
            group["lr"] = rate
            group["params"][0].grad.copy_(total[a - begin:b - begin])
        optimiser.step()
        step += 1
        if step % AVERAGE_EVERY == 0:
            keep = min(AVERAGE_KEEP, step / (step + 10 * AVERAGE_EVERY))
            shared.average[begin:end].lerp_(shared.flat[begin:end], 1 - keep)
        if rank == 0:
            now = time.time()
            shared.numbers[0] = step
            shared.numbers[1] += float(shared.parts[:, -2].sum())
            shared.numbers[2] += min(now - tick, 20.0)     # a pause is not training
            tick = now
            if args.decay_steps and step - args.decay_from >= args.decay_steps:
                shared.numbers[3] = 2
            row = shared.parts.mean(0).numpy()
            sums[:-1] += row[:-1]
            sums[-1] += norm
        barrier.wait()
        stop = int(shared.numbers[3])
        if rank == 0 and step % args.log_every == 0:
            speed = (float(shared.numbers[1]) - tokens_logged) / max(1e-9, float(shared.numbers[2]) - seconds_logged)
            tokens_logged, seconds_logged = float(shared.numbers[1]), float(shared.numbers[2])
            mean = sums / args.log_every
            sums[:] = 0
            write_log(args, step, shared, rate, heads, speed, mean)
        due = time.time() - saved > args.every
        if rank == 0 and (due or stop):
            save(args, model, shared, step)
            saved = time.time()
        elif due or stop:
            saved = time.time()
        if due or stop:
            temporary = stream_file.with_suffix(f".{rank}.new")
            torch.save(stream.state(), temporary)
            os.replace(temporary, stream_file)
        if evaluation and (step - evaluated >= args.evaluate_every or stop):
            evaluated = step
            averaged = Student(pieces)
            for name, view in names_and_views(averaged, shared.flat if args.decay_steps else shared.average).items():
                averaged.get_parameter(name).data = view
            runner = StudentRunner(averaged, evaluation.tokenizer)
            result = dict(step=step, tokens=int(shared.numbers[1]), seconds=int(shared.numbers[2]), time=int(time.time()),
                          rate=rate, **evaluation.quick(runner, args.heads > 0))
            with open(args.run / "evaluations.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            log(json.dumps(result))
            tick = time.time()
        if stop:
            return


def write_log(args, step, shared, rate, heads, speed, mean):
    path = args.run / "log.tsv"
    names = ["time", "step", "tokens", "seconds", "tokens_s", "rate", "heads", "loss", "cosine", "similarity", "states",
             *JOBS, "batch_tokens", "norm"]
    if not path.exists():
        path.write_text("\t".join(names) + "\n")
    values = [int(time.time()), step, int(shared.numbers[1]), int(shared.numbers[2]), int(speed), f"{rate:.2e}", f"{heads:.3f}",
              *(f"{v:.4f}" for v in mean)]
    with open(path, "a", encoding="utf-8") as file:
        file.write("\t".join(map(str, values)) + "\n")


def save(args, model, shared, step):
    """One file, replaced at once; the one before is kept as checkpoint.old.pt."""
    path = args.run / "checkpoint.pt"
    temporary = args.run / "checkpoint.new"
    torch.save({"model": {n: v.clone() for n, v in names_and_views(model, shared.flat).items()},
                "average": {n: v.clone() for n, v in names_and_views(model, shared.average).items()},
                "first": shared.first.clone(), "second": shared.second.clone(), "numbers": shared.numbers.clone(),
                "decay_from": args.decay_from, "decay_steps": args.decay_steps}, temporary)
    if path.exists():
        os.replace(path, args.run / "checkpoint.old.pt")
    os.replace(temporary, path)


def restore(args, model, shared):
    """Continue the run, or begin from another checkpoint, an exported model, or the static word table."""
    views = names_and_views(model, shared.flat)
    own = args.run / "checkpoint.pt"
    if not own.exists() and (args.run / "checkpoint.old.pt").exists():
        own = args.run / "checkpoint.old.pt"
    origin = own if own.exists() else args.begin
    if origin and origin.is_dir():
        from export import read_model
        for name, value in read_model(origin).items():
            views[name].copy_(value)
        shared.average.copy_(shared.flat)
        shared.numbers[0] = args.warm_from = args.ramp[1]      # its heads have their jobs already
        log("begins from the exported", origin)
    elif origin:
        saved = torch.load(origin, weights_only=True)
        averages = names_and_views(model, shared.average)
        for name, value in saved["model"].items():
            views[name].copy_(value)
            averages[name].copy_(saved.get("average", saved["model"])[name])
        shared.first.copy_(saved["first"])
        shared.second.copy_(saved["second"])
        shared.numbers.copy_(saved["numbers"])
        shared.numbers[3] = 0
        log("continues from", origin, "at step", int(shared.numbers[0]))
        if origin == own and args.decay_steps:
            args.decay_from = saved["decay_from"]
            return
    else:
        for name, value in torch.load(args.work / "words.pt", weights_only=True).items():
            views[name].copy_(value)
        log("begins from the distilled word table")
        shared.average.copy_(shared.flat)
    args.decay_from = int(shared.numbers[0])


def main():
    parser = arguments(__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--from", dest="begin", type=Path, help="checkpoint or exported model to begin from")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warm-up", type=int, default=150)
    parser.add_argument("--heads", type=float, default=0.15, help="weight of the supervised heads; 0 leaves them free")
    parser.add_argument("--ramp", type=int, nargs=2, default=(200, 1000), help="steps between which that weight grows from 0")
    parser.add_argument("--decay-steps", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps of this run (0: never)")
    parser.add_argument("--every", type=int, default=240, help="seconds between checkpoints")
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--evaluate-every", type=int, default=500, help="steps; 0: never")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.warm_from = 0
    args.run.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    step_back(args.run.parent, args.run.name)
    pieces = len(json.loads((args.work / "vocabulary.json").read_text())["teacher_ids"])
    model = Student(pieces)
    ordered, _ = flatten(model)
    shared = Shared(sum(p.numel() for _, p in ordered), args.workers)
    for name, view in names_and_views(model, shared.flat).items():
        view.copy_(dict(ordered)[name].data)
    restore(args, model, shared)
    args.optimiser_steps = int(shared.numbers[0]) - args.warm_from
    write_json(args.run / "options.json", {k: str(v) for k, v in vars(args).items()})
    context = mp.get_context("fork")
    barrier = context.Barrier(args.workers)
    children = [context.Process(target=work, args=(r, args, pieces, shared, barrier)) for r in range(args.workers)]
    for child in children:
        child.start()
    (args.run / "pid").write_text(" ".join(str(p) for p in [os.getpid(), *(c.pid for c in children)]) + "\n")

    def leave(*_):
        shared.numbers[3] = 1

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    first = int(shared.numbers[0])
    log("parameters", len(shared.flat), "step", first)
    while any(c.is_alive() for c in children):
        if any(c.exitcode not in (None, 0) for c in children):
            for c in children:
                c.kill()
            sys.exit("a worker failed; start again to go on from the last checkpoint")
        if args.steps and int(shared.numbers[0]) - first >= args.steps:
            shared.numbers[3] = 1
        time.sleep(0.5)
    log("done at step", int(shared.numbers[0]))


if __name__ == "__main__":
    main()
