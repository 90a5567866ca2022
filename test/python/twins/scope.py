"""What a twin is made of: weights and tables that come into being where a net first names them, and batches of slot text as tensors.

A twin is `net(p, batch, h)`: p gives weights, batch what the samples hold, h the hyper-parameters under their names in config.yaml. It returns the loss
and, by name, what metrics are made of. One net serves both the recorded steps (record_twins.py) and the trainings of bench/zoo/train_twin.py.
"""
import math

import torch
import torch.nn.functional as F

TWINS = {}


def twin(name):
    """Names a net by the folder of its model: 'rank/pnn'."""

    def keep(net):
        TWINS[name] = net
        return net

    return keep


def xavier(shape):
    bound = math.sqrt(6 / (shape[0] + shape[-1])) if len(shape) > 1 else 0
    return (torch.rand(shape) * 2 - 1) * bound


def uniform(bound):
    return lambda shape: (torch.rand(shape) * 2 - 1) * bound


def normal(std):
    return lambda shape: torch.randn(shape) * std


def cut_normal(std):
    """Normal values, none farther off than two deviations."""
    return lambda shape: torch.nn.init.trunc_normal_(torch.empty(shape), std=std, a=-2 * std, b=2 * std)


def lecun(shape):
    return cut_normal(1 / math.sqrt(shape[0]))(shape)


def constant(value):
    return lambda shape: torch.full(shape, float(value))


zeros = constant(0)
ones = constant(1)


class Scope:
    """Weights by name. `draw` replaces every initial value, where steps are recorded; running statistics are not weights."""

    def __init__(self, rows, draw=None):
        self.weights, self.tables, self.state, self.touched = {}, {}, {}, {}
        self.rows_of_a_table, self.draw = rows, draw
        self.training = True

    def __call__(self, name, *shape, init=xavier):
        if name not in self.weights:
            self.weights[name] = torch.nn.Parameter((self.draw or init)(shape))
        return self.weights[name]

    def table(self, name, dim, init):
        if name not in self.tables:
            self.tables[name] = torch.nn.Parameter((self.draw or init)((self.rows_of_a_table, dim)))
        return self.tables[name]

    def sequence(self, name, dim, ids, init=uniform(0.05), table=None):
        """Rows of padded ids: [B, T, dim], zeros where there is none, and the mask [B, T]."""
        index, mask = ids
        table = table or name
        rows = F.embedding(index, self.table(table, dim, init), sparse=True)
        if self.draw:
            self.touched.setdefault(table, set()).update(index[mask > 0].tolist())
        return rows * mask.unsqueeze(-1), mask

    def pooled(self, name, dim, ids, init=uniform(0.05), table=None):
        """Sums over the ids of each sample: [B, dim]."""
        rows, _ = self.sequence(name, dim, ids, init, table)
        return rows.squeeze(1) if rows.shape[1] == 1 else rows.sum(1)

    def linear(self, x, name, out, init=xavier, bias=True, act=None):
        y = x @ self(f"{name}.weight", x.shape[-1], out, init=init)
        y = y + self(f"{name}.bias", out, init=zeros) if bias else y
        return act(y) if act else y

    def mlp(self, x, name, sizes, act=torch.relu, last=None, init=xavier):
        for i, out in enumerate(sizes):
            x = self.linear(x, f"{name}.{i}", out, init, act=act if i < len(sizes) - 1 else last)
        return x

    def layer_norm(self, x, name, eps=1e-5):
        width = x.shape[-1]
        return F.layer_norm(x, (width,), self(f"{name}.weight", width, init=ones), self(f"{name}.bias", width, init=zeros), eps)

    def batch_norm(self, x, name, eps=1e-5):
        width = x.shape[-1]
        mean, variance = self.state.setdefault(name, (torch.zeros(width), torch.ones(width)))
        weight, bias = self(f"{name}.weight", width, init=ones), self(f"{name}.bias", width, init=zeros)
        flat = F.batch_norm(x.reshape(-1, width), mean, variance, weight, bias, self.training, 0.1, eps)
        return flat.reshape(x.shape)

    def dropout(self, x, rate):
        return F.dropout(x, rate, self.training and not self.draw)


def bce(logit, label):
    return F.binary_cross_entropy_with_logits(logit, label)


class Batch:
    """Some samples of columns: ids padded, labels and dense values as floats."""

    def __init__(self, sparse, values):
        self.sparse, self.values = sparse, values

    def ids(self, slot):
        return self.sparse[slot]

    def together(self, slots):
        """Ids of several slots side by side: index, mask, and how many columns each has."""
        parts = [self.sparse[slot] for slot in slots]
        return torch.cat([index for index, _ in parts], 1), torch.cat([mask for _, mask in parts], 1), [index.shape[1] for index, _ in parts]

    def dense(self, slot):
        return self.values[slot]

    label = dense
