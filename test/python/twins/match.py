"""What matches a history, a session or a query."""
import math

import torch
import torch.nn.functional as F

from .scope import bce, cut_normal, twin


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
