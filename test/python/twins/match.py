"""What matches a history, a session or a query."""
import math

import torch
import torch.nn.functional as F

from .scope import bce, cut_normal, twin
from .sequence import next_item_loss


def prelu(p, x, name):
    slope = p(f"{name}.slope", x.shape[-1], init=lambda shape: torch.full(shape, 0.1))
    return torch.where(x > 0, x, slope * x)


def places(p, mask, name, length, dim):
    """A vector for each place, counted from the end of a history."""
    at = torch.arange(mask.shape[1]) - mask.sum(1, keepdim=True).long() + length
    return p(name, length, dim, init=cut_normal(dim**-0.5))[at.clamp(0, length - 1)]


def pair_scores(p, query, key, name, sizes):
    return p.mlp(torch.cat([key, query, key - query, key * query], 2), name, [*sizes, 1], act=torch.sigmoid)[..., 0]


@twin("rank/dmr")
def dmr(p, batch, h):
    main, other, length = h["main_embedding_size"], h["other_embedding_size"], h["history_length"]
    categories, mask = p.sequence("category", main, batch.ids("cate_his"))
    items = torch.cat([categories, p.sequence("brand", main, batch.ids("brand_his"))[0]], 2)
    item = torch.cat([p.pooled("category", main, batch.ids("cate_id")), p.pooled("brand", main, batch.ids("brand"))], 1)

    def scores(name, known):
        context = [places(p, mask, f"{name}_position", length, other), p.sequence(f"{name}_btag", other, batch.ids("btag_his"))[0]]
        query = prelu(p, p.linear(torch.cat([*known, *context], 2), f"{name}_align", 2 * main), f"{name}_prelu")
        return pair_scores(p, query, items, f"{name}_att.fc", h["att_sizes"])

    # The authors make a vector after every element (row t of a lower triangle) and use those after the last and after the last but one.
    count, rows = mask.sum(1).long(), torch.arange(len(mask))
    triangle = torch.ones(mask.shape[1], mask.shape[1]).tril().bool() & (mask[:, None, :] > 0)
    after = scores("u2i", []).unsqueeze(1).expand(triangle.shape).masked_fill(~triangle, -1e9).softmax(2) @ items
    vectors = prelu(p, p.linear(after, "u2i_fc", main), "u2i_fc_prelu")
    user, earlier = vectors[rows, count - 1], vectors[rows, (count - 2).clamp(min=0)]
    u2i = (user * p.pooled("match", main, batch.ids("cate_id"))).sum(1, keepdim=True)

    related = scores("i2i", [item.unsqueeze(1).expand(items.shape)])
    interest = (related.masked_fill(mask == 0, -1e9).softmax(1).unsqueeze(1) @ items).squeeze(1)
    i2i = (related * mask).sum(1, keepdim=True)

    short = ["cms_segid", "cms_group_id", "final_gender_code", "age_level", "pvalue_level", "shopping_level", "occupation", "new_user_class_level", "pid"]
    profile = [p.pooled(slot, other, batch.ids(slot)) for slot in short] + [p.pooled(slot, main, batch.ids(slot)) for slot in ("uid", "mid", "campaign_id", "customer")]
    total = items.sum(1)
    x = p.batch_norm(torch.cat([*profile, item, batch.dense("price"), total, item * total, u2i, i2i, interest], 1), "norm", eps=0.001)
    for i, out in enumerate(h["fc_sizes"]):
        x = prelu(p, p.linear(x, f"fc.{i}", out), f"fc.{i}")
    logit, label = p.linear(x, "logit", 1), batch.label("label")

    # Negative sampling, equation 8 of the paper, where there is a category before the last.
    taken = p.sequence("match", main, batch.ids("cate_his"))[0][rows, count - 1]
    drawn, there = p.sequence("match", main, batch.ids("neg_cate"))
    each = F.softplus(-(earlier * taken).sum(1)) + (F.softplus((drawn @ earlier.unsqueeze(2)).squeeze(2)) * there).sum(1)
    has = (count > 1).to(each.dtype)
    return bce(logit, label) + h["aux_weight"] * (each * has).sum() / has.sum().clamp(min=1), {"auc": (logit, label)}


def gru_states(p, x, mask, name, units):
    """States after each word; a padded one leaves the state as it was."""
    gate = {part: p(f"{name}.{part}", *shape) for part, shape in (("input_weight", (x.shape[2], 3 * units)), ("state_weight", (units, 3 * units)), ("input_bias", (3 * units,)), ("state_bias", (3 * units,)))}
    h, states = torch.zeros(len(x), units), []
    for t in range(x.shape[1]):
        after = torch.gru_cell(x[:, t], h, gate["input_weight"].T, gate["state_weight"].T, gate["input_bias"], gate["state_bias"])
        h = torch.where(mask[:, t : t + 1] > 0, after, h)
        states.append(h)
    return torch.stack(states, 1)


def text_vector(p, text, name, kind, out):
    x, mask = text
    if kind == "bow":
        return x.sum(1) / mask.sum(1, keepdim=True)
    if kind == "gru":
        states = gru_states(p, x, mask, name, out)
    else:
        padded = F.pad(x, (0, 0, 1, 1))
        states = torch.relu(p.linear(torch.cat([padded[:, i : i + x.shape[1]] for i in range(3)], 2), name, out))
    return states.masked_fill(mask.unsqueeze(2) == 0, -1e9).amax(1)


@twin("match/multiview-simnet")
def multiview_simnet(p, batch, h):
    words = lambda slot: p.sequence(slot, h["embedding_dim"], batch.ids(slot), table="emb")
    encoded = lambda slot, side: text_vector(p, words(slot), side, h[f"{side}_encoder"], h[f"{side}_encode_dim"])
    query = p.linear(encoded("0", "query"), "q_fc", h["hidden_size"])
    near, far = [F.cosine_similarity(query, p.linear(encoded(slot, "title"), "t_fc", h["hidden_size"]), dim=1) for slot in ("1", "2")]
    return torch.relu(h["margin"] - near + far).mean(), {}


@twin("recall/tisas")
def tisas(p, batch, h):
    dim, length, heads = h["hidden_units"], h["maxlen"], h["num_heads"]
    rows = {slot: p.sequence(slot, dim, batch.ids(slot), table="item_emb")[0] for slot in ("history", "next", "other")}
    mask = batch.ids("history")[1]
    T = mask.shape[1]
    time = batch.dense("time")[:, :T]
    apart = (time[:, :, None] - time[:, None, :]).abs().clamp(max=h["time_span"]).long()
    # The paper's r_ij: a vector for every pair of items, for keys and for values.
    r_key, r_value = [p(f"interval_{part}", h["time_span"] + 1, dim)[apart] for part in ("key", "value")]
    p_key, p_value = [places(p, mask, f"place_{part}", length, dim) for part in ("key", "value")]
    seen = torch.ones(T, T).tril() * mask[:, None, :]
    x = rows["history"] * math.sqrt(dim)
    for i in range(h["num_blocks"]):
        name = f"block_{i}"
        q_in = p.layer_norm(x, f"{name}.norm_0", 1e-8)
        q, k, v = p.linear(q_in, f"{name}.attention.query", dim), p.linear(x, f"{name}.attention.key", dim), p.linear(x, f"{name}.attention.value", dim)
        keys, values = (k + p_key)[:, None] + r_key, (v + p_value)[:, None] + r_value  # [B, T, T, dim]
        mixed = []
        for a, b, c in zip(q.chunk(heads, 2), keys.chunk(heads, 3), values.chunk(heads, 3)):
            scores = torch.einsum("bid,bijd->bij", a, b) / math.sqrt(dim / heads)
            mixed.append(torch.einsum("bij,bijd->bid", scores.masked_fill(seen == 0, -1e9).softmax(2), c))
        normed = p.layer_norm(q_in + torch.cat(mixed, 2), f"{name}.norm_1", 1e-8)
        x = (normed + p.mlp(normed, f"{name}.ffn", [dim, dim])) * mask.unsqueeze(2)
    states = p.layer_norm(x, "norm", 1e-8)
    return next_item_loss(states, rows["next"], rows["other"], mask), {}


@twin("recall/sr_gnn")
def sr_gnn(p, batch, h):
    dim, count = h["sparse_feature_dim"], h["maxlen"]
    sessions, label = batch.dense("session").long(), batch.label("label")[:, 0].long()
    emb = p("emb", h["sparse_feature_number"], dim)
    in_w, out_w = [(p(f"graph.{part}.weight", dim, dim), p(f"graph.{part}.bias", dim)) for part in ("in", "out")]
    gru = [p(f"graph.{name}", *shape) for name, shape in (("input_weight", (2 * dim, 3 * dim)), ("state_weight", (dim, 3 * dim)), ("input_bias", (3 * dim,)), ("state_bias", (3 * dim,)))]
    vectors = []
    for session in sessions:  # one graph a session, as the authors' reader makes it
        items = [item for item in session.tolist() if item > 0]
        nodes = sorted(set(items))
        at = [nodes.index(item) for item in items]
        edges = torch.zeros(len(nodes), len(nodes))
        for u, v in zip(at, at[1:]):
            edges[u, v] = 1
        incoming, outgoing = (edges / edges.sum(0).clamp(min=1)).T, edges / edges.sum(1, keepdim=True).clamp(min=1)
        state = emb[torch.tensor(nodes)]
        for _ in range(h["gnn_propogation_steps"]):
            said = torch.cat([incoming @ (state @ in_w[0] + in_w[1]), outgoing @ (state @ out_w[0] + out_w[1])], 1)
            state = torch.gru_cell(said, state, gru[0].T, gru[1].T, gru[2], gru[3])
        seq = state[torch.tensor(at)]
        last = seq[-1]
        hidden = torch.sigmoid(p.linear(last, "last", dim) + p.linear(seq, "each", dim, bias=False))
        whole = (p.linear(hidden, "weight", 1, bias=False) * seq).sum(0)
        vectors.append(p.linear(torch.cat([whole, last]), "session", dim, bias=False))
    logits = torch.stack(vectors) @ emb[1:].T
    return F.cross_entropy(logits, label - 1), {}


def additive(p, x, name, hidden, mask=None):
    """Equations 3 and 4 of NAML: tanh(V h + v) q, a softmax, and the sum by it."""
    scores = p.linear(p.linear(x, f"{name}.project", hidden, act=torch.tanh), f"{name}.query", 1, bias=False)
    if mask is not None:
        scores = scores.masked_fill(mask.unsqueeze(-1) == 0, -1e9)
    weights = scores.softmax(-2)
    return ((weights if mask is None else weights * mask.unsqueeze(-1)) * x).sum(-2)


@twin("rank/naml")
def naml(p, batch, h):
    shown, browse, hidden, out = 1 + h["neg_condidate_sample_size"], h["browse_size"], h["attention_projection_size"], h["conv_out_channel_size"]
    news = shown + browse

    def text(name, size):
        count = batch.dense(f"{name}_words")
        rows = p.sequence("word", h["word_dimension"], batch.ids(name))[0].reshape(-1, news, size, h["word_dimension"])
        mask = (torch.arange(size) < count.unsqueeze(2)).to(rows.dtype)
        # One news at a time, through PyTorch's own convolution; its kernel's places stand one below the other in the weight.
        weight, bias = p(f"{name}_conv.weight", 3 * h["word_dimension"], out), p(f"{name}_conv.bias", out)
        kernel = weight.reshape(3, h["word_dimension"], out).permute(2, 1, 0)
        words = (rows * mask.unsqueeze(3)).reshape(-1, size, h["word_dimension"]).transpose(1, 2)
        found = torch.relu(F.conv1d(words, kernel, bias, padding=1)).transpose(1, 2).reshape(-1, news, size, out)
        return additive(p, found, f"{name}_attention", hidden, mask)

    kind = lambda name: p.linear(p.sequence(name, h["category_dimension"], batch.ids(name))[0], f"{name}_fc", out, act=torch.relu)
    views = torch.stack([text("title", h["article_title_size"]), text("content", h["article_content_size"]), kind("category"), kind("sub_category")], 2)
    vectors = additive(p, views, "view_attention", hidden)
    there = (batch.dense("title_words") + batch.dense("content_words") > 0).to(vectors.dtype)
    user = additive(p, vectors[:, shown:], "user_attention", hidden, there[:, shown:])
    scores = (vectors[:, :shown] @ user.unsqueeze(2)).squeeze(2)
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long)), {}


@twin("treebased/tdm")
def tdm(p, batch, h):
    dim = h["node_emb_size"]
    taken, mask = p.sequence("user", dim, batch.ids("user"), table="node")
    node = p.pooled("unit", dim, batch.ids("unit_id"), table="node")
    scores = pair_scores(p, node.unsqueeze(1).expand(taken.shape), taken, "attention.fc", h["att_sizes"]) / math.sqrt(dim)
    interest = (scores.masked_fill(mask == 0, -1e9).softmax(1).unsqueeze(2) * taken).sum(1)
    x = torch.cat([interest, node, interest * node, interest - node, (interest * node).sum(1, keepdim=True)], 1)
    for i, out in enumerate(h["fc_sizes"]):
        x = prelu(p, p.linear(x, f"fc.{i}", out), f"fc.{i}")
    logit, label = p.linear(x, "logit", 1), batch.label("label")
    return bce(logit, label), {"auc": (logit, label)}
