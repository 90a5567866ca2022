"""Records five training steps of the multi-task, sequence, recall and matching models with PyTorch.

    python test/python/record_parity_models.py          (needs torch; writes test/fixtures/parity/<model>.json)
"""
import random

import torch
import torch.nn.functional as F

from parity import BATCH, STEPS, record, write

RATE = 0.001
# Signs up to 2^64 - 1, which no 53-bit number holds.
SIGNS = [0, 1, 2, 3, 5, 8, 13, 9007199254740993, 18446744073709551615]


def signs(slot, low, high=None):
    """A slot with some signs, `low` to `high` of them."""
    return [f"{slot}:{sign}" for sign in random.choices(SIGNS, k=random.randint(low, high or low))]


def values(slot, count):
    return [f"{slot}:{random.randrange(-1024, 1024) / 1024}" for _ in range(count)]


def label(slot):
    return f"{slot}:{random.randint(0, 1)}"


def column(samples, slot, kind=float):
    """The values of a dense slot: [B, width]."""
    return torch.tensor([[kind(value) for value in sample[slot]] for sample in samples])


def ids(samples, *slots):
    """Signs by sample and slot; a missing slot is the sign 0."""
    return [[[int(sign) for sign in sample.get(slot, ["0"])] for slot in slots] for sample in samples]


def linear(x, w, name):
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def linear_shapes(name, width, out):
    return {f"{name}.weight": (width, out), f"{name}.bias": (out,)}


def mlp(x, w, name, layers, activation=torch.relu, last=lambda x: x):
    for i in range(layers):
        x = linear(x, w, f"{name}.{i}")
        x = activation(x) if i < layers - 1 else last(x)
    return x


def mlp_shapes(name, *sizes):
    shapes = {}
    for i, (width, out) in enumerate(zip(sizes, sizes[1:])):
        shapes |= linear_shapes(f"{name}.{i}", width, out)
    return shapes


def adam(weights, tables):
    sparse = [torch.optim.SparseAdam(list(tables.values()), lr=RATE)] if tables else []
    return [torch.optim.Adam(weights.values(), lr=RATE), *sparse]


MODELS = {}


def model(name, **parts):
    """Names a net; `parts` are its lines, hyper-parameters, shapes, tables (dim, signs) and optimizers."""

    def keep(net):
        MODELS[name] = {"net": net, "tables": {}, "optimizers": adam, "shapes": {}} | parts
        return net

    return keep


# --- multitask/mmoe: 5 features, 3 experts of 4, towers of 3


@model(
    "mmoe",
    line=lambda: [*values("input", 5), label("label_income"), label("label_marital")],
    hyper={"feature_size": 5, "expert_num": 3, "expert_size": 4, "tower_size": 3, "optimizer.learning_rate": RATE},
    shapes={
        **{k: v for i in range(3) for k, v in linear_shapes(f"experts.expert_{i}", 5, 4).items()},
        **{k: v for i in range(2) for k, v in linear_shapes(f"experts.gate_{i}", 5, 3).items()},
        **{k: v for i in range(2) for k, v in mlp_shapes(f"tower_{i}", 4, 3, 2).items()},
    },
)
def mmoe(w, rows, samples):
    x = column(samples, "input")
    experts = [torch.relu(linear(x, w, f"experts.expert_{i}")) for i in range(3)]
    loss = 0
    for task, name in enumerate(["label_income", "label_marital"]):
        gate = torch.softmax(linear(x, w, f"experts.gate_{task}"), 1)
        mixed = sum(gate[:, i : i + 1] * expert for i, expert in enumerate(experts))
        loss = loss + F.cross_entropy(mlp(mixed, w, f"tower_{task}", 2), column(samples, name, int)[:, 0])
    return loss


# --- multitask/esmm: 3 fields of 1 to 3 signs


def log_loss(p, z, epsilon=1e-4):
    return -(z * torch.log(p + epsilon) + (1 - z) * torch.log(1 - p + epsilon)).mean()


FIELDS = ["field_0", "field_1", "field_2"]


@model(
    "esmm",
    line=lambda: [*signs("field_0", 1), *signs("field_1", 1, 3), *signs("field_2", 0, 1), label("ctr"), label("cvr")],
    hyper={"num_field": 3, "sparse_feature_dim": 2, "ctr_fc_sizes": [4], "cvr_fc_sizes": [3, 2], "optimizer.learning_rate": RATE},
    shapes=mlp_shapes("ctr", 6, 4, 2) | mlp_shapes("cvr", 6, 3, 2, 2),
    tables={"embedding": (2, SIGNS)},
)
def esmm(w, rows, samples):
    x = rows.pooled("embedding", ids(samples, *FIELDS)).flatten(1)
    ctr = torch.softmax(mlp(x, w, "ctr", 2), 1)[:, 1]
    cvr = torch.softmax(mlp(x, w, "cvr", 3), 1)[:, 1]
    return log_loss(ctr, column(samples, "ctr")[:, 0]) + log_loss(ctr * cvr, column(samples, "cvr")[:, 0])


# --- rank/dcn_v2: 2 slots x dim 2 + 2 dense values x dim 2 = width 8; both cross networks, stacked and side by side

DCN = {
    "sparse_inputs_slots": 3, "sparse_feature_dim": 2, "dense_input_dim": 2, "fc_sizes": [4, 3], "cross_num": 2,
    "dropout_rate": 0, "l2_reg_cross": 0.03, "optimizer.learning_rate": RATE,
}
DCN_SHAPES = linear_shapes("dense_emb", 2, 4) | mlp_shapes("dnn", 8, 4, 3)


def dcn_line():
    return [label("click"), *values("dense_feature", 2), *signs("1", 1), *signs("2", 0, 2)]


def dcn_optimizers(weights, tables):
    decay = lambda name: 0.03 if name.startswith("cross") and "bias" not in name and "gate" not in name else 1e-7 if name.startswith("dnn") and name.endswith("weight") else 0
    groups = [{"params": [weight], "weight_decay": decay(name)} for name, weight in weights.items()]
    return [torch.optim.Adam(groups, lr=RATE), torch.optim.SparseAdam(list(tables.values()), lr=RATE)]


def dcn_input(w, rows, samples):
    x = rows.pooled("embedding", ids(samples, "1", "2")).flatten(1)
    return torch.cat([x, linear(column(samples, "dense_feature"), w, "dense_emb")], 1)


def click_loss(logit, samples, slot="click"):
    return F.binary_cross_entropy_with_logits(logit, column(samples, slot))


@model(
    "dcn_v2",
    line=dcn_line,
    hyper=DCN | {"is_Stacked": False, "use_low_rank_mixture": False},
    shapes=DCN_SHAPES | mlp_shapes("cross", 8, 8, 8) | linear_shapes("fc", 11, 1),
    tables={"embedding": (2, SIGNS)},
    optimizers=dcn_optimizers,
)
def dcn_v2(w, rows, samples):
    x0 = x = dcn_input(w, rows, samples)
    for i in range(2):
        x = x0 * linear(x, w, f"cross.{i}") + x
    deep = mlp(x0, w, "dnn", 2, last=torch.relu)
    return click_loss(linear(torch.cat([deep, x], 1), w, "fc"), samples)


@model(
    "dcn_v2_mixture",
    line=dcn_line,
    hyper=DCN | {"is_Stacked": True, "use_low_rank_mixture": True, "low_rank": 3, "num_experts": 2},
    shapes=DCN_SHAPES | linear_shapes("cross.gate", 8, 2) | linear_shapes("fc", 3, 1)
    | {f"cross.{i}.{name}": shape for i in range(2) for name, shape in {"u": (2, 8, 3), "v": (2, 8, 3), "c": (2, 3, 3), "bias": (8,)}.items()},
    tables={"embedding": (2, SIGNS)},
    optimizers=dcn_optimizers,
)
def dcn_v2_mixture(w, rows, samples):
    x0 = x = dcn_input(w, rows, samples)
    for i in range(2):
        u, v, c, bias = (w[f"cross.{i}.{name}"] for name in ("u", "v", "c", "bias"))
        low = torch.tanh(torch.einsum("edr,bd->ber", v, x))
        low = torch.tanh(torch.einsum("ers,bes->ber", c, low))
        experts = x0.unsqueeze(1) * (torch.einsum("edr,ber->bed", u, low) + bias)
        x = torch.einsum("be,bed->bd", torch.softmax(linear(x, w, "cross.gate"), 1), experts) + x
    return click_loss(linear(mlp(x, w, "dnn", 2, last=torch.relu), w, "fc"), samples)


# --- match/dssm: 6 trigrams, 2 negatives

DOCS = ["doc_pos", "doc_neg_0", "doc_neg_1"]


@model(
    "dssm",
    line=lambda: [item for slot in ["query", *DOCS] for item in values(slot, 6)],
    hyper={"trigram_d": 6, "neg_num": 2, "fc_sizes": [5, 3], "fc_acts": ["relu", "tanh"], "optimizer.learning_rate": RATE},
    shapes=mlp_shapes("towers.query", 6, 5, 3) | mlp_shapes("towers.doc", 6, 5, 3),
)
def dssm(w, rows, samples):
    tower = lambda slot, name: mlp(column(samples, slot), w, name, 2, last=torch.tanh)
    query = tower("query", "towers.query")
    cosines = torch.stack([F.cosine_similarity(query, tower(slot, "towers.doc"), dim=1) for slot in DOCS], 1)
    return F.cross_entropy(cosines, torch.zeros(len(samples), dtype=torch.long))


# --- recall/ncf: NeuMF, with rows of 3 and 2 values


@model(
    "ncf",
    line=lambda: [*signs("user_input", 1), *signs("item_input", 1), label("label")],
    hyper={"mf_dim": 3, "fc_layers": [4, 5, 2], "optimizer.learning_rate": RATE},
    shapes=mlp_shapes("mlp.fc", 4, 5, 2) | linear_shapes("prediction", 5, 1),
    tables={"mf.user": (3, SIGNS), "mf.item": (3, SIGNS), "mlp.user": (2, SIGNS), "mlp.item": (2, SIGNS)},
)
def ncf(w, rows, samples):
    row = lambda part, slot: rows.pooled(f"{part}.{slot}", ids(samples, f"{slot}_input")).flatten(1)
    products = row("mf", "user") * row("mf", "item")
    deep = mlp(torch.cat([row("mlp", "user"), row("mlp", "item")], 1), w, "mlp.fc", 2, last=torch.relu)
    return click_loss(linear(torch.cat([products, deep], 1), w, "prediction"), samples, "label")


# --- rank/din: histories of 1 to 5 items with their categories


def din_line():
    length = random.randint(1, 5)
    return [*signs("hist_item_seq", length), *signs("hist_cat_seq", length), *signs("target_item", 1), *signs("target_cat", 1), label("label")]


@model(
    "din",
    line=din_line,
    hyper={"item_emb_size": 3, "cat_emb_size": 2, "fc_sizes": [4, 3], "act": "sigmoid", "optimizer.learning_rate_base_lr": 0.85},
    shapes=mlp_shapes("attention.fc", 20, 4, 3, 1) | linear_shapes("interest", 5, 5) | mlp_shapes("fc", 10, 4, 3, 1),
    tables={"item_emb": (3, SIGNS), "cat_emb": (2, SIGNS), "item_b": (1, SIGNS)},
    optimizers=lambda weights, tables: [torch.optim.SGD([*weights.values(), *tables.values()], lr=0.85)],
)
def din(w, rows, samples):
    # Sample by sample, each with its own length: nothing is padded, so nothing is masked.
    logits = []
    for [[items, categories, item, category]] in ([row] for row in ids(samples, "hist_item_seq", "hist_cat_seq", "target_item", "target_cat")):
        history = torch.cat([rows.rows("item_emb", items), rows.rows("cat_emb", categories)], 1)  # [T, 5]
        target = torch.cat([rows.rows("item_emb", item), rows.rows("cat_emb", category)], 1)  # [1, 5]
        beside = target.expand_as(history)
        pairs = torch.cat([history, beside, history - beside, history * beside], 1)
        scores = mlp(pairs, w, "attention.fc", 3, torch.sigmoid) / 5**0.5
        interest = linear((torch.softmax(scores, 0) * history).sum(0, keepdim=True), w, "interest")
        logits.append(mlp(torch.cat([interest, target], 1), w, "fc", 3, torch.sigmoid) + rows.rows("item_b", item))
    return click_loss(torch.cat(logits), samples, "label")


# --- recall/gru4rec: sessions of 1 to 5 items out of 7, of which 4 are read

ITEMS, UNITS, LENGTH = 7, 3, 4
RATES = {"emb": 4, "gru": 2, "fc": 0.5}


def gru4rec_line():
    session = random.choices(range(ITEMS), k=random.randint(2, 6))
    nexts = (session[1:] + [0] * LENGTH)[:LENGTH]
    return [f"src_wordseq:{item}" for item in session[:-1]] + [f"dst_wordseq:{item}" for item in nexts]


def gru4rec_optimizers(weights, tables):
    rate = lambda name: RATE * RATES[name.split(".")[0]]
    groups = [{"params": [weight], "lr": rate(name)} for name, weight in (weights | tables).items()]
    return [torch.optim.Adagrad(groups, eps=1e-6)]


@model(
    "gru4rec",
    line=gru4rec_line,
    hyper={
        "vocab_size": ITEMS, "hid_size": UNITS, "max_len": LENGTH, "recall_k": 3, "optimizer.learning_rate": RATE,
        **{f"{name}_lr_x": rate for name, rate in RATES.items()},
    },
    shapes={
        "gru.input_weight": (UNITS, 3 * UNITS), "gru.state_weight": (UNITS, 3 * UNITS),
        "gru.input_bias": (3 * UNITS,), "gru.state_bias": (3 * UNITS,),
        "fc.weight": (ITEMS, UNITS), "fc.bias": (ITEMS,),
    },
    tables={"emb": (UNITS, list(range(ITEMS)))},
    optimizers=gru4rec_optimizers,
)
def gru4rec(w, rows, samples):
    losses = []
    for sample in samples:
        state = torch.zeros(1, UNITS)
        for item, after in list(zip(sample["src_wordseq"], sample["dst_wordseq"]))[:LENGTH]:
            gru = [w[f"gru.{name}"] for name in ("input_weight", "state_weight", "input_bias", "state_bias")]
            state = torch.gru_cell(rows.rows("emb", [int(item)]), state, gru[0].T, gru[1].T, gru[2], gru[3])
            losses.append(F.cross_entropy(state @ w["fc.weight"].T + w["fc.bias"], torch.tensor([int(after)])))
    return torch.stack(losses).mean()


# --- recall/word2vec: vectors of 3, 4 drawn words; the rate halves every 2 steps

VECTOR, NEGATIVES = 3, 4


class Halving(torch.optim.SGD):
    def __init__(self, params, lr):
        super().__init__(params, lr=lr)
        self.first, self.steps = lr, 0

    def step(self):
        self.param_groups[0]["lr"] = self.first * 0.5 ** (self.steps / 2)
        self.steps += 1
        super().step()


@model(
    "word2vec",
    line=lambda: [*signs("input_word", 1), *signs("true_label", 1), *signs("neg_label", NEGATIVES)],
    hyper={
        "sparse_feature_dim": VECTOR, "neg_num": NEGATIVES,
        "optimizer.learning_rate": 1.0, "optimizer.decay_rate": 0.5, "optimizer.decay_steps": 2,
    },
    tables={"emb": (VECTOR, SIGNS), "emb_w": (VECTOR, SIGNS), "emb_b": (1, SIGNS)},
    optimizers=lambda weights, tables: [Halving(list(tables.values()), 1.0)],
)
def word2vec(w, rows, samples):
    true, drawn = [], []
    for word, near, negative in ids(samples, "input_word", "true_label", "neg_label"):
        vector = rows.rows("emb", word)
        true.append((vector * rows.rows("emb_w", near)).sum() + rows.rows("emb_b", near).sum())
        drawn.append(rows.rows("emb_w", negative) @ vector[0] + rows.rows("emb_b", negative)[:, 0])
    loss = lambda logits, label: F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))
    return loss(torch.stack(true), 1.0) + loss(torch.stack(drawn), 0.0)


for name, parts in MODELS.items():
    random.seed(7)
    torch.manual_seed(7)
    text = [" ".join(parts["line"]()) for _ in range(STEPS * BATCH)]
    write(name, record(parts["net"], parts["hyper"], text, parts["shapes"], parts["tables"], parts["optimizers"]))
