"""Trains NeuMF with PyTorch on MovieLens-100k and records HR@10 after each epoch, for test/models/ncf.test.ts.

    node examples/movielens/leave_one_out.mjs ML-100K-FOLDER OUT
    for seed in 1 2 3; do    # the first weights: a rate of next to nothing leaves them as they are
      oarfish train -m models/recall/ncf/config.yaml -o runner.train_data_dir=OUT/train runner.test_data_dir=OUT/test \\
        runner.train_batch_size=256 runner.epochs=1 runner.seed=$seed hyper_parameters.optimizer.learning_rate=1e-30 \\
        runner.use_inference=True runner.model_save_path=OUT/first_$seed
    done
    python test/python/record_ncf.py OUT          (needs torch and onnx; writes test/fixtures/ncf.json)

Same rows in the same order, same first weights, batches and optimizer (Adam, lazy for the tables) as the test.
"""
import hashlib
import json
import pathlib
import struct
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F

SEEDS, EPOCHS, BATCH, RATE = [1, 2, 3], 10, 256, 0.001
GROUP, TOP = 100, 10
TABLES = ["mf.user", "mf.item", "mlp.user", "mlp.item"]


def read(path):
    """Columns user, item, label."""
    return torch.from_numpy(np.array([[int(cell.split(":")[1]) for cell in line.split()] for line in path.read_text().splitlines()]))


class NeuMf(torch.nn.Module):
    """First weights from an export; signs are row numbers."""

    def __init__(self, folder):
        super().__init__()
        manifest = json.loads((folder / "manifest.json").read_text())
        self.tables = torch.nn.ParameterDict({
            table["name"].replace(".", "_"): torch.nn.Parameter(rows(folder / table["file"])) for table in manifest["tables"]
        })
        weights = {item.name: onnx.numpy_helper.to_array(item) for item in onnx.load(folder / "model.onnx").graph.initializer}
        names = [f"{layer}.{kind}" for layer in ("mlp.fc.0", "mlp.fc.1", "mlp.fc.2", "prediction") for kind in ("weight", "bias")]
        self.dense = torch.nn.ParameterDict({name.replace(".", "_"): torch.nn.Parameter(torch.tensor(weights[name])) for name in names})

    def forward(self, user, item):
        row = lambda part, ids: F.embedding(ids, self.tables[part], sparse=True)
        linear = lambda x, name: x @ self.dense[f"{name}_weight"] + self.dense[f"{name}_bias"]
        x = torch.cat([row("mlp_user", user), row("mlp_item", item)], 1)
        for i in range(3):
            x = torch.relu(linear(x, f"mlp_fc_{i}"))
        return linear(torch.cat([row("mf_user", user) * row("mf_item", item), x], 1), "prediction").squeeze(1)


def rows(path):
    """A table file as a matrix by sign (docs/reference/export-format.md)."""
    data = path.read_bytes()
    _, _, dim, count, signs_at, weights_at, _ = struct.unpack("<8sIIQQQQ", data[:48])
    signs = np.frombuffer(data, "<u8", count, signs_at).astype(np.int64)
    table = np.full((signs.max() + 1, dim), np.nan, np.float32)
    table[signs] = np.frombuffer(data, "<f4", count * dim, weights_at).reshape(count, dim)
    return torch.from_numpy(table)


def hit_ratio(scores):
    """How often the first of each group is among its ten highest; a tie counts as half above."""
    groups = scores.view(-1, GROUP)
    own, others = groups[:, :1], groups[:, 1:]
    place = (others > own).sum(1) + (others == own).sum(1) / 2
    return (place < TOP).double().mean().item()


def train(folder, data, test):
    model = NeuMf(folder)
    optimizers = [torch.optim.Adam(model.dense.values(), lr=RATE), torch.optim.SparseAdam(list(model.tables.values()), lr=RATE)]
    ratios = []
    for _ in range(EPOCHS):
        for user, item, label in (batch.unbind(1) for batch in data.split(BATCH)):
            loss = F.binary_cross_entropy_with_logits(model(user, item), label.float())
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        with torch.no_grad():
            scores = torch.cat([model(user, item) for user, item, _ in (batch.unbind(1) for batch in test.split(10_000))])
        assert not scores.isnan().any(), "a user or an item has no first row"
        ratios.append(round(hit_ratio(scores), 4))
    print(folder, ratios, flush=True)
    return ratios


out = pathlib.Path(sys.argv[1])
files = [out / part / "part-000" for part in ("train", "test")]
digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
data, test = map(read, files)
seeds = {str(seed): train(out / f"first_{seed}" / "0" / "inference", data, test) for seed in SEEDS}
result = {"sha256": digest, "batchSize": BATCH, "learningRate": RATE, "hitRatio": seeds}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "ncf.json"
path.write_text(json.dumps(result, indent=1) + "\n")
print(f"-> {path}")
