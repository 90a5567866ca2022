"""Several tasks at once: the census (income, marital status), and clicks that may become purchases."""
import torch
import torch.nn.functional as F

from .scope import bce, lecun, twin, uniform


def census(p, batch, mixed, h):
    """Towers of two classes over what each task was given."""
    loss, metrics = 0, {}
    for i, (name, x) in enumerate(zip(("income", "marital"), mixed)):
        logits = p.mlp(x, f"tower_{i}", [h["tower_size"], 2])
        label = batch.label(f"label_{name}")
        loss = loss + F.cross_entropy(logits, label[:, 0].long())
        metrics[f"auc_{name}"] = (logits[:, 1:] - logits[:, :1], label)
    return loss, metrics


def mix(gate, experts):
    return torch.einsum("be,bed->bd", gate.softmax(1), experts)


def expert(p, x, name, size):
    return p.linear(x, name, size, act=torch.relu)


@twin("multitask/mmoe")
def mmoe(p, batch, h):
    x = batch.dense("input")
    experts = torch.stack([expert(p, x, f"expert_{i}", h["expert_size"]) for i in range(h["expert_num"])], 1)
    return census(p, batch, [mix(p.linear(x, f"gate_{t}", h["expert_num"]), experts) for t in range(2)], h)


@twin("multitask/share_bottom")
def share_bottom(p, batch, h):
    x = p.linear(batch.dense("input"), "bottom", h["bottom_size"], act=torch.relu)
    return census(p, batch, [x, x], h)


@twin("multitask/ple")
def ple(p, batch, h):
    x = [batch.dense("input")] * 3
    for level in range(h["level_number"]):
        own = [[expert(p, x[t], f"{level}.{t}.{i}", h["expert_size"]) for i in range(h["exp_per_task"])] for t in range(2)]
        shared = [expert(p, x[2], f"{level}.s.{i}", h["expert_size"]) for i in range(h["shared_num"])]
        tasks = [mix(p.linear(x[t], f"{level}.gate_{t}", len(own[t]) + len(shared)), torch.stack(own[t] + shared, 1)) for t in range(2)]
        every = own[0] + own[1] + shared
        rest = [] if level == h["level_number"] - 1 else [mix(p.linear(x[2], f"{level}.gate_s", len(every)), torch.stack(every, 1))]
        x = tasks + rest
    return census(p, batch, x, h)


def field_vectors(p, batch, h):
    """The rows of all fields side by side."""
    return rows_of(p, batch, h, "embedding", range(h["num_field"]))


def rows_of(p, batch, h, table, numbers):
    return torch.cat([p.pooled(table, h["sparse_feature_dim"], batch.ids(f"field_{i}")) for i in numbers], 1)


def log_loss(probability, label, epsilon=1e-4):
    """Paddle's, which the upstream nets are trained by."""
    return -label * (probability + epsilon).log() - (1 - label) * (1 - probability + epsilon).log()


def tower(p, x, name, h):
    return p.mlp(x, name, [*h["fc_sizes"], 1])


def purchases(batch):
    return batch.label("ctr"), batch.label("cvr")


@twin("multitask/escm2")
def escm2(p, batch, h):
    x = field_vectors(p, batch, h)
    click, buy = purchases(batch)
    ctr, cvr = torch.sigmoid(tower(p, x, "ctr", h)), torch.sigmoid(tower(p, x, "cvr", h))
    own = log_loss(cvr, buy)
    propensity = ctr.detach().clamp(min=h["propensity_floor"])
    if h["counterfact_mode"] == "IPS":
        causal = (click * own / propensity).mean()
    else:
        guess = F.softplus(tower(p, x, "imputation", h))
        off = own - guess
        causal = (guess + click * off / propensity).mean() + (click * off.square() / propensity).mean()
    whole = log_loss(ctr * cvr, buy).mean()
    loss = log_loss(ctr, click).mean() + h["counterfactual_weight"] * causal + h["global_weight"] * whole
    return loss, {"auc_ctr": (ctr, click), "auc_ctcvr": (ctr * cvr, buy)}


@twin("multitask/aitm")
def aitm(p, batch, h):
    x = field_vectors(p, batch, h)
    click, buy = purchases(batch)
    first = p.mlp(x, "click_tower", h["fc_sizes"], last=torch.relu)
    second = p.mlp(x, "buy_tower", h["fc_sizes"], last=torch.relu)
    width = h["fc_sizes"][-1]
    both = torch.stack([second, p.linear(first, "info", width, act=torch.relu)], 1)  # [B, 2, d]
    v, k, q = [p.linear(both, f"transfer.{part}", width) for part in ("value", "key", "query")]
    weights = ((k * q).sum(2) / width**0.5).softmax(1)
    transferred = (weights.unsqueeze(2) * v).sum(1)
    clicked, bought = p.linear(first, "click_out", 1), p.linear(transferred, "buy_out", 1)
    too_much = (torch.sigmoid(bought) - torch.sigmoid(clicked)).clamp(min=0).mean()
    loss = bce(clicked, click) + bce(bought, buy) + h["constraint_weight"] * too_much
    return loss, {"auc_click": (clicked, click), "auc_purchase": (bought, buy)}


@twin("multitask/pepnet")
def pepnet(p, batch, h):
    x = field_vectors(p, batch, h)
    click, buy = purchases(batch)
    domain, person = rows_of(p, batch, h, "domain", h["domain_fields"]), rows_of(p, batch, h, "person", h["person_fields"])

    def gate(knows, about, name, out):
        seen = torch.cat([knows, about.detach()], 1)
        return 2 * torch.sigmoid(p.linear(p.linear(seen, f"{name}.fc.0", out, act=torch.relu), f"{name}.fc.1", out))

    shared = x * gate(domain, x, "domain_gate", x.shape[1])
    loss, metrics = 0, {}
    for name, label in (("ctr", click), ("cvr", buy)):
        y = shared
        for i, out in enumerate(h["fc_sizes"]):
            y = y * gate(person, shared, f"{name}_gate_{i}", y.shape[1])
            y = p.linear(y, f"{name}.{i}", out, act=torch.relu)
        logit = p.linear(y, f"{name}_out", 1)
        loss = loss + bce(logit, label)
        metrics[f"auc_{name}"] = (logit, label)
    return loss, metrics


@twin("multitask/esmm")
def esmm(p, batch, h):
    x = torch.cat([p.pooled("embedding", h["sparse_feature_dim"], batch.ids(f"field_{i}"), uniform(1)) for i in range(h["num_field"])], 1)
    click, buy = purchases(batch)
    rate = lambda name: p.mlp(x, name, [*h[f"{name}_fc_sizes"], 2], init=lecun).softmax(1)[:, 1:]
    ctr, cvr = rate("ctr"), rate("cvr")
    loss = (log_loss(ctr, click) + log_loss(ctr * cvr, buy)).mean()
    return loss, {"auc_ctr": (ctr, click), "auc_ctcvr": (ctr * cvr, buy)}
