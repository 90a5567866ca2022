"""Records five training steps of the CTR models that read criteo's slots with PyTorch.

    python test/python/record_parity.py          (needs torch; writes test/fixtures/parity/<model>.json)
"""
import random

import torch
import torch.nn.functional as F

from parity import BATCH, STEPS, record, write

SLOTS, DENSE, DIM, LAYERS = 3, 2, 3, [4, 3]
RATE, REG = 0.001, 0.001
# Signs up to 2^64 - 1, which no 53-bit number holds; all slots draw from the same, as they share a table.
SIGNS = [0, 1, 2, 3, 5, 8, 13, 9007199254740993, 18446744073709551615]


def lines():
    """Slot text. Slot 2 has one to three signs, slot 3 is sometimes missing."""
    for _ in range(STEPS * BATCH):
        signs = [random.choices(SIGNS, k=1), random.choices(SIGNS, k=random.randint(1, 3)), random.choices(SIGNS, k=random.randint(0, 1))]
        dense = [f"dense_feature:{random.randrange(-1024, 1024) / 1024}" for _ in range(DENSE)]
        slots = [f"{slot + 1}:{sign}" for slot in range(SLOTS) for sign in signs[slot]]
        yield " ".join([f"click:{random.randint(0, 1)}", *dense, *slots])


def tensors(samples):
    """Clicks, dense values, and the signs of each slot; a missing slot is the sign 0."""
    click = torch.tensor([float(sample["click"][0]) for sample in samples])
    dense = torch.tensor([[float(value) for value in sample["dense_feature"]] for sample in samples])
    slots = [[[int(sign) for sign in sample.get(str(slot + 1), ["0"])] for slot in range(SLOTS)] for sample in samples]
    return click, dense, slots


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



for name, (net, hyper, shapes, tables) in MODELS.items():
    random.seed(7)
    torch.manual_seed(7)
    text = list(lines())
    write(name, record(
        lambda w, rows, samples: net(w, rows, *tensors(samples)),
        hyper | {"optimizer.learning_rate": RATE}, text, shapes, {table: (dim, SIGNS) for table, dim in tables.items()},
        lambda weights, tables: [torch.optim.Adam(weights.values(), lr=RATE), torch.optim.SparseAdam(list(tables.values()), lr=RATE)],
    ))
