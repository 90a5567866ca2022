"""Trains the PyTorch twin of a model on slot text or MultiSlot text and prints a JSON line for each seed.

    python3 bench/zoo/train_twin.py '{"model": "rank/fm", "train": DIR, "test": DIR, "hyper": {...}, "batch": 256, "epochs": 2, "rate": 0.001, "seeds": [1],
                                      "threads": 1, "columns": null}'

Eager, batches in the order of the file, Adam for weights and SparseAdam for rows, as the models have, or `sgd`. `columns` lists the slots of
MultiSlot text, `sparse` slots of ids that are known by no other sign, `decay` [start of a weight's name, L2 penalty].
The rate counts training steps alone: reading and evaluation are not in it.
"""
import json
import pathlib
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "python"))
from twins import TWINS, Batch, Scope  # noqa: E402


def lines_of(folder):
    for path in sorted(pathlib.Path(folder).iterdir()):
        with open(path) as file:
            yield from file


class Columns:
    """Samples as columns: ids of a sparse slot padded, other slots as floats."""

    def __init__(self, lines, vocabulary, columns=None, named=()):
        sparse, values = {}, {}
        for line in lines:
            for slot, found in (multislot(line, columns) if columns else slots(line)).items():
                if slot.isdigit() or slot.startswith("field_") or slot in named:
                    sparse.setdefault(slot, []).append([vocabulary.setdefault(sign, len(vocabulary)) for sign in found])
                else:
                    values.setdefault(slot, []).append([float(value) for value in found])
        self.values = {slot: torch.tensor(rows) for slot, rows in values.items()}
        self.sparse = {slot: padded(rows) for slot, rows in sparse.items()}
        self.size = max(len(rows) for rows in [*self.values.values(), *(ids for ids, _ in self.sparse.values())])

    def batches(self, size):
        for at in range(0, self.size, size):
            cut = slice(at, at + size)
            yield Batch({slot: trimmed(ids[cut], mask[cut]) for slot, (ids, mask) in self.sparse.items()}, {slot: rows[cut] for slot, rows in self.values.items()})


def slots(line):
    found = {}
    for item in line.split():
        slot, _, value = item.partition(":")
        found.setdefault(slot, []).append(value)
    return found


def multislot(line, columns):
    words, at, found = line.split(), 0, {}
    for slot in columns:
        count = int(words[at])
        found[slot] = words[at + 1 : at + 1 + count]
        at += 1 + count
    return found


def padded(rows):
    width = max(map(len, rows))
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def trimmed(ids, mask):
    """As long as the longest of the batch."""
    longest = int(mask.sum(1).max())
    return ids[:, :longest], mask[:, :longest]


def auc(score, label):
    """By ranks; equal scores share theirs."""
    values, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ones = label > 0.5
    positive, negative = ones.sum(), (~ones).sum()
    return float((ranks[ones].sum() - positive * (positive + 1) / 2) / (positive * negative))


def evaluate(net, scope, data, size, hyper):
    scope.training = False
    parts = {}
    with torch.no_grad():
        for batch in data.batches(size):
            for name, found in net(scope, batch, hyper)[1].items():
                parts.setdefault(name, []).append(found if isinstance(found, tuple) else (found,))
    scope.training = True
    joined = {name: [torch.cat(list(column)).flatten().double().numpy() for column in zip(*pairs)] for name, pairs in parts.items()}
    return {name: auc(*columns) if len(columns) == 2 else float(columns[0].mean()) for name, columns in joined.items()}


def main(job):
    """A line a seed; the samples are read once."""
    torch.set_num_threads(job["threads"])
    net, hyper, vocabulary = TWINS[job["model"]], job["hyper"], {"0": 0}
    train = Columns(lines_of(job["train"]), vocabulary, job.get("columns"), job.get("sparse", ()))
    test = Columns(lines_of(job["test"]), vocabulary, job.get("columns"), job.get("sparse", ()))
    for seed in job["seeds"]:
        print(json.dumps(run(job, net, hyper, train, test, len(vocabulary), seed)), flush=True)


def run(job, net, hyper, train, test, rows, seed):
    torch.manual_seed(seed)
    scope = Scope(rows)
    net(scope, next(train.batches(job["batch"])), hyper)
    decay = lambda name: next((value for start, value in job.get("decay", []) if name.startswith(start) and name.endswith("weight")), 0)
    groups, tables = [{"params": [weight], "weight_decay": decay(name)} for name, weight in scope.weights.items()], list(scope.tables.values())
    if job.get("sgd"):
        optimizers = [torch.optim.SGD(groups + [{"params": tables}], lr=job["rate"])]
    else:
        betas = (0.9, job.get("beta2", 0.999))
        optimizers = [torch.optim.Adam(groups, lr=job["rate"], betas=betas)]
        optimizers += [torch.optim.SparseAdam(tables, lr=job["rate"], betas=betas)] if tables else []
    seconds = cpu = 0.0
    for _ in range(job["epochs"]):
        started, used = time.perf_counter(), time.process_time()
        for batch in train.batches(job["batch"]):
            loss, _ = net(scope, batch, hyper)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        seconds += time.perf_counter() - started
        cpu += time.process_time() - used
    samples = train.size * job["epochs"]
    weights = sum(weight.numel() for weight in scope.weights.values())
    return {"seed": seed, "metrics": evaluate(net, scope, test, job["batch"], hyper), "samples": samples, "seconds": seconds, "cpu": cpu, "weights": weights}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
