"""Click-through models that came later, each from its paper."""
import math

import torch
import torch.nn.functional as F

from .ctr import click, fields, pairs, upstream, with_dense
from .scope import bce, cut_normal, lecun, normal, ones, twin, uniform, zeros


@twin("rank/autoint")
def autoint(p, batch, h):
    scale = batch.dense("feat_value")
    each = lambda table, dim, std: p.sequence(table, dim, batch.ids("feat_index"), normal(std))[0] * scale.unsqueeze(2)
    x = each("embedding", h["embedding_dim"], 0.01)
    for i, width in enumerate(h["attn_layer_sizes"]):
        q, k, v = [torch.relu(p.linear(x, f"attention_{i}.{part}", width, bias=False)).chunk(h["head_num"], 2) for part in ("query", "key", "value")]
        heads = [(a @ b.transpose(1, 2) / math.sqrt(a.shape[2])).softmax(2) @ c for a, b, c in zip(q, k, v)]
        x = torch.relu(torch.cat(heads, 2) + torch.relu(p.linear(x, f"attention_{i}.residual", width, bias=False)))
        x = p.layer_norm(x, f"attention_{i}.norm", 1e-8)
    logit, label = p.linear(x.flatten(1), "fc", 1) + each("weights", 1, 0.001).sum(1), batch.label("label")
    return bce(logit, label), {"auc": (logit, label)}


@twin("rank/dlrm")
def dlrm(p, batch, h):
    def hidden(x, name, sizes):
        for i, out in enumerate(sizes):
            x = p.batch_norm(torch.relu(p.linear(x, f"{name}.{i}", out, lecun)), f"{name}.norm_{i}")
        return x

    bottom = hidden(batch.dense("dense_feature"), "bottom", h["bot_layer_sizes"])
    rows = fields(p, batch, h, init=cut_normal(1 / math.sqrt(h["sparse_feature_dim"])))
    vectors = torch.cat([rows, bottom.unsqueeze(1)], 1)
    left, right = pairs(vectors.shape[1])
    dots = (vectors @ vectors.transpose(1, 2))[:, left, right]
    logits = p.linear(hidden(torch.cat([bottom, dots], 1), "top", h["top_layer_sizes"][:-1]), "out", 2, lecun)
    label = batch.label("click")
    return F.cross_entropy(logits, label[:, 0].long()), {"auc": (logits[:, 1:] - logits[:, :1], label)}


@twin("rank/masknet")
def masknet(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    features = vectors.flatten(1)
    shape = vectors.shape[1:]
    normed = F.layer_norm(vectors, shape[1:]) * p("norm.weight", *shape, init=ones) + p("norm.bias", *shape, init=zeros)
    x = normed.flatten(1)
    for i, out in enumerate(h["fc_sizes"]):
        masked = x * p.mlp(features, f"block_{i}.mask", [int(x.shape[1] * h["reduction_ratio"]), x.shape[1]])
        x = torch.relu(p.layer_norm(p.linear(masked, f"block_{i}.hidden", out, bias=False), f"block_{i}.norm"))
    return click(p.linear(x, "logit", 1), batch)


@twin("rank/ppnet")
def ppnet(p, batch, h):
    x = torch.cat([fields(p, batch, h).flatten(1), batch.dense("dense_feature")], 1)
    own = [p.pooled("prior", h["sparse_feature_dim"], batch.ids(str(slot))) for slot in h["prior_slots"]]
    prior = torch.cat([*own, x.detach()], 1)
    for i, out in enumerate(h["fc_sizes"]):
        gate = 2 * p.mlp(prior, f"gate_{i}.fc", [h["gate_size"], out], last=torch.sigmoid)
        x = p.linear(x, f"fc.{i}", out, act=torch.relu) * gate
    return click(p.linear(x, "logit", 1), batch)


@twin("rank/finalnet")
def finalnet(p, batch, h):
    vectors = with_dense(p, batch, h, fields(p, batch, h))
    count = vectors.shape[1]
    gates = (vectors.transpose(1, 2) @ p("gate.weight", count, count, init=zeros) + p("gate.bias", count, init=ones)).transpose(1, 2)

    def block(x, name, sizes):
        x = x.flatten(1)
        for i, out in enumerate(sizes):
            a, b = p.linear(x, f"{name}.{i}.linear", out).chunk(2, 1)
            x = p.batch_norm(torch.cat([a, a * b], 1), f"{name}.norm_{i}")
        return p.linear(x, f"{name}.out", 1)

    one = block(torch.cat([vectors, vectors * gates], 1), "block1", h["block1_sizes"])
    two = block(vectors, "block2", h["block2_sizes"])
    loss, metrics = click((one + two) / 2, batch)
    taught = torch.sigmoid((one + two) / 2).detach()
    return loss + bce(one, taught) + bce(two, taught), metrics


@twin("rank/dcn_v2")
def dcn_v2(p, batch, h):
    dim, rank, experts = h["sparse_feature_dim"], h["low_rank"], h["num_experts"]
    dense = batch.dense("dense_feature")
    x0 = x = torch.cat([fields(p, batch, h, init=upstream(h)).flatten(1), p.linear(dense, "dense_emb", dense.shape[1] * dim)], 1)
    width = x0.shape[1]
    for i in range(h["cross_num"]):
        matrix = lambda name, a, b: p(f"cross.{i}.{name}", experts, a, b, init=normal(math.sqrt(2 / (a + b))))
        u, v, c = matrix("u", width, rank), matrix("v", width, rank), matrix("c", rank, rank)
        low = torch.tanh(torch.einsum("edr,bd->ber", v, x))
        low = torch.tanh(torch.einsum("ers,bes->ber", c, low))
        each = x0.unsqueeze(1) * (torch.einsum("edr,ber->bed", u, low) + p(f"cross.{i}.bias", width, init=zeros))
        x = torch.einsum("be,bed->bd", p.linear(x, "cross.gate", experts).softmax(1), each) + x
    return click(p.linear(p.mlp(x, "dnn", h["fc_sizes"], last=torch.relu, init=lecun), "fc", 1, lecun), batch)
