"""Histories: what comes next."""
import math

import torch
import torch.nn.functional as F

from .scope import twin, xavier


def items(p, batch, slot, dim):
    return p.sequence(slot, dim, batch.ids(slot), init=xavier, table="item_emb")


def next_item_loss(states, own, others, mask):
    """After every item the next one against 1 and another against 0: the sum of a history, the mean over histories."""
    against = lambda rows, label: F.binary_cross_entropy_with_logits((states * rows).sum(2), torch.full_like(mask, label), reduction="none")
    return ((against(own, 1.0) + against(others, 0.0)) * mask).sum(1).mean()


def ranked(states, own, others, mask, others_mask, k):
    """Hits and gains of the item behind the last state among those drawn."""
    last = torch.arange(len(mask)), mask.sum(1).long() - 1
    user = states[last]
    score = (user * own[last]).sum(1, keepdim=True)
    above = (((others @ user.unsqueeze(2)).squeeze(2) > score) * others_mask).sum(1)
    hit = (above < k).float()
    return {"hr": hit, "ndcg": hit * math.log(2) / torch.log(above + 2.0)}


@twin("recall/hstu")
def hstu(p, batch, h):
    dim, heads, most = h["hidden_units"], h["num_heads"], h["maxlen"] - 1
    rows, mask = items(p, batch, "history", dim)
    own, (others, others_mask) = items(p, batch, "next", dim)[0], items(p, batch, "other", dim)
    x = p.dropout(rows * math.sqrt(dim), h["dropout_rate"])
    at = torch.arange(x.shape[1])
    seen = mask[:, None, :] * (at[:, None] >= at[None, :])
    far = (at[:, None] - at[None, :]).clamp(-most, most) + most
    for i in range(h["num_blocks"]):
        name = f"layer_{i}"
        u, v, q, k = F.silu(p.linear(p.layer_norm(x, f"{name}.norm"), f"{name}.uvqk", 4 * dim, bias=False)).chunk(4, 2)
        bias = p(f"{name}.bias.weight", 2 * most + 1, heads)[far]
        mixed = []
        for n, (a, b, c) in enumerate(zip(q.chunk(heads, 2), k.chunk(heads, 2), v.chunk(heads, 2))):
            mixed.append(F.silu(a @ b.transpose(1, 2) + bias[..., n]) * seen / seen.sum(2, keepdim=True).clamp(min=1) @ c)
        gated = p.layer_norm(torch.cat(mixed, 2), f"{name}.norm_out") * u
        x = (x + p.linear(p.dropout(gated, h["dropout_rate"]), f"{name}.out", dim)) * mask.unsqueeze(2)
    states = p.layer_norm(x, "norm")
    if p.training:
        return next_item_loss(states, own, others, mask), {}
    return torch.zeros(()), ranked(states, own, others, mask, others_mask, h["recall_k"])


@twin("recall/two_tower")
def two_tower(p, batch, h):
    dim = h["embedding_dim"]
    seen, mask = items(p, batch, "history", dim)
    user = seen.sum(1) / mask.sum(1, keepdim=True)
    tower = lambda x, name: F.normalize(p.mlp(x, name, h["fc_sizes"]), dim=1)
    a, b = tower(user, "user_tower"), tower(items(p, batch, "item", dim)[0].sum(1), "item_tower")
    # The share of an item is how often it stands among the negatives: taken off, popular ones are not punished for it.
    near = a @ b.T
    scores = near / h["temperature"] - batch.dense("log_share").T
    above = (near > (a * b).sum(1, keepdim=True) + 1e-5).sum(1)
    return F.cross_entropy(scores, torch.arange(len(a))), {"hit": (above < h.get("recall_k", 10)).float()}


@twin("rank/bert4rec")
def bert4rec(p, batch, h):
    width, heads = h["hidden_size"], h["num_attention_heads"]
    rows, mask = p.sequence("item_emb", width, batch.ids("history"))
    length = h["max_len"]
    rows, mask = F.pad(rows, (0, 0, 0, length - rows.shape[1])), F.pad(mask, (0, length - mask.shape[1]))
    x = p.layer_norm(rows + p("position", length, width), "norm") * mask.unsqueeze(2)
    for i in range(h["num_hidden_layers"]):
        name = f"layer_{i}"
        q, k, v = [p.linear(x, f"{name}.attention.{part}", width).chunk(heads, 2) for part in ("query", "key", "value")]
        scores = [(a @ b.transpose(1, 2) / math.sqrt(width / heads)).masked_fill(mask[:, None, :] == 0, -1e9).softmax(2) * mask[:, None, :] for a, b in zip(q, k)]
        mixed = p.linear(torch.cat([s @ c for s, c in zip(scores, v)], 2), f"{name}.attention.out", width)
        x = p.layer_norm(x + mixed, f"{name}.norm_0")
        x = p.layer_norm(x + p.mlp(x, f"{name}.ffn", [h["intermediate_size"], width], act=F.gelu), f"{name}.norm_1")
    states = p.layer_norm(F.gelu(p.linear(x, "transform", width)), "out_norm")
    logits = states @ p("items.weight", h["item_num"] + 1, width).T + p("items.bias", h["item_num"] + 1)
    truth = batch.dense("truth").long()
    hidden = truth > 0
    return F.cross_entropy(logits[hidden], truth[hidden]), {}


def convolved(p, x, mask, name, out, kernel):
    """tanh of a convolution that keeps the length, then the largest of each channel where there is a word."""
    before = (kernel - 1) // 2
    padded = F.pad(x, (0, 0, before, kernel - 1 - before))
    windows = torch.cat([padded[:, i : i + x.shape[1]] for i in range(kernel)], 2)
    found = torch.tanh(p.linear(windows, name, out))
    return found.masked_fill(mask.unsqueeze(2) == 0, -1e9).amax(1)


@twin("contentunderstanding/textcnn")
def textcnn(p, batch, h):
    x, mask = p.sequence("embedding", h["emb_dim"], batch.ids("words"))
    found = [convolved(p, x, mask, f"conv_{size}", h["cnn_dim"], size) for size in h["cnn_filter_sizes"]]
    logits = p.linear(p.linear(torch.cat(found, 1), "hidden", h["hid_dim"], act=torch.tanh), "out", 2)
    label = batch.label("label")
    return F.cross_entropy(logits, label[:, 0].long()), {"auc": (logits[:, 1:] - logits[:, :1], label)}


@twin("contentunderstanding/tagspace")
def tagspace(p, batch, h):
    x, mask = p.sequence("text_emb", h["emb_dim"], batch.ids("text"))
    vector = p.linear(convolved(p, x, mask, "conv", h["hid_dim"], h["win_size"]), "fc", h["emb_dim"])
    own = p.sequence("tag", h["emb_dim"], batch.ids("pos_tag"), table="tag_emb")[0].sum(1)
    others, there = p.sequence("other", h["emb_dim"], batch.ids("neg_tag"), table="tag_emb")
    near = F.cosine_similarity(vector, own, dim=1).unsqueeze(1)
    far = F.cosine_similarity(vector.unsqueeze(1), others, dim=2)
    return (torch.relu(h["margin"] - near + far) * there).sum() / there.sum().clamp(min=1), {}
