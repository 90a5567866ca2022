"""What the recorders of parity share: training steps with PyTorch, from batches and weights that both sides hold exactly.

Weights and values are multiples of 1/1024, so that they are the same in 32 and in 64 bits. PyTorch computes in 64 bits.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

STEPS, BATCH = 5, 8
FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "parity"


def draw(*shape):
    """A weight that both sides hold exactly."""
    return (torch.rand(shape, dtype=torch.float64) - 0.5).mul(1024).round().div(1024).to(torch.get_default_dtype())


class Rows:
    """Tables with sparse gradients, by sign."""

    def __init__(self, tables):
        self.signs = {name: signs for name, (_, signs) in tables.items()}
        self.tables = {name: torch.nn.Parameter(draw(len(signs), dim)) for name, (dim, signs) in tables.items()}

    def rows(self, name, signs):
        """The rows of a list of signs, in order: [signs, dim]."""
        ids = torch.tensor([self.signs[name].index(sign) for sign in signs])
        return F.embedding(ids, self.tables[name], sparse=True)

    def pooled(self, name, slots):
        """Sums over the signs of each slot: [B, slots, dim]."""
        return torch.stack([torch.stack([self.rows(name, signs).sum(0) for signs in sample]) for sample in slots])

    def by_sign(self, name):
        gradient = self.tables[name].grad.coalesce()
        signs = [self.signs[name][row] for row in gradient.indices()[0].tolist()]
        return {str(sign): values.tolist() for sign, values in zip(signs, gradient.values())}


def parse(line):
    """Slot text: values by slot, as text."""
    values = {}
    for item in line.split():
        name, _, value = item.partition(":")
        values.setdefault(name, []).append(value)
    return values


def record(net, hyper, text, shapes, tables, optimizers):
    """Steps of net(weights, rows, samples) -> loss. `tables` are (dim, signs) by name."""
    weights = {name: torch.nn.Parameter(draw(*shape)) for name, shape in shapes.items()}
    rows = Rows(tables)
    initial = {
        "parameters": {name: weight.detach().flatten().tolist() for name, weight in weights.items()},
        "tables": {name: dict(zip(map(str, rows.signs[name]), table.tolist())) for name, table in rows.tables.items()},
    }
    own = optimizers(weights, rows.tables)
    steps = []
    for step in range(STEPS):
        loss = net(weights, rows, [parse(line) for line in text[step * BATCH : (step + 1) * BATCH]])
        for optimizer in own:
            optimizer.zero_grad()
        loss.backward()
        steps.append({
            "loss": loss.item(),
            "parameters": {name: weight.grad.flatten().tolist() for name, weight in weights.items()},
            "tables": {name: rows.by_sign(name) for name in rows.tables},
        })
        for optimizer in own:
            optimizer.step()
    return {"hyper": hyper, "batchSize": BATCH, "text": text, "initial": initial, "steps": steps}


def rounded(value):
    """10 significant digits: far more than the comparison needs."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def write(name, recorded):
    FOLDER.mkdir(exist_ok=True)
    steps = ",\n  ".join(json.dumps(rounded(step)) for step in recorded.pop("steps"))
    head = ",\n ".join(f"{json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in recorded.items())
    (FOLDER / f"{name}.json").write_text(f'{{{head},\n "steps": [\n  {steps}\n ]\n}}\n')
    print(f"{name}: {STEPS} steps")
