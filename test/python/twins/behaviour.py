"""What a user did before: candidates behind a history (DIN, DIEN, BST), and what comes next (SASRec, MIND, YouTubeDNN, NCF)."""
import math

import torch
import torch.nn.functional as F

from .scope import bce, cut_normal, lecun, normal, twin, uniform, zeros
from .sequence import next_item_loss, ranked


def judged(logit, label):
    return bce(logit, label), {"auc": (logit, label)}


def seen(p, batch, h, prefix):
    items, mask = p.sequence(f"{prefix}_item", h["item_emb_size"], batch.ids(f"{prefix}_item_seq"), table="item_emb")
    return torch.cat([items, p.sequence(f"{prefix}_cat", h["cat_emb_size"], batch.ids(f"{prefix}_cat_seq"), table="cat_emb")[0]], 2), mask


def at_hand(p, batch, h):
    item, category = batch.ids("target_item"), batch.ids("target_cat")
    return torch.cat([p.pooled("item_emb", h["item_emb_size"], item), p.pooled("cat_emb", h["cat_emb_size"], category)], 1)


def attention(p, target, keys, mask, h):
    """A softmax over what is there of a network's word on each pair."""
    act = {"sigmoid": torch.sigmoid, "relu": torch.relu, "tanh": torch.tanh}[h["act"]]
    query = target.unsqueeze(1).expand(keys.shape)
    scores = p.mlp(torch.cat([keys, query, keys - query, keys * query], 2), "attention.fc", [*h["fc_sizes"], 1], act)[..., 0]
    return (scores / math.sqrt(keys.shape[2])).masked_fill(mask == 0, -1e9).softmax(1) * mask, act


@twin("rank/din")
def din(p, batch, h):
    (history, mask), target = seen(p, batch, h, "hist"), at_hand(p, batch, h)
    weights, act = attention(p, target, history, mask, h)
    interest = p.linear((weights.unsqueeze(2) * history).sum(1), "interest", history.shape[2])
    score = p.mlp(torch.cat([interest, target], 1), "fc", [*h["fc_sizes"], 1], act)
    return judged(score + p.pooled("item_b", 1, batch.ids("target_item"), zeros), batch.label("label"))


def gru_weights(p, name, width):
    return [p(f"{name}.{part}", *shape, init=uniform(width**-0.5)) for part, shape in (("input_weight", (width, 3 * width)), ("state_weight", (width, 3 * width)), ("input_bias", (3 * width,)), ("state_bias", (3 * width,)))]


@twin("rank/dien")
def dien(p, batch, h):
    (history, mask), target = seen(p, batch, h, "hist"), at_hand(p, batch, h)
    unseen = seen(p, batch, h, "neg_hist")[0]
    width, steps = history.shape[2], history.shape[1]
    wi, ws, bi, bs = gru_weights(p, "interest", width)
    state, states = torch.zeros(len(mask), width), []
    for t in range(steps):
        after = torch.gru_cell(history[:, t], state, wi.T, ws.T, bi, bs)
        state = torch.where(mask[:, t : t + 1] > 0, after, state)
        states.append(state)
    states = torch.stack(states, 1)
    weights, act = attention(p, target, states, mask, h)
    wi, ws, bi, bs = gru_weights(p, "evolution", width)
    final = torch.zeros(len(mask), width)
    for t in range(steps):
        xr, xu, xn = (states[:, t] @ wi + bi).chunk(3, 1)
        hr, hu, hn = (final @ ws + bs).chunk(3, 1)
        update = weights[:, t : t + 1] * torch.sigmoid(xu + hu)
        after = (1 - update) * final + update * torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
        final = torch.where(mask[:, t : t + 1] > 0, after, final)
    logit = p.mlp(torch.cat([final, target], 1), "fc", [*h["fc_sizes"], 1], act) + p.pooled("item_b", 1, batch.ids("target_item"), zeros)
    loss, metrics = judged(logit, batch.label("label"))
    has = mask[:, 1:]
    scores = lambda rows: (states[:, :-1] * rows[:, 1:]).sum(2)
    extra = ((F.softplus(-scores(history)) + F.softplus(scores(unseen))) * has).sum() / has.sum().clamp(min=1)
    return loss + h["aux_weight"] * extra, metrics


@twin("rank/bst")
def bst(p, batch, h):
    def parts(names):
        tables = (("item", h["item_emb_size"]), ("category", h["cat_emb_size"]), ("position", h["position_emb_size"]))
        found = [p.sequence(table, dim, batch.ids(slot), cut_normal(0.1 / math.sqrt(dim))) for slot, (table, dim) in zip(names, tables)]
        return torch.cat([rows for rows, _ in found], 2), found[0][1]

    target, there = parts(("target", "target_cate", "target_position"))
    history, mask = parts(("history", "cate", "position"))
    x, mask = torch.cat([target, history], 1), torch.cat([there, mask], 1)
    leaky, width, heads = (lambda y: F.leaky_relu(y, 0.01)), h["d_model"], h["n_head"]
    for i in range(h["n_encoder_layers"]):
        normed = p.layer_norm(x, f"encoder_{i}.norm_0")
        q, k, v = [p.linear(normed, f"encoder_{i}.attention.{part}", width).unflatten(2, (heads, -1)).transpose(1, 2) for part in ("query", "key", "value")]
        scores = (q @ k.transpose(2, 3) / math.sqrt(width / heads)).masked_fill(mask[:, None, None, :] == 0, -1e9)
        x = x + p.dropout(p.linear((scores.softmax(3) @ v).transpose(1, 2).flatten(2), f"encoder_{i}.attention.out", width), h["dropout_rate"])
        x = x + p.dropout(p.mlp(p.layer_norm(x, f"encoder_{i}.norm_1"), f"encoder_{i}.ffn", [h["d_inner_hid"], width], leaky), h["dropout_rate"])
    user = p.sequence("user", width, batch.ids("userid"), cut_normal(0.1 / math.sqrt(width)))[0]
    each = p.mlp(torch.cat([user, p.layer_norm(x, "norm")], 1), "fc", [*h["fc_sizes"], 1], leaky)[..., 0]
    logit = (each * torch.cat([torch.ones(len(mask), 1), mask], 1)).sum(1, keepdim=True) + p("bias", 1, init=zeros)
    return judged(logit, batch.label("label"))


@twin("recall/sasrec")
def sasrec(p, batch, h):
    dim, heads = h["hidden_units"], h["num_heads"]
    rows = lambda slot: p.sequence(slot, dim, batch.ids(slot), uniform(math.sqrt(6 / (h["item_num"] + dim))), table="item_emb")
    (x, mask), (own, _), (others, others_mask) = rows("history"), rows("next"), rows("other")
    there = mask.unsqueeze(2)
    x = (x * math.sqrt(dim) + normal_places(p, mask, h["maxlen"], dim)) * there
    x = p.dropout(x, h["dropout_rate"])
    visible = torch.ones(x.shape[1], x.shape[1]).tril() * mask[:, None, :]
    for i in range(h["num_blocks"]):
        name = f"block_{i}"
        queries = p.layer_norm(x, f"{name}.norm_0")
        q = p.linear(queries, f"{name}.attention.query", dim).chunk(heads, 2)
        k, v = [p.linear(x, f"{name}.attention.{part}", dim).chunk(heads, 2) for part in ("key", "value")]
        shares = [(a @ b.transpose(1, 2) / math.sqrt(dim / heads)).masked_fill(visible == 0, -1e9).softmax(2) for a, b in zip(q, k)]
        mixed = torch.cat([p.dropout(s, h["dropout_rate"]) @ c for s, c in zip(shares, v)], 2)
        normed = p.layer_norm(queries + mixed, f"{name}.norm_1")
        inner = p.dropout(p.linear(normed, f"{name}.ffn.0", dim, act=torch.relu), h["dropout_rate"])
        x = (normed + p.dropout(p.linear(inner, f"{name}.ffn.1", dim), h["dropout_rate"])) * there
    states = p.layer_norm(x, "norm")
    if p.training:
        return next_item_loss(states, own, others, mask), {}
    return torch.zeros(()), ranked(states, own, others, mask, others_mask, h["recall_k"])


def normal_places(p, mask, length, dim):
    at = torch.arange(mask.shape[1]) - mask.sum(1, keepdim=True).long() + length
    return p("position", length, dim, init=normal(dim**-0.5))[at.clamp(0, length - 1)]


@twin("recall/mind")
def mind(p, batch, h):
    dim, capsules = h["embedding_dim"], h["capsual"]
    init = normal(dim**-0.5)
    history, mask = p.sequence("history", dim, batch.ids("hist_item"), init, table="item_emb")
    item = p.pooled("target", dim, batch.ids("target_item"), init, table="item_emb")
    squash = lambda z: z * (z * z).sum(-1, keepdim=True) / (1 + (z * z).sum(-1, keepdim=True)) / ((z * z).sum(-1, keepdim=True) + 1e-8).sqrt()
    start = normal(capsules["init_std"])
    low = p.linear(history, "map", dim, start, bias=False)
    scores = p("routing", capsules["max_k"], h["maxlen"], init=start).detach()[:, : low.shape[1]] + 0 * mask[:, None, :]
    gather = lambda at, of: squash((at.softmax(1) * mask[:, None, :]) @ of)
    for _ in range(capsules["iters"] - 1):
        scores = scores + gather(scores, low.detach()) @ low.detach().transpose(1, 2)
    interests = p.linear(gather(scores, low), "out", dim, act=torch.relu)  # [B, K, d]
    near = (interests @ item.unsqueeze(2)).squeeze(2)
    user = (near.pow(h["pow_p"]).softmax(1).unsqueeze(2) * interests).sum(1)
    loss = F.cross_entropy(user @ item.T, torch.arange(len(item)))
    above = ((interests @ item.T).amax(1) > near.amax(1, keepdim=True)).sum(1)
    return loss, {"hit": (above < h["recall_k"]).float()}


@twin("recall/youtube_dnn")
def youtube_dnn(p, batch, h):
    def mean(slot, dim):
        rows, mask = p.sequence(slot, dim, batch.ids(slot))
        return rows.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    x = torch.cat([mean("watch", h["watch_vec_size"]), mean("search", h["search_vec_size"]), batch.dense("other_feat")], 1)
    for i, out in enumerate(h["layers"]):
        weight = p(f"tower.{i}.weight", x.shape[1], out)
        x = torch.relu(x @ weight + p(f"tower.{i}.bias", out, init=lambda shape: torch.full(shape, 0.1)))
    logits = p.linear(x, "item", h["output_size"], lecun)
    label = batch.label("label").long()
    above = (logits > logits.gather(1, label)).sum(1)
    return F.cross_entropy(logits, label[:, 0]), {"recall": (above < h["recall_k"]).float()}


@twin("recall/ncf")
def ncf(p, batch, h):
    init = normal(0.01)
    row = lambda part, slot, dim: p.pooled(f"{part}.{slot}", dim, batch.ids(f"{slot}_input"), init)
    width, *sizes = h["fc_layers"]
    products = row("mf", "user", h["mf_dim"]) * row("mf", "item", h["mf_dim"])
    both = torch.cat([row("mlp", "user", width // 2), row("mlp", "item", width // 2)], 1)
    deep = p.mlp(both, "mlp.fc", sizes, last=torch.relu, init=lecun)
    return judged(p.linear(torch.cat([products, deep], 1), "prediction", 1), batch.label("label"))
