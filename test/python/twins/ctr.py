"""Click-through models over slots and dense values, each from its paper."""
import itertools
import math

import torch
import torch.nn.functional as F

from .scope import bce, cut_normal, lecun, normal, ones, twin, uniform, xavier, zeros


def slots_of(h):
    return [str(i + 1) for i in range(h["sparse_inputs_slots"] - 1)]


def fields(p, batch, h, table="embedding", dim=None, init=uniform(0.05)):
    """A vector a slot, its rows added up: [B, slots, dim]."""
    dim = dim or h["sparse_feature_dim"]
    index, mask, widths = batch.together(slots_of(h))
    rows, _ = p.sequence(table, dim, (index, mask), init)
    if len(rows[0]) == len(widths):
        return rows
    return torch.stack([part.sum(1) for part in rows.split(widths, 1)], 1)


def with_dense(p, batch, h, vectors, name="dense_vectors", init=uniform(0.05)):
    """Beside the slots a vector for each dense value, times the value."""
    dense = batch.dense("dense_feature")
    own = p(name, dense.shape[1], vectors.shape[2], init=init)
    return torch.cat([vectors, dense.unsqueeze(2) * own], 1)


def first_order(p, batch, h, init=uniform(0.05), dense_init=xavier):
    """A weight a feature: [B, 1]."""
    dense = batch.dense("dense_feature")
    return fields(p, batch, h, "embedding_one", 1, init).sum(1) + p.linear(dense, "dense_one", 1, dense_init)


def upstream(h):
    """How PaddleRec begins the rows of fm, deepfm, xdeepfm and dcn."""
    return cut_normal(0.1 / math.sqrt(h["sparse_feature_dim"]))


def click(logit, batch):
    return bce(logit, batch.label("click")), {"auc": (logit, batch.label("click"))}


def pairs(count):
    both = list(itertools.combinations(range(count), 2))
    return [i for i, _ in both], [j for _, j in both]


def pair_sum(vectors):
    left, right = pairs(vectors.shape[1])
    return (vectors[:, left] * vectors[:, right]).sum((1, 2)).unsqueeze(1)


@twin("rank/logistic_regression")
def logistic_regression(p, batch, h):
    init = cut_normal(0.1)  # upstream's
    weights = fields(p, batch, h, "embedding", 1, init)
    logit = weights.sum(1) + p.linear(batch.dense("dense_feature"), "linear", 1, init)
    loss, metrics = click(logit, batch)
    return loss + h["reg"] * weights.abs().sum((1, 2)).mean(), metrics


@twin("rank/fm")
def fm(p, batch, h):
    init = upstream(h)
    vectors = with_dense(p, batch, h, fields(p, batch, h, init=init), init=init)
    return click(first_order(p, batch, h, init, init) + pair_sum(vectors), batch)


@twin("rank/dnn")
def dnn(p, batch, h):
    x = torch.cat([fields(p, batch, h, init=uniform(1)).flatten(1), batch.dense("dense_feature")], 1)
    logits = p.mlp(x, "fc", [*h["fc_sizes"], 2], init=lecun)
    label = batch.label("click")
    return F.cross_entropy(logits, label[:, 0].long()), {"auc": (logits[:, 1:] - logits[:, :1], label)}


@twin("rank/wide_deep")
def wide_deep(p, batch, h):
    dense = batch.dense("dense_feature")
    rows = fields(p, batch, h, init=uniform(1)).flatten(1)
    deep = p.mlp(torch.cat([rows, dense], 1), "fc", [*h["fc_sizes"], 1], init=lecun)
    return click(p.linear(dense, "wide", 1, cut_normal(1 / math.sqrt(dense.shape[1]))) + deep, batch)


@twin("rank/deepfm")
def deepfm(p, batch, h):
    init = upstream(h)
    vectors = with_dense(p, batch, h, fields(p, batch, h, init=init), init=init)
    deep = p.mlp(vectors.flatten(1), "fc", [*h["fc_sizes"], 1], init=lecun)
    return click(first_order(p, batch, h, init, init) + pair_sum(vectors) + deep, batch)


@twin("rank/dcn")
def dcn(p, batch, h):
    x0 = x = torch.cat([fields(p, batch, h, init=upstream(h)).flatten(1), batch.dense("dense_feature")], 1)
    for i in range(h["cross_num"]):
        weight = p(f"cross.{i}.weight", x0.shape[1], 1)
        x = x0 * (x @ weight) + p(f"cross.{i}.bias", x0.shape[1], init=zeros) + x
    deep = p.mlp(x0, "dnn", h["fc_sizes"], last=torch.relu, init=lecun)
    return click(p.linear(torch.cat([deep, x], 1), "fc", 1, lecun), batch)


@twin("rank/xdeepfm")
def xdeepfm(p, batch, h):
    init = upstream(h)
    x0 = x = with_dense(p, batch, h, fields(p, batch, h, init=init), init=init)
    sums = []
    for k, out in enumerate(h["layer_sizes_cin"]):
        weight = p(f"cin.{k}.weight", x0.shape[1] * x.shape[1], out, init=lecun)
        outer = (x0.unsqueeze(2) * x.unsqueeze(1)).flatten(1, 2)  # [B, pairs, d]
        x = torch.einsum("bpd,ph->bhd", outer, weight)
        sums.append(x.sum(2))
    deep = p.mlp(x0.flatten(1), "dnn", [*h["layer_sizes_dnn"], 1], init=lecun)
    return click(first_order(p, batch, h, init) + p.linear(torch.cat(sums, 1), "cin_fc", 1) + deep, batch)


@twin("rank/fibinet")
def fibinet(p, batch, h):
    vectors = fields(p, batch, h)
    count, dim = vectors.shape[1:]
    means = vectors.mean(2)
    inner = max(1, int(count // h["reduction_ratio"]))
    weighted = vectors * p.mlp(means, "senet.fc", [inner, count], last=torch.relu).unsqueeze(2)
    left, right = pairs(count)

    def bilinear(x, name):
        weight = p(f"{name}.weight", 1, dim, dim, init=normal(math.sqrt(1 / dim)))
        return ((x @ weight[0])[:, left] * x[:, right]).flatten(1)

    x = torch.cat([bilinear(weighted, "senet_bilinear"), bilinear(vectors, "bilinear"), batch.dense("dense_feature")], 1)
    for i, out in enumerate(h["fc_sizes"]):
        x = p.dropout(p.linear(x, f"fc.{i}", out, act=torch.relu), h["dropout_rate"])
    return click(p.linear(x, "logit", 1), batch)


@twin("rank/pnn")
def pnn(p, batch, h):
    vectors = fields(p, batch, h)
    if h["product_type"] == "inner":
        left, right = pairs(vectors.shape[1])
        products = (vectors[:, left] * vectors[:, right]).sum(2)
    else:
        total = vectors.sum(1)
        products = (total.unsqueeze(2) * total.unsqueeze(1)).flatten(1)
    x = torch.cat([vectors.flatten(1), products, batch.dense("dense_feature")], 1)
    return click(p.mlp(x, "fc", [*h["fc_sizes"], 1]), batch)


@twin("rank/nfm")
def nfm(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    pooled = (vectors.sum(1).square() - vectors.square().sum(1)) / 2
    pooled = p.dropout(p.batch_norm(pooled, "norm"), h["dropout_rate"])
    return click(first_order(p, batch, h) + p.mlp(pooled, "fc", [*h["fc_sizes"], 1]), batch)


@twin("rank/afm")
def afm(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    left, right = pairs(vectors.shape[1])
    products = vectors[:, left] * vectors[:, right]
    hidden = p.linear(products, "attention", h["attention_size"], act=torch.relu)
    weights = (hidden @ p("attention_out", h["attention_size"], 1)).softmax(1)
    pooled = p.dropout((weights * products).sum(1), h["dropout_rate"])
    return click(first_order(p, batch, h) + p.linear(pooled, "out", 1, bias=False), batch)


@twin("rank/ffm")
def ffm(p, batch, h):
    dense = batch.dense("dense_feature")
    dim, count = h["sparse_feature_dim"], h["sparse_inputs_slots"] - 1 + dense.shape[1]
    vectors = with_dense(p, batch, h, fields(p, batch, h, dim=dim * count))
    aware = vectors.reshape(len(vectors), count, count, dim)  # of field i, for field j
    second = sum((aware[:, i, j] * aware[:, j, i]).sum(1) for i, j in itertools.combinations(range(count), 2))
    return click(first_order(p, batch, h) + second.unsqueeze(1), batch)


@twin("rank/fwfm")
def fwfm(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    left, right = pairs(vectors.shape[1])
    products = (vectors[:, left] * vectors[:, right]).sum(2)
    return click(first_order(p, batch, h) + products @ p("pairs.weight", len(left), 1), batch)


@twin("rank/deepfefm")
def deepfefm(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    dim = vectors.shape[2]
    left, right = pairs(vectors.shape[1])
    raw = p("pairs.weight", len(left), dim, dim, init=normal(math.sqrt(1 / dim)))
    symmetric = (raw + raw.transpose(1, 2)) / 2
    scores = torch.einsum("bpd,pde,bpe->bp", vectors[:, left], symmetric, vectors[:, right])
    deep = p.mlp(torch.cat([vectors.flatten(1), scores], 1), "fc", [*h["fc_sizes"], 1])
    return click(first_order(p, batch, h) + scores.sum(1, keepdim=True) + deep, batch)


@twin("rank/difm")
def difm(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    count = vectors.shape[1]
    heads, width = h["att_head_num"], h["att_factor_dim"] * h["att_head_num"]
    q, k, v = [(vectors @ p(f"attention.{part}.weight", vectors.shape[2], width)).chunk(heads, 2) for part in ("query", "key", "value")]
    mixed = torch.cat([(a @ b.transpose(1, 2) / math.sqrt(h["att_factor_dim"])).softmax(2) @ c for a, b, c in zip(q, k, v)], 2)
    mixed = torch.relu(mixed + vectors @ p("residual.weight", vectors.shape[2], width))
    by_vector = p.linear(mixed.flatten(1), "vector_out", count, bias=False)
    by_bit = p.linear(p.mlp(vectors.flatten(1), "fc", h["fc_sizes"], last=torch.relu), "bit_out", count, bias=False)
    scale = by_vector + by_bit  # [B, fields]
    dense = batch.dense("dense_feature")
    ones_of = torch.cat([fields(p, batch, h, "embedding_one", 1).squeeze(2), dense * p("dense_one", dense.shape[1], init=uniform(0.05))], 1)
    logit = (ones_of * scale).sum(1, keepdim=True) + pair_sum(vectors * scale.unsqueeze(2)) + p("bias", 1, init=zeros)
    return click(logit, batch)


@twin("rank/gatenet")
def gatenet(p, batch, h):
    vectors = fields(p, batch, h)
    count, dim = vectors.shape[1:]
    gate = torch.sigmoid(torch.einsum("bfd,fde->bfe", vectors, p("gate.weight", count, dim, dim, init=normal(math.sqrt(1 / dim)))))
    x = torch.cat([(vectors * gate).flatten(1), batch.dense("dense_feature")], 1)
    for i, out in enumerate(h["fc_sizes"]):
        x = p.linear(x, f"fc.{i}", out, act=torch.relu)
        x = x * torch.tanh(x @ p(f"hidden_gate_{i}.weight", out, out))
    return click(p.linear(x, "out", 1), batch)


@twin("rank/flen")
def flen(p, batch, h):
    vectors = fields(p, batch, h)
    groups = vectors.split(h["group_sizes"], 1)
    sums = torch.stack([group.sum(1) for group in groups], 1)  # [B, groups, d]
    left, right = pairs(len(groups))
    between = torch.einsum("bpd,p->bd", sums[:, left] * sums[:, right], p("between", len(left), init=ones))
    inside = torch.stack([(group.sum(1).square() - group.square().sum(1)) / 2 for group in groups], 1)
    within = torch.einsum("bgd,g->bd", inside, p("within", len(groups), init=ones))
    linear = first_order(p, batch, h)
    wise = p.linear(torch.cat([linear, between + within], 1), "pooling", h["sparse_feature_dim"] + 1, act=torch.relu)
    deep = p.mlp(torch.cat([vectors.flatten(1), batch.dense("dense_feature")], 1), "fc", h["fc_sizes"], last=torch.relu)
    return click(p.linear(torch.cat([wise, deep], 1), "out", 1), batch)


@twin("rank/fgcnn")
def fgcnn(p, batch, h):
    vectors = fields(p, batch, h)
    dim = vectors.shape[2]
    image, made = fields(p, batch, h, "embedding_fg").unsqueeze(1), []  # [B, channels, fields, d]
    for i, (channels, height, pool, new) in enumerate(zip(h["filters"], h["kernel"], h["pooling"], h["new_filters"])):
        weight = p(f"conv_{i}.weight", height * image.shape[1], channels)
        kernel = weight.reshape(height, image.shape[1], channels).permute(2, 1, 0).unsqueeze(3)
        before = (height - 1) // 2
        padded = F.pad(image, (0, 0, before, height - 1 - before))
        image = torch.tanh(F.conv2d(padded, kernel, p(f"conv_{i}.bias", channels, init=zeros)))
        image = F.max_pool2d(image, (pool, 1))
        flat = image.permute(0, 2, 1, 3).flatten(1)  # fields, then channels, then d
        made.append(p.linear(flat, f"recombine_{i}", image.shape[2] * new * dim, act=torch.tanh).reshape(len(flat), -1, dim))
    both = torch.cat([vectors, *made], 1)
    left, right = pairs(both.shape[1])
    products = (both[:, left] * both[:, right]).sum(2)
    return click(p.mlp(torch.cat([both.flatten(1), products, batch.dense("dense_feature")], 1), "fc", [*h["fc_sizes"], 1]), batch)


@twin("rank/wukong")
def wukong(p, batch, h):
    x = with_dense(p, batch, h, fields(p, batch, h))
    dim = x.shape[2]
    for i in range(h["layer_num"]):
        count, fm_out, lcb_out = x.shape[1], h["fmb_num"], h["lcb_num"]
        # X (X' Y): products of all pairs, seen through k columns
        compressed = x @ (x.transpose(1, 2) @ p(f"layer_{i}.project", count, h["rank"]))
        normed = p.layer_norm(compressed.flatten(1), f"layer_{i}.fm_norm")
        machine = p.mlp(normed, f"layer_{i}.fm", [*h["fmb_sizes"], fm_out * dim], last=torch.relu).reshape(-1, fm_out, dim)
        linear = torch.einsum("bnd,nm->bmd", x, p(f"layer_{i}.compress", count, lcb_out))
        residual = x if count == fm_out + lcb_out else torch.einsum("bnd,nm->bmd", x, p(f"layer_{i}.residual", count, fm_out + lcb_out))
        x = p.layer_norm(torch.cat([machine, linear], 1) + residual, f"layer_{i}.norm")
    return click(p.mlp(x.flatten(1), "fc", [*h["fc_sizes"], 1]), batch)
