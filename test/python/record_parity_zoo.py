"""Records five training steps of the models that came later with PyTorch, each written from its paper or from the authors' code.

    python test/python/record_parity_zoo.py [model ...]          (needs torch; writes test/fixtures/parity/<model>.json)
"""
import math
import random
import sys

import torch
import torch.nn.functional as F

from parity import BATCH, STEPS, record, write

RATE = 0.001
# For nets some of whose gradients are zero but for rounding: Adam makes a whole step of its sign.
SMALL = 0.00001
# Signs up to 2^64 - 1, which no 53-bit number holds.
SIGNS = [0, 1, 2, 3, 5, 8, 13, 9007199254740993, 18446744073709551615]
MODELS = {}


def model(name, **parts):
    """
    Names a net; `parts` are its line, hyper-parameters, shapes, tables (dim, signs) and optimizers. Norms right behind a ReLU may divide
    by nearly nothing: such nets have a `seed` for which PyTorch's own gradients of 32 and of 64 bits agree.
    """

    def keep(net):
        MODELS[name] = {"net": net, "tables": {}, "optimizers": adam(), "shapes": {}, "seed": 7} | parts
        return net

    return keep


def signs(slot, low, high=None):
    return [f"{slot}:{sign}" for sign in random.choices(SIGNS, k=random.randint(low, high or low))]


def values(slot, count):
    return [f"{slot}:{random.randrange(-1024, 1024) / 1024}" for _ in range(count)]


def label(slot):
    return f"{slot}:{random.randint(0, 1)}"


def column(samples, slot, kind=float):
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


def merged(*shapes):
    return {name: shape for part in shapes for name, shape in part.items()}


def mlp_shapes(name, *sizes):
    return merged(*[linear_shapes(f"{name}.{i}", a, b) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))])


def norm_shapes(name, *shape):
    return {f"{name}.weight": shape, f"{name}.bias": shape}


def layer_norm(x, w, name, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps)


def batch_norm(x, w, name, eps=1e-5):
    return F.batch_norm(x, None, None, w[f"{name}.weight"], w[f"{name}.bias"], training=True, eps=eps)


def bce(logit, target):
    return F.binary_cross_entropy_with_logits(logit, target)


def adam(betas=(0.9, 0.999), decay=lambda name: 0, rate=RATE):
    def make(weights, tables):
        groups = [{"params": [weight], "weight_decay": decay(name)} for name, weight in weights.items()]
        sparse = [torch.optim.SparseAdam(list(tables.values()), lr=rate, betas=betas)] if tables else []
        return [torch.optim.Adam(groups, lr=rate, betas=betas), *sparse]

    return make


def sgd(rate):
    return lambda weights, tables: [torch.optim.SGD([*weights.values(), *tables.values()], lr=rate)]


# --- what the CTR models read: 3 slots of dim 2, 2 dense values

SLOTS, DIM, DENSE = 3, 2, 2
CTR = {"sparse_inputs_slots": SLOTS + 1, "sparse_feature_dim": DIM, "dense_input_dim": DENSE}
ROWS = {"embedding": (DIM, SIGNS)}


def ctr_line():
    return [label("click"), *values("dense_feature", DENSE), *signs("1", 1), *signs("2", 1, 3), *signs("3", 0, 1)]


def ctr_rows(rows, samples, table="embedding"):
    """[B, slots, dim]."""
    return rows.pooled(table, ids(samples, "1", "2", "3"))


def dense_of(samples):
    return column(samples, "dense_feature")


def click_loss(logit, samples):
    return bce(logit, column(samples, "click"))


def field_vectors(w, rows, samples):
    """A row a slot, and for each dense value its vector times the value: [B, fields, dim]."""
    return torch.cat([ctr_rows(rows, samples), dense_of(samples).unsqueeze(2) * w["dense_vectors"]], 1)


FIELDS = SLOTS + DENSE
WIDTH = SLOTS * DIM + DENSE
DENSE_VECTORS = {"dense_vectors": (DENSE, DIM)}


@model(
    "dcn", line=ctr_line,
    hyper=CTR | {"fc_sizes": [4, 3], "cross_num": 2, "l2_reg_cross": 0.03, "optimizer.learning_rate": RATE},
    shapes=merged(*[{f"cross.{i}.weight": (WIDTH, 1), f"cross.{i}.bias": (WIDTH,)} for i in range(2)], mlp_shapes("dnn", WIDTH, 4, 3), linear_shapes("fc", WIDTH + 3, 1)),
    tables=ROWS, optimizers=adam(decay=lambda name: 0.03 if name.startswith("cross") and name.endswith("weight") else 0),
)
def dcn(w, rows, samples):
    x0 = x = torch.cat([ctr_rows(rows, samples).flatten(1), dense_of(samples)], 1)
    for i in range(2):
        # x0 x' w, as the paper has it: an outer product times a vector
        x = (x0.unsqueeze(2) @ x.unsqueeze(1) @ w[f"cross.{i}.weight"]).squeeze(2) + w[f"cross.{i}.bias"] + x
    deep = mlp(x0, w, "dnn", 2, last=torch.relu)
    return click_loss(linear(torch.cat([deep, x], 1), w, "fc"), samples)


@model(
    "xdeepfm", line=ctr_line,
    hyper=CTR | {"layer_sizes_dnn": [4, 3], "layer_sizes_cin": [3, 2], "optimizer.learning_rate": RATE},
    shapes=merged(
        linear_shapes("dense_one", DENSE, 1), DENSE_VECTORS, {"cin.0.weight": (FIELDS * FIELDS, 3), "cin.1.weight": (FIELDS * 3, 2)},
        linear_shapes("cin_fc", 5, 1), mlp_shapes("dnn", FIELDS * DIM, 4, 3, 1),
    ),
    tables=ROWS | {"embedding_one": (1, SIGNS)},
    optimizers=adam(decay=lambda name: 0.0001 if name.endswith("weight") and name.startswith(("cin", "dnn")) else 0),
)
def xdeepfm(w, rows, samples):
    x0 = x = field_vectors(w, rows, samples)
    sums = []
    for k, out in enumerate([3, 2]):
        x = torch.einsum("bid,bjd,ijh->bhd", x0, x, w[f"cin.{k}.weight"].reshape(FIELDS, x.shape[1], out))
        sums.append(x.sum(2))
    first = ctr_rows(rows, samples, "embedding_one").sum(1) + linear(dense_of(samples), w, "dense_one")
    logit = first + linear(torch.cat(sums, 1), w, "cin_fc") + mlp(x0.flatten(1), w, "dnn", 3)
    return click_loss(logit, samples)


# --- autoint: 4 fields of a feature and its value, dim 3, two heads


@model(
    "autoint", seed=3,
    line=lambda: [label("label"), *signs("feat_index", 4), *values("feat_value", 4)],
    hyper={"embedding_dim": 3, "num_field": 4, "head_num": 2, "attn_layer_sizes": [4, 6], "fc_sizes": [3], "use_wide": True, "optimizer.learning_rate": SMALL},
    shapes=merged(
        *[{f"attention_{i}.{part}.weight": (width, out) for part in ("query", "key", "value", "residual")} for i, (width, out) in enumerate([(3, 4), (4, 6)])],
        norm_shapes("attention_0.norm", 4), norm_shapes("attention_1.norm", 6), linear_shapes("fc", 24, 1),
        linear_shapes("dnn.0", 12, 3), norm_shapes("dnn.norm_0", 3), linear_shapes("dnn.out", 3, 1),
    ),
    tables={"embedding": (3, SIGNS), "weights": (1, SIGNS)}, optimizers=adam(rate=SMALL),
)
def autoint(w, rows, samples):
    scale = column(samples, "feat_value")
    each = lambda table: torch.stack([rows.rows(table, [int(sign) for sign in sample["feat_index"]]) for sample in samples])
    first = x = each("embedding") * scale.unsqueeze(2)
    for i in range(2):
        q, k, v = [torch.relu(x @ w[f"attention_{i}.{part}.weight"]).chunk(2, 2) for part in ("query", "key", "value")]
        heads = [(q[h] @ k[h].transpose(1, 2) / math.sqrt(q[h].shape[2])).softmax(2) @ v[h] for h in range(2)]
        x = torch.relu(torch.cat(heads, 2) + torch.relu(x @ w[f"attention_{i}.residual.weight"]))
        x = layer_norm(x, w, f"attention_{i}.norm", 1e-8)
    wide = (each("weights")[:, :, 0] * scale).sum(1, keepdim=True)
    deep = torch.relu(batch_norm(linear(first.flatten(1), w, "dnn.0"), w, "dnn.norm_0", 0.001))
    return bce(linear(x.flatten(1), w, "fc") + wide + linear(deep, w, "dnn.out"), column(samples, "label"))


@model(
    "dlrm", line=ctr_line,
    hyper=CTR | {"bot_layer_sizes": [3, 2], "top_layer_sizes": [4, 2], "num_field": SLOTS, "optimizer.learning_rate": 0.1},
    shapes=merged(
        mlp_shapes("bottom", DENSE, 3, 2), norm_shapes("bottom.norm_0", 3), norm_shapes("bottom.norm_1", 2),
        linear_shapes("top.0", 2 + 6, 4), norm_shapes("top.norm_0", 4), linear_shapes("out", 4, 2),
    ),
    tables=ROWS, optimizers=sgd(0.1),
)
def dlrm(w, rows, samples):
    hidden = lambda x, name, i: batch_norm(torch.relu(linear(x, w, f"{name}.{i}")), w, f"{name}.norm_{i}")
    bottom = hidden(hidden(dense_of(samples), "bottom", 0), "bottom", 1)
    vectors = [*ctr_rows(rows, samples).unbind(1), bottom]
    dots = [(vectors[i] * vectors[j]).sum(1) for i in range(4) for j in range(i + 1, 4)]
    logits = linear(hidden(torch.cat([bottom, torch.stack(dots, 1)], 1), "top", 0), w, "out")
    return F.cross_entropy(logits, column(samples, "click", int)[:, 0])


@model(
    "fibinet", line=ctr_line,
    hyper=CTR | {"bilinear_type": "each", "reduction_ratio": 2, "dropout_rate": 0, "fc_sizes": [4], "optimizer.learning_rate": RATE},
    shapes=merged(
        linear_shapes("senet.fc.0", 3, 1), linear_shapes("senet.fc.1", 1, 3), {"senet_bilinear.weight": (2, DIM, DIM), "bilinear.weight": (2, DIM, DIM)},
        linear_shapes("fc.0", 2 * 3 * DIM + DENSE, 4), linear_shapes("logit", 4, 1),
    ),
    tables=ROWS,
)
def fibinet(w, rows, samples):
    x = ctr_rows(rows, samples)
    squeezed = torch.relu(linear(torch.relu(linear(x.mean(2), w, "senet.fc.0")), w, "senet.fc.1"))
    pairs = lambda v, name: [(v[:, i] @ w[f"{name}.weight"][i]) * v[:, j] for i in range(3) for j in range(i + 1, 3)]
    products = pairs(x * squeezed.unsqueeze(2), "senet_bilinear") + pairs(x, "bilinear")
    hidden = torch.relu(linear(torch.cat([*products, dense_of(samples)], 1), w, "fc.0"))
    return click_loss(linear(hidden, w, "logit"), samples)


# Norms of two columns are 1 and -1, with gradients that 32 bits do not hold.
MASK_DIM = 4


def mask_shapes(i, width, out, features=FIELDS * MASK_DIM):
    name = f"block_{i}"
    return merged(mlp_shapes(f"{name}.mask", features, width, width), {f"{name}.hidden.weight": (width, out)}, norm_shapes(f"{name}.norm", out))


def mask_input(w, rows, samples):
    x = field_vectors(w, rows, samples)
    normed = [F.layer_norm(x[:, f], (MASK_DIM,), w["norm.weight"][f], w["norm.bias"][f]) for f in range(FIELDS)]
    return x.flatten(1), torch.cat(normed, 1)


def mask_block(w, i, features, x):
    masked = x * mlp(features, w, f"block_{i}.mask", 2)
    return torch.relu(layer_norm(masked @ w[f"block_{i}.hidden.weight"], w, f"block_{i}.norm"))


@model(
    "masknet", seed=3, line=ctr_line, hyper=CTR | {"sparse_feature_dim": MASK_DIM, "model_type": "serial", "reduction_ratio": 1, "fc_sizes": [6, 5], "optimizer.learning_rate": SMALL},
    shapes=merged({"dense_vectors": (DENSE, MASK_DIM)}, norm_shapes("norm", FIELDS, MASK_DIM), mask_shapes(0, FIELDS * MASK_DIM, 6), mask_shapes(1, 6, 5), linear_shapes("logit", 5, 1)),
    tables={"embedding": (MASK_DIM, SIGNS)}, optimizers=adam(rate=SMALL),
)
def masknet(w, rows, samples):
    features, x = mask_input(w, rows, samples)
    return click_loss(linear(mask_block(w, 1, features, mask_block(w, 0, features, x)), w, "logit"), samples)


@model(
    "masknet_parallel", line=ctr_line,
    hyper=CTR | {"sparse_feature_dim": MASK_DIM, "model_type": "parallel", "reduction_ratio": 1, "block_num": 2, "block_dim": 3, "fc_sizes": [4], "optimizer.learning_rate": RATE},
    shapes=merged({"dense_vectors": (DENSE, MASK_DIM)}, norm_shapes("norm", FIELDS, MASK_DIM), mask_shapes(0, FIELDS * MASK_DIM, 3), mask_shapes(1, FIELDS * MASK_DIM, 3), linear_shapes("fc.0", 6, 4), linear_shapes("logit", 4, 1)),
    tables={"embedding": (MASK_DIM, SIGNS)},
)
def masknet_parallel(w, rows, samples):
    features, x = mask_input(w, rows, samples)
    blocks = torch.cat([mask_block(w, i, features, x) for i in range(2)], 1)
    return click_loss(linear(torch.relu(linear(blocks, w, "fc.0")), w, "logit"), samples)


@model(
    "ppnet", line=ctr_line, hyper=CTR | {"prior_slots": [1, 3], "fc_sizes": [4, 3], "gate_size": 2, "optimizer.learning_rate": RATE},
    shapes=merged(
        mlp_shapes("fc", WIDTH, 4, 3), linear_shapes("logit", 3, 1),
        *[merged(linear_shapes(f"gate_{i}.fc.0", 2 * DIM + WIDTH, 2), linear_shapes(f"gate_{i}.fc.1", 2, out)) for i, out in enumerate([4, 3])],
    ),
    tables=ROWS | {"prior": (DIM, SIGNS)},
)
def ppnet(w, rows, samples):
    x = torch.cat([ctr_rows(rows, samples).flatten(1), dense_of(samples)], 1)
    prior = torch.cat([rows.pooled("prior", ids(samples, "1", "3")).flatten(1), x.detach()], 1)
    for i in range(2):
        gate = 2 * torch.sigmoid(linear(torch.relu(linear(prior, w, f"gate_{i}.fc.0")), w, f"gate_{i}.fc.1"))
        x = torch.relu(linear(x, w, f"fc.{i}")) * gate
    return click_loss(linear(x, w, "logit"), samples)


@model(
    "finalnet", line=ctr_line,
    hyper=CTR | {"block_type": "2B", "block1_sizes": [4], "block2_sizes": [4, 2], "optimizer.learning_rate": RATE},
    shapes=merged(
        DENSE_VECTORS, linear_shapes("gate", FIELDS, FIELDS), linear_shapes("block1.0.linear", 2 * FIELDS * DIM, 4), norm_shapes("block1.norm_0", 4), linear_shapes("block1.out", 4, 1),
        linear_shapes("block2.0.linear", FIELDS * DIM, 4), norm_shapes("block2.norm_0", 4), linear_shapes("block2.1.linear", 4, 2), norm_shapes("block2.norm_1", 2), linear_shapes("block2.out", 2, 1),
    ),
    tables=ROWS,
)
def finalnet(w, rows, samples):
    vectors = field_vectors(w, rows, samples)
    gates = linear(vectors.transpose(1, 2), w, "gate").transpose(1, 2)

    def block(x, name, layers):
        x = x.flatten(1)
        for i in range(layers):
            a, b = linear(x, w, f"{name}.{i}.linear").chunk(2, 1)
            x = batch_norm(torch.cat([a, a * b], 1), w, f"{name}.norm_{i}")
        return linear(x, w, f"{name}.out")

    one, two = block(torch.cat([vectors, vectors * gates], 1), "block1", 1), block(vectors, "block2", 2)
    both = (one + two) / 2
    taught = both.sigmoid().detach()
    return click_loss(both, samples) + bce(one, taught) + bce(two, taught)


# --- multitask: 5 features, two labels


def tasks_line():
    return [*values("input", 5), label("label_income"), label("label_marital")]


def tasks_loss(inputs, w, samples):
    names = ["label_income", "label_marital"]
    return sum(F.cross_entropy(mlp(x, w, f"tower_{i}", 2), column(samples, names[i], int)[:, 0]) for i, x in enumerate(inputs))


@model(
    "share_bottom", line=tasks_line, hyper={"feature_size": 5, "bottom_size": 4, "tower_size": 3, "optimizer.learning_rate": RATE},
    shapes=merged(linear_shapes("bottom", 5, 4), *[mlp_shapes(f"tower_{i}", 4, 3, 2) for i in range(2)]),
)
def share_bottom(w, rows, samples):
    bottom = torch.relu(linear(column(samples, "input"), w, "bottom"))
    return tasks_loss([bottom, bottom], w, samples)


def level_shapes(level, width, last):
    experts = [linear_shapes(f"level_{level}.expert_{t}_{i}", width, 3) for t in range(2) for i in range(2)]
    gates = [linear_shapes(f"level_{level}.gate_{t}", width, 3) for t in range(2)]
    shared = [linear_shapes(f"level_{level}.shared_0", width, 3)] + ([] if last else [linear_shapes(f"level_{level}.gate_shared", width, 5)])
    return merged(*experts, *gates, *shared)


@model(
    "ple", line=tasks_line,
    hyper={"feature_size": 5, "shared_num": 1, "exp_per_task": 2, "level_number": 2, "expert_size": 3, "tower_size": 4, "optimizer.learning_rate": RATE},
    shapes=merged(level_shapes(0, 5, False), level_shapes(1, 3, True), *[mlp_shapes(f"tower_{i}", 3, 4, 2) for i in range(2)]),
)
def ple(w, rows, samples):
    x = column(samples, "input")
    inputs = [x, x, x]
    for level in range(2):
        expert = lambda x, name: torch.relu(linear(x, w, f"level_{level}.{name}"))
        mix = lambda x, gate, experts: sum(share.unsqueeze(1) * e for share, e in zip(linear(x, w, f"level_{level}.{gate}").softmax(1).unbind(1), experts))
        own = [[expert(inputs[t], f"expert_{t}_{i}") for i in range(2)] for t in range(2)]
        shared = [expert(inputs[2], "shared_0")]
        after = [mix(inputs[t], f"gate_{t}", own[t] + shared) for t in range(2)]
        inputs = after + ([mix(inputs[2], "gate_shared", own[0] + own[1] + shared)] if level == 0 else [])
    return tasks_loss(inputs, w, samples)


# --- sequences: a sample at a time, without padding


def together(*slots, low=1, high=4):
    """Slots with equally many signs."""
    count = random.randint(low, high)
    return [item for slot in slots for item in signs(slot, count)]


def sequence_of(rows, sample, parts):
    """Rows of several tables side by side: [T, dims]."""
    return torch.cat([rows.rows(table, [int(sign) for sign in sample[slot]]) for slot, table in parts], 1)


def attention_of(x, w, name, heads, causal=False, memory=None):
    """[T, d] through multi-head attention, head by head; keys and values of `memory`, where it is given."""
    others = x if memory is None else memory
    q, k, v = [linear(source, w, f"{name}.{part}").chunk(heads, 1) for part, source in (("query", x), ("key", others), ("value", others))]
    seen = torch.ones(len(x), len(x)).tril().bool() if causal else torch.ones(len(x), len(x)).bool()
    mixed = [(q[h] @ k[h].T / math.sqrt(q[h].shape[1])).masked_fill(~seen, -math.inf).softmax(1) @ v[h] for h in range(heads)]
    return linear(torch.cat(mixed, 1), w, f"{name}.out") if f"{name}.out.weight" in w else torch.cat(mixed, 1)


def block_shapes(name, width, inner, layers=("query", "key", "value", "out")):
    parts = [linear_shapes(f"{name}.attention.{part}", width, width) for part in layers]
    return merged(*parts, mlp_shapes(f"{name}.ffn", width, inner, width), norm_shapes(f"{name}.norm_0", width), norm_shapes(f"{name}.norm_1", width))


@model(
    "bst",
    line=lambda: [label("label"), *signs("userid", 1), *together("history", "cate", "position"), *signs("target", 1), *signs("target_cate", 1), *signs("target_position", 1)],
    hyper={
        "item_emb_size": 2, "cat_emb_size": 1, "position_emb_size": 1, "d_model": 4, "n_head": 2, "d_inner_hid": 3, "dropout_rate": 0,
        "fc_sizes": [3], "n_encoder_layers": 2, "optimizer.learning_rate": 0.1,
    },
    shapes=merged(block_shapes("encoder_0", 4, 3), block_shapes("encoder_1", 4, 3), norm_shapes("norm", 4), mlp_shapes("fc", 4, 3, 1), {"bias": (1,)}),
    tables={"item": (2, SIGNS), "category": (1, SIGNS), "position": (1, SIGNS), "user": (4, SIGNS)}, optimizers=sgd(0.1),
)
def bst(w, rows, samples):
    leaky = lambda x: F.leaky_relu(x, 0.01)
    logits = []
    for sample in samples:
        seen = sequence_of(rows, sample, [("history", "item"), ("cate", "category"), ("position", "position")])
        target = sequence_of(rows, sample, [("target", "item"), ("target_cate", "category"), ("target_position", "position")])
        x = torch.cat([seen, target])
        for i in range(2):
            x = x + attention_of(layer_norm(x, w, f"encoder_{i}.norm_0"), w, f"encoder_{i}.attention", 2)
            x = x + mlp(layer_norm(x, w, f"encoder_{i}.norm_1"), w, f"encoder_{i}.ffn", 2, activation=leaky)
        elements = torch.cat([rows.rows("user", [int(sample["userid"][0])]), layer_norm(x, w, "norm")])
        logits.append(mlp(elements, w, "fc", 2, activation=leaky).sum() + w["bias"][0])
    return bce(torch.stack(logits).unsqueeze(1), column(samples, "label"))


@model(
    "sasrec",
    line=lambda: together("history", "next", "other"),
    hyper={"maxlen": 5, "hidden_units": 4, "num_blocks": 2, "num_heads": 2, "dropout_rate": 0, "lazy_rows": True, "optimizer.learning_rate": SMALL},
    shapes=merged({"position": (5, 4)}, *[block_shapes(f"block_{i}", 4, 4, ("query", "key", "value")) for i in range(2)], norm_shapes("norm", 4)),
    tables={"item_emb": (4, SIGNS)}, optimizers=adam(betas=(0.9, 0.98), rate=SMALL),
)
def sasrec(w, rows, samples):
    losses = []
    for sample in samples:
        items = lambda slot: rows.rows("item_emb", [int(sign) for sign in sample[slot]])
        x = items("history") * 2  # the square root of 4 columns
        x = x + w["position"][-len(x) :]  # the last item has the last place, as with padding on the left
        for i in range(2):
            queries = layer_norm(x, w, f"block_{i}.norm_0")
            x = layer_norm(queries + attention_of(queries, w, f"block_{i}.attention", 2, causal=True, memory=x), w, f"block_{i}.norm_1")
            x = x + mlp(x, w, f"block_{i}.ffn", 2)
        x = layer_norm(x, w, "norm")
        losses += (F.softplus(-(x * items("next")).sum(1)) + F.softplus((x * items("other")).sum(1))).unbind()
    return torch.stack(losses).sum() / len(samples)


@model(
    "dien",
    line=lambda: [*together("hist_item_seq", "hist_cat_seq", "neg_hist_item_seq", "neg_hist_cat_seq"), *signs("target_item", 1), *signs("target_cat", 1), label("label")],
    hyper={"item_emb_size": 2, "cat_emb_size": 1, "max_len": 4, "fc_sizes": [3], "act": "sigmoid", "aux_weight": 0.5, "optimizer.learning_rate_base_lr": 0.1},
    shapes=merged(
        *[{f"{name}.input_weight": (3, 9), f"{name}.state_weight": (3, 9), f"{name}.input_bias": (9,), f"{name}.state_bias": (9,)} for name in ("interest", "evolution")],
        mlp_shapes("attention.fc", 12, 3, 1), mlp_shapes("fc", 6, 3, 1),
    ),
    tables={"item_emb": (2, SIGNS), "cat_emb": (1, SIGNS), "item_b": (1, SIGNS)}, optimizers=sgd(0.1),
)
def dien(w, rows, samples):
    logits, extra = [], []
    for sample in samples:
        part = lambda items, kinds: sequence_of(rows, sample, [(items, "item_emb"), (kinds, "cat_emb")])
        seen, unseen, target = part("hist_item_seq", "hist_cat_seq"), part("neg_hist_item_seq", "neg_hist_cat_seq"), part("target_item", "target_cat")
        gru = [w[f"interest.{name}"] for name in ("input_weight", "state_weight", "input_bias", "state_bias")]
        states, h = [], torch.zeros(1, 3)
        for row in seen:
            h = torch.gru_cell(row.unsqueeze(0), h, gru[0].T, gru[1].T, gru[2], gru[3])
            states.append(h[0])
        states = torch.stack(states)
        query = target.expand(len(states), 3)
        scores = mlp(torch.cat([states, query, states - query, states * query], 1), w, "attention.fc", 2, activation=torch.sigmoid)
        attention = (scores[:, 0] / math.sqrt(3)).softmax(0)
        h = torch.zeros(3)
        for state, share in zip(states, attention):
            xr, xu, xn = (state @ w["evolution.input_weight"] + w["evolution.input_bias"]).chunk(3)
            hr, hu, hn = (h @ w["evolution.state_weight"] + w["evolution.state_bias"]).chunk(3)
            update = share * torch.sigmoid(xu + hu)
            h = (1 - update) * h + update * torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
        top = mlp(torch.cat([h, target[0]]).unsqueeze(0), w, "fc", 2, activation=torch.sigmoid)
        logits.append(top + rows.rows("item_b", [int(sample["target_item"][0])]))
        extra += (F.softplus(-(states[:-1] * seen[1:]).sum(1)) + F.softplus((states[:-1] * unseen[1:]).sum(1))).unbind()
    return bce(torch.cat(logits), column(samples, "label")) + 0.5 * torch.stack(extra).mean()


@model(
    "mind",
    line=lambda: [*signs("hist_item", 1, 4), *signs("target_item", 1)],
    hyper={"embedding_dim": 3, "hidden_size": 3, "maxlen": 4, "pow_p": 2, "capsual.max_k": 2, "optimizer.learning_rate": RATE},
    shapes={"capsules.map.weight": (3, 3), "capsules.routing": (2, 4), **linear_shapes("capsules.out", 3, 3)},
    tables={"item_emb": (3, SIGNS)},
)
def mind(w, rows, samples):
    def squash(z):
        square = (z * z).sum(-1, keepdim=True)
        return z * square / (1 + square) / (square + 1e-8).sqrt()

    users, items = [], []
    for sample in samples:
        low = rows.rows("item_emb", [int(sign) for sign in sample["hist_item"]]) @ w["capsules.map.weight"]
        scores = w["capsules.routing"].detach()[:, : len(low)]
        for _ in range(2):
            scores = scores + squash(scores.softmax(0) @ low.detach()) @ low.detach().T
        interests = torch.relu(linear(squash(scores.softmax(0) @ low), w, "capsules.out"))
        item = rows.rows("item_emb", [int(sample["target_item"][0])])[0]
        users.append((interests @ item).square().softmax(0) @ interests)
        items.append(item)
    # The routing's first scores do not learn: their gradient is zero.
    return F.cross_entropy(torch.stack(users) @ torch.stack(items).T, torch.arange(BATCH)) + 0 * w["capsules.routing"].sum()


@model(
    "youtube_dnn",
    line=lambda: [*signs("watch", 1, 4), *signs("search", 0, 2), *values("other_feat", 2), f"label:{random.randrange(6)}"],
    hyper={"watch_vec_size": 2, "search_vec_size": 2, "other_feat_size": 2, "output_size": 6, "layers": [4, 3], "recall_k": 2, "optimizer.learning_rate": 0.1},
    shapes=merged(mlp_shapes("tower", 6, 4, 3), {"item.weight": (6, 3), "item.bias": (6,)}),
    tables={"watch": (2, SIGNS), "search": (2, SIGNS)}, optimizers=sgd(0.1),
)
def youtube_dnn(w, rows, samples):
    mean_of = lambda table: torch.stack([rows.rows(table, [int(sign) for sign in sample.get(table, ["0"])]).mean(0) for sample in samples])
    user = mlp(torch.cat([mean_of("watch"), mean_of("search"), column(samples, "other_feat")], 1), w, "tower", 2, last=torch.relu)
    return F.cross_entropy(user @ w["item.weight"].T + w["item.bias"], column(samples, "label", int)[:, 0])


for name, parts in MODELS.items():
    if len(sys.argv) > 1 and name not in sys.argv:
        continue
    random.seed(parts["seed"])
    torch.manual_seed(parts["seed"])
    text = [" ".join(parts["line"]()) for _ in range(STEPS * BATCH)]
    write(name, record(parts["net"], parts["hyper"], text, parts["shapes"], parts["tables"], parts["optimizers"]))
