"""Records twelve eager steps of test/dygraph/branching.model.ts with PyTorch: a net whose loop and branch depend on values.

    python test/python/record_dygraph.py          (needs torch; writes test/fixtures/dygraph.json)

Weights and values are multiples of 1/1024, so that they are the same in 32 and in 64 bits. PyTorch computes in 64 bits.
"""
import json
import pathlib
import random

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

STEPS, BATCH, DENSE, DIM, HIDDEN = 12, 8, 4, 3, 6
SIGNS = [0, 1, 2, 3, 5, 8, 13, 18446744073709551615]
ENOUGH, MOST, MARGIN = 0.3, 4, 1e-3
SHAPES = {
    "gate": (DENSE, 1),
    "enter": (DIM + DENSE, HIDDEN),
    "cell": (HIDDEN, HIDDEN),
    "left": (HIDDEN, 1),
    "right": (HIDDEN + DIM, 1),
}


def draw(scale, *shape):
    return (torch.rand(shape) - 0.5).mul(scale * 1024).round().div(1024)


def sample(shift):
    """Slot text: what a batch has in common moves the gate and the size of the hidden values."""
    dense = [f"x:{round((shift + random.uniform(-1, 1)) * 1024) / 1024}" for _ in range(DENSE)]
    signs = [f"{slot}:{random.choice(SIGNS)}" for slot in ("item", "extra")]
    return " ".join([f"click:{random.randint(0, 1)}", *dense, *signs])


def parse(line):
    items = [item.split(":") for item in line.split()]
    pick = lambda slot: [value for name, value in items if name == slot]
    return float(pick("click")[0]), [float(x) for x in pick("x")], *(SIGNS.index(int(pick(s)[0])) for s in ("item", "extra"))


def forward(w, tables, lines):
    click, x, item, extra = (torch.tensor(column) for column in zip(*map(parse, lines)))
    linear = lambda name, x: x @ w[f"{name}.weight"] + w[f"{name}.bias"]
    h = torch.tanh(linear("enter", torch.cat([tables["item"][item], x], 1)))
    loops = 0
    while loops < MOST:
        size = h.square().mean().item()
        assert abs(size - ENOUGH) > MARGIN, size
        if size <= ENOUGH:
            break
        h, loops = torch.tanh(linear("cell", h)), loops + 1
    gate = linear("gate", x).mean().item()
    assert abs(gate) > MARGIN, gate
    logit = linear("left", h) if gate > 0 else linear("right", torch.cat([h, tables["extra"][extra]], 1))
    return F.binary_cross_entropy_with_logits(logit.squeeze(1), click), loops, "left" if gate > 0 else "right"


def by_sign(table):
    return {str(sign): row for sign, row in zip(SIGNS, table.tolist())}


def values(w, tables):
    return {
        "parameters": {name: value.flatten().tolist() for name, value in w.items()},
        "tables": {name: by_sign(value) for name, value in tables.items()},
    }


def main():
    random.seed(5)
    torch.manual_seed(5)
    w = {}
    for name, (before, after) in SHAPES.items():
        w[f"{name}.weight"] = torch.nn.Parameter(draw(2.2, before, after))
        w[f"{name}.bias"] = torch.nn.Parameter(draw(0.5, after))
    tables = {name: torch.nn.Parameter(draw(1, len(SIGNS), DIM)) for name in ("item", "extra")}
    text = []
    for _ in range(STEPS):
        shift = random.uniform(-0.8, 0.8)
        text += [sample(shift) for _ in range(BATCH)]
    initial = values(w, tables)
    optimizers = [
        torch.optim.SGD(w.values(), lr=0.1, momentum=0.9),
        torch.optim.SGD(tables.values(), lr=0.1),
    ]
    steps = []
    for step in range(STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss, loops, branch = forward(w, tables, text[step * BATCH : (step + 1) * BATCH])
        loss.backward()
        trained = [name for name, weight in (w | tables).items() if weight.grad is not None]
        for optimizer in optimizers:
            optimizer.step()
        steps.append({"loss": loss.item(), "loops": loops, "branch": branch, "trained": sorted(trained)})
    recorded = {"batchSize": BATCH, "text": text, "initial": initial, "steps": steps, "final": values(w, tables)}
    path = pathlib.Path(__file__).parent.parent / "fixtures" / "dygraph.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")
    print(*((step["loops"], step["branch"], round(step["loss"], 4)) for step in steps))


main()
