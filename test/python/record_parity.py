"""Records five training steps of every model in models/rank with PyTorch: batches, initial weights, losses and gradients.

    python test/python/record_parity.py          (needs torch; writes test/fixtures/parity/<model>.json)

Weights and values are multiples of 1/1024, so that they are the same in 32 and in 64 bits. PyTorch computes in 64 bits.
"""
import json
import pathlib
import random

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

STEPS, BATCH = 5, 8
SLOTS, DENSE, DIM, LAYERS = 3, 2, 3, [4, 3]
RATE, REG = 0.001, 0.001
# Signs up to 2^64 - 1, which no 53-bit number holds; all slots draw from the same, as they share a table.
SIGNS = [0, 1, 2, 3, 5, 8, 13, 9007199254740993, 18446744073709551615]


def draw(*shape):
    """A weight that both sides hold exactly."""
    return (torch.rand(shape) - 0.5).mul(1024).round().div(1024)


def lines():
    """Slot text. Slot 2 has one to three signs, slot 3 is sometimes missing."""
    for _ in range(STEPS * BATCH):
        signs = [random.choices(SIGNS, k=1), random.choices(SIGNS, k=random.randint(1, 3)), random.choices(SIGNS, k=random.randint(0, 1))]
        dense = [f"dense_feature:{random.randrange(-1024, 1024) / 1024}" for _ in range(DENSE)]
        slots = [f"{slot + 1}:{sign}" for slot in range(SLOTS) for sign in signs[slot]]
        yield " ".join([f"click:{random.randint(0, 1)}", *dense, *slots])


def parse(line):
    """(click, dense values, row numbers per slot); a missing slot is the sign 0."""
    values = {}
    for item in line.split():
        name, _, value = item.partition(":")
        values.setdefault(name, []).append(value)
    slots = [[SIGNS.index(int(sign)) for sign in values.get(str(slot + 1), ["0"])] for slot in range(SLOTS)]
    return float(values["click"][0]), [float(value) for value in values["dense_feature"]], slots


class Rows:
    """Tables with sparse gradients; `pooled` sums the rows of each slot."""

    def __init__(self, dims):
        self.tables = {name: torch.nn.Parameter(draw(len(SIGNS), dim)) for name, dim in dims.items()}

    def pooled(self, name, slots):
        pick = lambda ids: F.embedding(torch.tensor(ids), self.tables[name], sparse=True).sum(0)
        return torch.stack([torch.stack([pick(ids) for ids in sample]) for sample in slots])  # [B, slots, dim]


def deep(x, weights):
    for i in range(len(LAYERS) + 1):
        x = x @ weights[f"fc.{i}.weight"] + weights[f"fc.{i}.bias"]
        x = torch.relu(x) if i < len(LAYERS) else x
    return x


def fc_shapes(width, out):
    sizes = [width, *LAYERS, out]
    shapes = {}
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        shapes |= {f"fc.{i}.weight": (before, after), f"fc.{i}.bias": (after,)}
    return shapes


def dnn(w, rows, click, dense, slots):
    logits = deep(torch.cat([rows.pooled("embedding", slots).flatten(1), dense], 1), w)
    return F.cross_entropy(logits, click.long())


def cost(logit, click):
    return F.binary_cross_entropy_with_logits(logit.squeeze(1), click)


def wide_deep(w, rows, click, dense, slots):
    wide = dense @ w["wide.weight"] + w["wide.bias"]
    return cost(wide + deep(torch.cat([rows.pooled("embedding", slots).flatten(1), dense], 1), w), click)


def fm_terms(w, rows, dense, slots):
    first = rows.pooled("embedding_one", slots).sum(1) + dense @ w["dense_one.weight"] + w["dense_one.bias"]
    vectors = torch.cat([rows.pooled("embedding", slots), dense.unsqueeze(2) * w["dense_vectors"]], 1)
    # Every pair by itself: what the model's shorter formula must equal.
    products = vectors @ vectors.transpose(1, 2)
    second = products.triu(1).sum((1, 2)).unsqueeze(1)
    return first + second, vectors


def fm(w, rows, click, dense, slots):
    return cost(fm_terms(w, rows, dense, slots)[0], click)


def deepfm(w, rows, click, dense, slots):
    logit, vectors = fm_terms(w, rows, dense, slots)
    return cost(logit + deep(vectors.flatten(1), w), click)


def logistic_regression(w, rows, click, dense, slots):
    weights = rows.pooled("embedding", slots).squeeze(2)
    logit = weights.sum(1, keepdim=True) + dense @ w["linear.weight"] + w["linear.bias"]
    return cost(logit, click) + REG * weights.abs().sum(1).mean()


HYPER = {"sparse_inputs_slots": SLOTS + 1, "sparse_feature_dim": DIM, "dense_input_dim": DENSE}
FC = {"fc_sizes": LAYERS}
LINEAR = lambda name: {f"{name}.weight": (DENSE, 1), f"{name}.bias": (1,)}
FM_SHAPES = {**LINEAR("dense_one"), "dense_vectors": (DENSE, DIM)}
FM_TABLES = {"embedding_one": 1, "embedding": DIM}
WIDTH = SLOTS * DIM + DENSE

# net, hyper-parameters, shapes of the dense weights, row length of the tables
MODELS = {
    "dnn": (dnn, HYPER | FC, fc_shapes(WIDTH, 2), {"embedding": DIM}),
    "wide_deep": (wide_deep, HYPER | FC, fc_shapes(WIDTH, 1) | LINEAR("wide"), {"embedding": DIM}),
    "deepfm": (deepfm, HYPER | FC, fc_shapes((SLOTS + DENSE) * DIM, 1) | FM_SHAPES, FM_TABLES),
    "fm": (fm, HYPER, FM_SHAPES, FM_TABLES),
    "logistic_regression": (
        logistic_regression,
        {"num_field": SLOTS + DENSE, "dense_input_dim": DENSE, "reg": REG},
        LINEAR("linear"),
        {"embedding": 1},
    ),
}


def by_sign(gradient):
    gradient = gradient.coalesce()
    return {str(SIGNS[row]): values.tolist() for row, values in zip(gradient.indices()[0].tolist(), gradient.values())}


def record(net, hyper, shapes, tables):
    random.seed(7)
    torch.manual_seed(7)
    text = list(lines())
    weights = {name: torch.nn.Parameter(draw(*shape)) for name, shape in shapes.items()}
    rows = Rows(tables)
    initial = {
        "parameters": {name: weight.detach().flatten().tolist() for name, weight in weights.items()},
        "tables": {name: dict(zip(map(str, SIGNS), table.tolist())) for name, table in rows.tables.items()},
    }
    optimizers = [torch.optim.Adam(weights.values(), lr=RATE), torch.optim.SparseAdam(list(rows.tables.values()), lr=RATE)]
    steps = []
    for step in range(STEPS):
        click, dense, slots = zip(*map(parse, text[step * BATCH : (step + 1) * BATCH]))
        loss = net(weights, rows, torch.tensor(click), torch.tensor(dense), slots)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        steps.append({
            "loss": loss.item(),
            "parameters": {name: weight.grad.flatten().tolist() for name, weight in weights.items()},
            "tables": {name: by_sign(table.grad) for name, table in rows.tables.items()},
        })
        for optimizer in optimizers:
            optimizer.step()
    return {"hyper": hyper | {"optimizer.learning_rate": RATE}, "batchSize": BATCH, "text": text, "initial": initial, "steps": steps}


def rounded(value):
    """10 significant digits: far more than the comparison needs."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


folder = pathlib.Path(__file__).parent.parent / "fixtures" / "parity"
folder.mkdir(exist_ok=True)
for name, model in MODELS.items():
    recorded = record(*model)
    steps = ",\n  ".join(json.dumps(rounded(step)) for step in recorded.pop("steps"))
    head = ",\n ".join(f"{json.dumps(key)}: {json.dumps(rounded(value))}" for key, value in recorded.items())
    (folder / f"{name}.json").write_text(f'{{{head},\n "steps": [\n  {steps}\n ]\n}}\n')
    print(f"{name}: {STEPS} steps")
