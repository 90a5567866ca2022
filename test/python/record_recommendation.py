"""The network of examples/recommendation in PyTorch: the same files, batches, initializers and rule.

usage: record_recommendation.py DATA_FOLDER [--size 256] [--passes 10] [--seeds 3]

DATA_FOLDER is examples/recommendation/data after preprocess.sh. Prints the test RMSE in stars after each pass, the mean over
the seeds of its best pass, and of its last one.
"""
import argparse
import json
import math
from pathlib import Path

import torch
from torch import nn

BATCH = 1600
torch.set_num_threads(1)  # the same result on every machine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    meta = json.loads((options.data / "meta.json").read_text())
    train = samples(meta, sorted(options.data.glob("ratings.dat.train*")))
    test = samples(meta, sorted(options.data.glob("ratings.dat.test*")))
    runs = [run(meta, train, test, options, seed) for seed in range(1, options.seeds + 1)]
    mean = lambda values: sum(values) / len(values)
    print(json.dumps({"size": options.size, "best": mean([min(r) for r in runs]), "last": mean([r[-1] for r in runs])}))


def samples(meta, files):
    """Columns of features by name, and the scaled ratings."""
    rows = [line.split("::")[:3] for file in files for line in file.read_text().splitlines()]
    columns = {}
    for entity, place in (("movie", 1), ("user", 0)):
        for i, feature in enumerate(meta[entity]["features"]):
            values = [meta[entity]["rows"][row[place]][i] for row in rows]
            columns[feature["name"]] = column(feature, values)
    return columns, torch.tensor([2.0 * float(row[2]) - 5.0 for row in rows])


def column(feature, values):
    if feature["type"] == "one_hot_dense":
        ones = torch.zeros(len(values), feature["dim"])
        for i, places in enumerate(values):
            ones[i, places] = 1.0
        return ones
    if feature.get("seq") == "sequence":
        longest = max(len(value) for value in values)
        return torch.tensor([value + [-1] * (longest - len(value)) for value in values])
    return torch.tensor(values)


def linear(rows, columns):
    layer = nn.Linear(rows, columns)
    nn.init.normal_(layer.weight, std=1 / math.sqrt(rows))
    nn.init.zeros_(layer.bias)
    return layer


class Feature(nn.Module):
    def __init__(self, feature, size):
        super().__init__()
        self.name, self.kind = feature["name"], feature["type"]
        self.sequence = feature.get("seq") == "sequence"
        if self.kind == "one_hot_dense":
            self.first, self.fc = linear(feature["dim"], size), linear(size, size)
            return
        self.rows = nn.Embedding(feature["dim"], size)
        nn.init.normal_(self.rows.weight, std=1 / math.sqrt(feature["dim"]))
        self.fc = linear(5 * size if self.sequence else size, size)

    def forward(self, columns):
        x = columns[self.name]
        if self.kind == "one_hot_dense":
            return torch.tanh(self.fc(torch.tanh(self.first(x))))
        if not self.sequence:
            return torch.tanh(self.fc(self.rows(x)))
        mask = (x >= 0).unsqueeze(-1)
        rows = self.rows(x.clamp(min=0)) * mask
        y = torch.tanh(self.fc(nn.functional.pad(rows, (0, 0, 2, 2)).unfold(1, 5, 1).transpose(2, 3).flatten(2)))
        return y.masked_fill(~mask, -1e9).max(1).values


class Network(nn.Module):
    def __init__(self, meta, size):
        super().__init__()
        self.movie = nn.ModuleList(Feature(f, size) for f in meta["movie"]["features"])
        self.user = nn.ModuleList(Feature(f, size) for f in meta["user"]["features"])
        self.fusions = nn.ModuleDict({name: self.fusion(getattr(self, name), size) for name in ("movie", "user")})

    @staticmethod
    def fusion(features, size):
        """One weight for each input, and one bias: what is added up is a single layer over inputs side by side."""
        layer = nn.Linear(len(features) * size, size)
        nn.init.normal_(layer.weight, std=1 / math.sqrt(size))
        nn.init.zeros_(layer.bias)
        return layer

    def tower(self, name, columns):
        return torch.tanh(self.fusions[name](torch.cat([f(columns) for f in getattr(self, name)], 1)))

    def forward(self, columns):
        return 5 * nn.functional.cosine_similarity(self.tower("movie", columns), self.tower("user", columns))


class RmsProp:
    """sqrt(mean square + epsilon) on the gradient of the batch's sum; rows that the batch does not have stay as they are."""

    def __init__(self, network, rate=1e-3, rho=0.95, epsilon=1e-6):
        self.rate, self.rho, self.epsilon = rate, rho, epsilon
        tables = {id(m.weight) for m in network.modules() if isinstance(m, nn.Embedding)}
        self.state = [(p, torch.zeros_like(p), id(p) in tables) for p in network.parameters()]

    @torch.no_grad()
    def step(self):
        for weight, square, is_table in self.state:
            g = weight.grad
            rows = g.abs().sum(1) > 0 if is_table else slice(None)
            square[rows] = self.rho * square[rows] + (1 - self.rho) * g[rows] ** 2
            weight[rows] -= self.rate * g[rows] / (square[rows] + self.epsilon).sqrt()
            weight.grad = None


def run(meta, train, test, options, seed):
    torch.manual_seed(seed)
    network = Network(meta, options.size)
    rule = RmsProp(network)
    columns, ratings = train
    errors = []
    for number in range(options.passes):
        for part in torch.randperm(len(ratings)).split(BATCH):
            batch = {name: values[part] for name, values in columns.items()}
            cost = (network(batch) - ratings[part]).square().mean() * BATCH
            cost.backward()
            rule.step()
        errors.append(rmse(network, *test))
        print(f"seed {seed} pass {number}: test RMSE {errors[-1]:.4f}", flush=True)
    return errors


@torch.no_grad()
def rmse(network, columns, ratings):
    total = 0.0
    for part in torch.arange(len(ratings)).split(BATCH):
        batch = {name: values[part] for name, values in columns.items()}
        total += (network(batch) - ratings[part]).square().sum().item()
    return math.sqrt(total / len(ratings)) / 2


main()
