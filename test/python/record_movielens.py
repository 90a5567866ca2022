"""Trains fm and deepfm with PyTorch on MovieLens-100k and records their test AUC, for test/models/movielens.test.ts.

    node examples/movielens/convert.mjs ML-100K-FOLDER OUT
    python test/python/record_movielens.py OUT          (needs torch; writes test/fixtures/movielens.json)

Same rows in the same order, same batches, initializers, optimizer (Adam, lazy for the tables) and epochs as the test.
"""
import hashlib
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

SLOTS, DENSE, DIM = 7, 2, 8
EPOCHS, BATCH, RATE = 6, 256, 0.001
LAYERS = {"fm": None, "deepfm": [64, 32]}
SEEDS = [1, 2, 3]


def read(path, numbers):
    """Labels, dense values, and rows of the tables as bags: one per sample and slot."""
    click, dense, ids, offsets = [], [], [], []
    for line in path.read_text().splitlines():
        values = {}
        for item in line.split():
            name, _, value = item.partition(":")
            values.setdefault(name, []).append(value)
        click.append(float(values["click"][0]))
        dense.append([float(value) for value in values["dense_feature"]])
        for slot in range(1, SLOTS + 1):
            offsets.append(len(ids))
            ids += [numbers.setdefault(sign, len(numbers)) for sign in values.get(str(slot), ["0"])]
    return torch.tensor(click), torch.tensor(dense), torch.tensor(ids), torch.tensor([*offsets, len(ids)])


def batches(data, size):
    click, dense, ids, offsets = data
    for first in range(0, len(click), size):
        last = min(first + size, len(click))
        bags = offsets[first * SLOTS : last * SLOTS + 1]
        yield click[first:last], dense[first:last], ids[bags[0] : bags[-1]], bags[:-1] - bags[0]


class Model(torch.nn.Module):
    def __init__(self, rows, layers):
        super().__init__()
        draw = lambda *shape: torch.nn.init.trunc_normal_(torch.empty(shape), std=0.1 / math.sqrt(DIM), a=-0.2 / math.sqrt(DIM), b=0.2 / math.sqrt(DIM))
        self.one = torch.nn.EmbeddingBag.from_pretrained(draw(rows, 1), freeze=False, mode="sum", sparse=True)
        self.vectors = torch.nn.EmbeddingBag.from_pretrained(draw(rows, DIM), freeze=False, mode="sum", sparse=True)
        self.dense_one = torch.nn.Parameter(draw(DENSE, 1))
        self.bias = torch.nn.Parameter(torch.zeros(1))
        self.dense_vectors = torch.nn.Parameter(draw(DENSE, DIM))
        sizes = [(SLOTS + DENSE) * DIM, *layers, 1] if layers else []
        self.deep = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for layer in self.deep:
            torch.nn.init.normal_(layer.weight, std=1 / math.sqrt(layer.in_features))
            torch.nn.init.zeros_(layer.bias)

    def forward(self, dense, ids, offsets):
        first = self.one(ids, offsets).view(-1, SLOTS).sum(1, keepdim=True) + dense @ self.dense_one + self.bias
        rows = self.vectors(ids, offsets).view(-1, SLOTS, DIM)
        vectors = torch.cat([rows, dense.unsqueeze(2) * self.dense_vectors], 1)
        pairs = (vectors.sum(1) ** 2 - (vectors**2).sum(1)).sum(1, keepdim=True) / 2
        logit = first + pairs
        if self.deep:
            x = vectors.flatten(1)
            for i, layer in enumerate(self.deep):
                x = layer(x) if i == len(self.deep) - 1 else torch.relu(layer(x))
            logit = logit + x
        return logit.squeeze(1)


def auc(scores, click):
    """Probability that a click scores above another row; ties count half."""
    order = torch.unique(scores, sorted=True, return_inverse=True)[1]
    positive = torch.bincount(order[click == 1], minlength=int(order.max()) + 1).double()
    negative = torch.bincount(order[click == 0], minlength=int(order.max()) + 1).double()
    below = negative.cumsum(0) - negative
    return ((positive * (below + negative / 2)).sum() / positive.sum() / negative.sum()).item()


def train(layers, seed, data, rows):
    torch.manual_seed(seed)
    model = Model(rows, layers)
    tables = [model.one.weight, model.vectors.weight]
    dense = [p for p in model.parameters() if all(p is not table for table in tables)]
    optimizers = [torch.optim.Adam(dense, lr=RATE), torch.optim.SparseAdam(tables, lr=RATE)]
    for _ in range(EPOCHS):
        for click, *inputs in batches(data["train"], BATCH):
            loss = F.binary_cross_entropy_with_logits(model(*inputs), click)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
    with torch.no_grad():
        scores = torch.cat([model(*inputs) for _, *inputs in batches(data["test"], 4096)])
    return auc(scores, data["test"][0])


folder = pathlib.Path(sys.argv[1])
numbers = {}
data = {part: read(folder / part / "part-000", numbers) for part in ("train", "test")}
digest = hashlib.sha256((folder / "train" / "part-000").read_bytes() + (folder / "test" / "part-000").read_bytes())
result = {
    "sha256": digest.hexdigest(),
    "hyper": {"sparse_inputs_slots": SLOTS + 1, "sparse_feature_dim": DIM, "dense_input_dim": DENSE, "optimizer.learning_rate": RATE},
    "epochs": EPOCHS,
    "batchSize": BATCH,
    "models": {},
}
for name, layers in LAYERS.items():
    aucs = [train(layers, seed, data, len(numbers)) for seed in SEEDS]
    print(name, [f"{value:.5f}" for value in aucs])
    hyper = {"fc_sizes": layers} if layers else {}
    result["models"][name] = {"hyper": hyper, "aucOfSeeds": [round(value, 5) for value in aucs], "auc": round(sum(aucs) / len(aucs), 5)}
out = pathlib.Path(__file__).parent.parent / "fixtures" / "movielens.json"
out.write_text(json.dumps(result, indent=1) + "\n")
print(f"-> {out}")
