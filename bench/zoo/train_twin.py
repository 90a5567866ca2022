"""Trains the PyTorch twin of a model on slot text or MultiSlot text and prints one JSON line.

    python3 bench/zoo/train_twin.py '{"model": "rank/fm", "train": DIR, "test": DIR, "hyper": {...}, "batch": 256, "epochs": 2, "rate": 0.001, "seed": 1,
                                      "threads": 1, "columns": null}'

Eager, batches in the order of the file, Adam for weights and SparseAdam for rows, as the models have. `columns` lists the slots of
MultiSlot text, `decay` [start of a weight's name, L2 penalty].
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

    def __init__(self, lines, vocabulary, columns=None):
        sparse, values = {}, {}
        for line in lines:
            for slot, found in (multislot(line, columns) if columns else slots(line)).items():
                if slot.isdigit() or slot.startswith(("field_", "hist")):
                    sparse.setdefault(slot, []).append([vocabulary.setdefault(sign, len(vocabulary)) for sign in found])
                else:
                    values.setdefault(slot, []).append([float(value) for value in found])
        self.values = {slot: torch.tensor(rows) for slot, rows in values.items()}
        self.sparse = {slot: padded(rows) for slot, rows in sparse.items()}
        self.size = len(next(iter(self.values.values())))

    def batches(self, size):
        for at in range(0, self.size, size):
            cut = slice(at, at + size)
            yield Batch({slot: (ids[cut], mask[cut]) for slot, (ids, mask) in self.sparse.items()}, {slot: rows[cut] for slot, rows in self.values.items()})


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
            for name, both in net(scope, batch, hyper)[1].items():
                parts.setdefault(name, []).append(both)
    scope.training = True
    joined = {name: [torch.cat(list(column)).flatten().double().numpy() for column in zip(*pairs)] for name, pairs in parts.items()}
    return {name: auc(score, label) for name, (score, label) in joined.items()}


def main(job):
    torch.set_num_threads(job["threads"])
    torch.manual_seed(job["seed"])
    net, hyper, vocabulary = TWINS[job["model"]], job["hyper"], {"0": 0}
    train = Columns(lines_of(job["train"]), vocabulary, job.get("columns"))
    test = Columns(lines_of(job["test"]), vocabulary, job.get("columns"))
    scope = Scope(len(vocabulary))
    net(scope, next(train.batches(job["batch"])), hyper)
    decay = lambda name: next((value for start, value in job.get("decay", []) if name.startswith(start) and name.endswith("weight")), 0)
    optimizers = [torch.optim.Adam([{"params": [weight], "weight_decay": decay(name)} for name, weight in scope.weights.items()], lr=job["rate"])]
    if scope.tables:
        optimizers.append(torch.optim.SparseAdam(list(scope.tables.values()), lr=job["rate"]))
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
    print(json.dumps({"metrics": evaluate(net, scope, test, job["batch"], hyper), "samples": samples, "seconds": seconds, "cpu": cpu, "weights": weights}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
