"""Records test/fixtures/gradients.json: loss and gradients by PyTorch, in float64, for the cases of test/ops.

    python3 test/python/gradients.py          # needs: pip install torch

Each case evaluates y on operands of the sizes B=3, T=4, m=2, n=5, k=3; the loss is sum(y^2 / 2 + y).
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
B, T, M, N, K = 3, 4, 2, 5, 3
CASES = {}


def case(name, fn, low=-2.0, high=2.0, ints=None, masks=None, **shapes):
    """Draws operands named as the program names its inputs ('__' stands for '.') and records what fn makes of them."""
    generator = torch.Generator().manual_seed(len(CASES) + 1)
    draw = lambda shape: (torch.rand(shape, generator=generator) * (high - low) + low).mul(1024).round().div(1024)
    floats = {key: draw(shape).requires_grad_() for key, shape in shapes.items()}
    whole = {key: torch.randint(0, below, shape, generator=generator) for key, (shape, below) in (ints or {}).items()}
    fixed = {key: torch.tensor([[float(t < 1 + b % T) for t in range(T)] for b in range(B)]) for key in (masks or [])}
    y = fn(**floats, **whole, **fixed)
    loss = (y * y / 2 + y).sum()
    loss.backward()
    show = lambda t: {"dims": list(t.shape), "values": t.detach().flatten().tolist()}
    dotted = lambda tensors: {key.replace("__", "."): show(t) for key, t in tensors.items()}
    zeros = lambda t: torch.zeros_like(t) if t.grad is None else t.grad
    CASES[name] = {
        "inputs": dotted({**floats, **fixed}),
        "ints": dotted(whole),
        "loss": loss.item(),
        "gradients": dotted({key: zeros(t) for key, t in floats.items()}),
    }


BN, BTN = (B, N), (B, T, N)
POSITIVE = {"low": 0.2, "high": 3.0}


def unary(name, fn, **rest):
    case(name, lambda x0: fn(x0), x0=BN, **rest)


# --- ops
case("constant", lambda x0: x0 * (torch.arange(2 * N).reshape(2, N) - 2.5), x0=(N,))
case("iota", lambda x0: x0 * torch.arange(N), x0=(N,))
case("count", lambda x0: x0 / x0.numel(), x0=BTN)
unary("neg", torch.neg)
unary("exp", torch.exp)
unary("log", torch.log, **POSITIVE)
unary("sqrt", torch.sqrt, **POSITIVE)
unary("abs", torch.abs)
unary("square", torch.square)
unary("erf", torch.erf)
unary("relu", torch.relu)
unary("leaky_relu", lambda x: F.leaky_relu(x, 0.1))
unary("sigmoid", torch.sigmoid)
unary("tanh", torch.tanh)
unary("cast", lambda x: x.int().double() + x)
unary("stop_gradient", lambda x: x.detach() * x)
case("add", lambda x0, x1: x0 + x1, x0=BN, x1=(N,))
case("sub", lambda x0, x1: x0 - x1, x0=(M, 1, N), x1=(3, 1))
case("mul", lambda x0, x1: x0 * x1, x0=(M, 1, N), x1=(3, 1))
case("div", lambda x0, x1: x0 / x1, x0=BN, x1=(N,), **POSITIVE)
case("pow", lambda x0, x1: x0**x1, x0=BN, x1=(N,), **POSITIVE)
case("minimum", lambda x0, x1: torch.minimum(x0, x1), x0=(M, 1, N), x1=(3, 1))
case("maximum", lambda x0, x1: torch.maximum(x0, x1), x0=BN, x1=(N,))
case("where", lambda x0, x1: torch.where(x0 > x1, x0 * x0, x1), x0=BN, x1=(N,))
case("phase", lambda x0, x1: x0.clone(), x0=BN, x1=BN)
case("gemm", lambda x0, x1, x2: x0 @ x1.T + x2, x0=BN, x1=(M, N), x2=(M,))
case("matmul", lambda x0, x1: x0.unsqueeze(1) @ x1, x0=BTN, x1=(1, M, N, K))
case("sum", lambda x0: x0.sum((0, 2)), x0=BTN)
case("mean", lambda x0: x0.mean((0, 2), keepdim=True), x0=BTN)
case("max", lambda x0: x0.amax(1), x0=BTN)
case("min", lambda x0: x0.amin(0, keepdim=True), x0=BN)
unary("prod", lambda x: x.prod(1))
case("softmax", lambda x0: x0.softmax(1), x0=BTN)
unary("log_softmax", lambda x: x.log_softmax(-1))
unary("cumsum", lambda x: x.cumsum(1) - x + x.flip(0).cumsum(0).flip(0))
unary("top_k", lambda x: x.topk(2).values)
case("reshape", lambda x0: x0.reshape(-1, N).square(), x0=BTN)
unary("expand", lambda x: x.unsqueeze(1).expand(B, 4, N))
case("transpose", lambda x0: x0.permute(2, 0, 1), x0=BTN)
case("concat", lambda x0, x1: torch.cat([x0, x1, x0], 1), x0=BN, x1=(B, M))
case("flip", lambda x0: x0.flip(1) * x0, x0=BTN)
case("slice", lambda x0: x0[:, :-1, 1:], x0=BTN)
case("pad", lambda x0: F.pad(x0, (0, 0, 2, 1)), x0=BTN)
case("gather", lambda x0, i0: x0[i0], x0=(N, K), ints={"i0": ((B, 2), N)})
case("gather_nd", lambda x0, i0: x0[i0[:, 0], i0[:, 1]], x0=(M, N, K), ints={"i0": ((B, 2), M)})
case("scatter_add", lambda x0, i0: torch.zeros(N, K).index_add(0, i0[:, 0], x0), x0=(B, K), ints={"i0": ((B, 1), N)})
case("take_along", lambda x0, i0: x0.gather(1, i0), x0=BN, ints={"i0": ((B, 2), N)})
case("scatter_along", lambda x0, i0: torch.zeros(B, N).scatter_add(1, i0, x0), x0=BN, ints={"i0": (BN, N)})
cross_entropy = lambda x0, i0: F.cross_entropy(x0, i0[:, 0], reduction="none").unsqueeze(1)
case("softmax_cross_entropy", cross_entropy, x0=BN, ints={"i0": ((B, 1), N)})
bce = lambda x, z: F.binary_cross_entropy_with_logits(x, z, reduction="none")
case("sigmoid_cross_entropy", lambda x0, x1: bce(x0, x1.sigmoid()), x0=BN, x1=BN)

# --- functions and layers
unary("gelu", F.gelu)
unary("softplus", F.softplus)
case("prelu", lambda x0, act__slope: F.prelu(x0, act__slope), x0=BN, act__slope=(N,))
unary("clip", lambda x: x.clamp(-1, 0.5))
unary("variance", lambda x: x.var(1, unbiased=False))
unary("tile", lambda x: x.tile(2, 3))
unary("stack_split", lambda x: x[:, :2])
case("gather_axis", lambda x0, i0: x0[:, i0], x0=(M, N, K), ints={"i0": ((4,), N)})


def masked_softmax(scores, mask, axis):
    return scores.masked_fill(mask == 0, -1e9).softmax(axis) * mask


MASKED = {"masks": ["x0__mask"]}
case("masked_softmax", lambda x0, x0__mask: masked_softmax(x0, x0__mask.unsqueeze(-1), 1), x0=BTN, **MASKED)
case("linear", lambda x0, fc__weight, fc__bias, x0__mask: torch.tanh(x0 @ fc__weight + fc__bias), x0=BTN, fc__weight=(N, M), fc__bias=(M,), **MASKED)
case(
    "mlp",
    lambda x0, mlp__0__weight, mlp__0__bias, mlp__1__weight, mlp__1__bias: torch.sigmoid(x0 @ mlp__0__weight + mlp__0__bias) @ mlp__1__weight + mlp__1__bias,
    x0=BN, mlp__0__weight=(N, 4), mlp__0__bias=(4,), mlp__1__weight=(4, M), mlp__1__bias=(M,),
)
case("dense_embedding", lambda x0, item__weight, i0: F.embedding(i0, item__weight), x0=(N,), item__weight=(K, M), ints={"i0": ((B, 2), K)})
AFFINE = {"norm__weight": (N,), "norm__bias": (N,)}
case("layer_norm", lambda x0, norm__weight, norm__bias, x0__mask: F.layer_norm(x0, (N,), norm__weight, norm__bias), x0=BTN, **AFFINE, **MASKED)


def batch_norm(x0, norm__weight, norm__bias, x0__mask):
    return F.batch_norm(x0.transpose(1, 2), None, None, norm__weight, norm__bias, training=True, eps=0.01).transpose(1, 2)


case("batch_norm", batch_norm, x0=BTN, **AFFINE, **MASKED)
field_norm = lambda x0, norm__weight, norm__bias, x0__mask: F.layer_norm(x0, (N,)) * norm__weight + norm__bias
case("field_norm", field_norm, x0=BTN, norm__weight=(T, N), norm__bias=(T, N), **MASKED)
unary("l2_normalize", lambda x: F.normalize(x, dim=-1))
case("cosine_similarity", lambda x0, x1: F.cosine_similarity(x0, x1, dim=-1).unsqueeze(-1), x0=BN, x1=BN)
case("masked_mean", lambda x0, x0__mask: (x0 * x0__mask.unsqueeze(-1)).sum(1) / x0__mask.sum(1, keepdim=True), x0=BTN, **MASKED)
attention = lambda x0, x0__mask: F.scaled_dot_product_attention(x0, x0, x0, attn_mask=x0__mask.bool().unsqueeze(1))
case("attention", attention, x0=BTN, **MASKED)


def conv1d(x, weight, bias, kernel, padding):
    """Our weight is [kernel * in, out], PyTorch's is [out, in, kernel]."""
    theirs = weight.reshape(kernel, N, M).permute(2, 1, 0)
    return F.conv1d(x.transpose(1, 2), theirs, bias, padding=padding).transpose(1, 2)


case("conv1d", lambda x0, conv__weight, conv__bias, x0__mask: conv1d(x0, conv__weight, conv__bias, 3, 1), x0=BTN, conv__weight=(3 * N, M), conv__bias=(M,), **MASKED)
case("conv1d_valid", lambda x0, conv__weight, conv__bias, x0__mask: conv1d(x0, conv__weight, conv__bias, 2, 0), x0=BTN, conv__weight=(2 * N, M), conv__bias=(M,), **MASKED)


def unrolled(cell, states, x, mask):
    outputs = []
    for t in range(T):
        keep = mask[:, t : t + 1]
        new = cell(x[:, t], states)
        states = tuple(keep * n + (1 - keep) * s for n, s in zip(new, states))
        outputs.append(states[0])
    return torch.stack(outputs, 1)


def gru(x0, gru__input_weight, gru__state_weight, gru__input_bias, gru__state_bias, x0__mask):
    cell = lambda x, s: (torch.gru_cell(x, s[0], gru__input_weight.T, gru__state_weight.T, gru__input_bias, gru__state_bias),)
    return unrolled(cell, (torch.zeros(B, M),), x0, x0__mask)


def lstm(x0, lstm__input_weight, lstm__state_weight, lstm__input_bias, lstm__state_bias, x0__mask):
    cell = lambda x, s: torch.lstm_cell(x, s, lstm__input_weight.T, lstm__state_weight.T, lstm__input_bias, lstm__state_bias)
    return unrolled(cell, (torch.zeros(B, M), torch.zeros(B, M)), x0, x0__mask)[:, -1]


case("gru", gru, x0=BTN, gru__input_weight=(N, 3 * M), gru__state_weight=(M, 3 * M), gru__input_bias=(3 * M,), gru__state_bias=(3 * M,), **MASKED)
case("lstm", lstm, x0=BTN, lstm__input_weight=(N, 4 * M), lstm__state_weight=(M, 4 * M), lstm__input_bias=(4 * M,), lstm__state_bias=(4 * M,), **MASKED)

# --- blocks of known models
SMALL = {"low": -0.75, "high": 0.75}


def linear(x, weights, name):
    return x @ weights[f"{name}__weight"] + weights[f"{name}__bias"]


def linear_shapes(name, width, out):
    return {f"{name}__weight": (width, out), f"{name}__bias": (out,)}


def merged(*shapes):
    return {key: shape for part in shapes for key, shape in part.items()}


def cross_net_vector(x0, **w):
    x = x0
    for i in range(2):
        x = x0 * (x * w[f"cross__{i}__weight"][:, 0]).sum(1, keepdim=True) + w[f"cross__{i}__bias"] + x
    return x


case("cross_net_vector", cross_net_vector, x0=BN, **{f"cross__{i}__{k}": s for i in range(2) for k, s in {"weight": (N, 1), "bias": (N,)}.items()})
pairs = [(i, j) for i in range(T) for j in range(i + 1, T)]
case("pairwise_dots", lambda x0, x0__mask: torch.stack([(x0[:, i] * x0[:, j]).sum(1) for i, j in pairs], 1), x0=BTN, **MASKED)


def cin(x0, x0__mask, **w):
    """Vector by vector, as the paper has it: X_h = sum over i, j of W_h[i, j] (X0_i * X_j)."""
    before, sums = x0, []
    for k, out in enumerate([3, 2]):
        weight = w[f"cin__{k}__weight"].reshape(T, before.shape[1], out)
        before = torch.einsum("bid,bjd,ijh->bhd", x0, before, weight)
        sums.append(before.sum(2))
    return torch.cat(sums, 1)


case("cin", cin, **SMALL, x0=BTN, cin__0__weight=(T * T, 3), cin__1__weight=(T * 3, 2), **MASKED)


def squeeze_excite(x0, x0__mask, **w):
    weights = torch.relu(linear(torch.relu(linear(x0.mean(2), w, "se__fc__0")), w, "se__fc__1"))
    return x0 * weights.unsqueeze(2)


case("squeeze_excite", squeeze_excite, x0=BTN, **merged(linear_shapes("se__fc__0", T, T // 2), linear_shapes("se__fc__1", T // 2, T)), **MASKED)
for kind, which in {"all": lambda i, p: 0, "each": lambda i, p: i, "interaction": lambda i, p: p}.items():
    bilinear = lambda x0, b__weight, x0__mask, which=which: torch.stack([(x0[:, i] @ b__weight[which(i, p)]) * x0[:, j] for p, (i, j) in enumerate(pairs)], 1)
    case(f"bilinear_{kind}", bilinear, x0=BTN, b__weight=({"all": 1, "each": T - 1, "interaction": len(pairs)}[kind], N, N), **MASKED)


def mask_block(x0, x1, **w):
    mask = linear(torch.relu(linear(x0, w, "block__mask__0")), w, "block__mask__1")
    return torch.relu(F.layer_norm((x1 * mask) @ w["block__hidden__weight"], (M + 1,), w["block__norm__weight"], w["block__norm__bias"]))


case(
    "mask_block", mask_block, x0=BN, x1=BN, block__hidden__weight=(N, M + 1), block__norm__weight=(M + 1,), block__norm__bias=(M + 1,),
    **merged(linear_shapes("block__mask__0", N, N // 2), linear_shapes("block__mask__1", N // 2, N)),
)


def factorized(x0, join, **w):
    a, b = linear(x0, w, "f__linear").chunk(2, 1)
    return join(a, a * b)


case("factorized", lambda x0, **w: factorized(x0, lambda a, ab: torch.cat([a, ab], 1), **w), x0=BN, **linear_shapes("f__linear", N, 4))
case("factorized_sum", lambda x0, **w: factorized(x0, torch.add, **w), x0=BN, **linear_shapes("f__linear", N, 6))


def heads_of(x, count):
    return x.reshape(B, T, count, -1).transpose(1, 2)


def self_attention(x0, x0__mask, **w):
    q, k, v = [heads_of(linear(x0, w, f"a__{part}"), 2) for part in ("query", "key", "value")]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=x0__mask.bool()[:, None, None])
    return linear(mixed.transpose(1, 2).reshape(B, T, 4), w, "a__out")


case("self_attention", self_attention, **SMALL, x0=BTN, **merged(*[linear_shapes(f"a__{p}", N, 4) for p in ("query", "key", "value")], linear_shapes("a__out", 4, 4)), **MASKED)


def causal_attention(x0, x0__mask, distance__weight, **w):
    q, k, v = [heads_of(x0 @ w[f"a__{part}__weight"], 2) for part in ("query", "key", "value")]
    bias = torch.stack([torch.stack([distance__weight[max(-2, min(2, i - j)) + 2] for j in range(T)]) for i in range(T)]).permute(2, 0, 1)
    visible = x0__mask.bool()[:, None, None] & torch.ones(T, T).tril().bool()
    scores = q @ k.transpose(2, 3) / math.sqrt(2) + bias
    return (scores.masked_fill(~visible, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(B, T, 4)


case("causal_attention", causal_attention, x0=BTN, distance__weight=(5, 2), **{f"a__{p}__weight": (N, 4) for p in ("query", "key", "value")}, **MASKED)


def transformer(x0, norm_first, activation, x0__mask=None, **w):
    """PyTorch's own layer over our weights, which are stored [in, out]."""
    inner = w["t__ffn__0__bias"].shape[0]
    theirs = torch.nn.TransformerEncoderLayer(N, 1, inner, 0.0, activation, norm_first=norm_first, batch_first=True)
    values = {
        "self_attn.in_proj_weight": torch.cat([w[f"t__attention__{p}__weight"].T for p in ("query", "key", "value")]),
        "self_attn.in_proj_bias": torch.cat([w[f"t__attention__{p}__bias"] for p in ("query", "key", "value")]),
        "self_attn.out_proj.weight": w["t__attention__out__weight"].T, "self_attn.out_proj.bias": w["t__attention__out__bias"],
        "linear1.weight": w["t__ffn__0__weight"].T, "linear1.bias": w["t__ffn__0__bias"],
        "linear2.weight": w["t__ffn__1__weight"].T, "linear2.bias": w["t__ffn__1__bias"],
        **{f"norm{i + 1}.{k}": w[f"t__norm_{i}__{k}"] for i in range(2) for k in ("weight", "bias")},
    }
    masks = {"src_key_padding_mask": x0__mask == 0} if x0__mask is not None else {"src_mask": ~torch.ones(T, T).tril().bool()}
    return torch.func.functional_call(theirs, values, (x0,), masks)


def transformer_shapes(inner):
    norms = {f"t__norm_{i}__{k}": (N,) for i in range(2) for k in ("weight", "bias")}
    parts = [linear_shapes(f"t__attention__{p}", N, N) for p in ("query", "key", "value", "out")]
    return merged(*parts, linear_shapes("t__ffn__0", N, inner), linear_shapes("t__ffn__1", inner, N), norms)


case("transformer", lambda x0, x0__mask, **w: transformer(x0, True, F.gelu, x0__mask, **w), **SMALL, x0=BTN, **transformer_shapes(3), **MASKED)
case("transformer_norm_after", lambda x0, x0__mask, **w: transformer(x0, False, F.relu, **w), **SMALL, x0=BTN, **transformer_shapes(N), **MASKED)


def squash(z):
    square = (z * z).sum(-1, keepdim=True)
    return z * square / (1 + square) / (square + 1e-8).sqrt()


def capsules(x0, x0__mask, capsules__map__weight, capsules__routing, **w):
    low = x0 @ capsules__map__weight
    scores = capsules__routing.detach().expand(B, 2, T)
    for _ in range(2):
        high = squash((scores.softmax(1) * x0__mask.unsqueeze(1)) @ low.detach())
        scores = scores + high @ low.detach().transpose(1, 2)
    high = squash((scores.softmax(1) * x0__mask.unsqueeze(1)) @ low)
    return torch.relu(linear(high, w, "capsules__out"))


case("capsules", capsules, x0=BTN, capsules__map__weight=(N, 3), capsules__routing=(2, T), **linear_shapes("capsules__out", 3, 3), **MASKED)
unary("squash", squash)


def label_aware_attention(x0, x1, x0__mask):
    weights = ((x0 * x1.unsqueeze(1)).sum(2) ** 2).softmax(1)
    return (weights.unsqueeze(2) * x0).sum(1)


case("label_aware_attention", label_aware_attention, x0=BTN, x1=BN, **MASKED)


def augru(x0, x0__mask, **w):
    """The paper's formulas, a sample and an element at a time."""
    w = {key.removeprefix("augru__"): value for key, value in w.items()}
    attention = x0[:, :, 0].softmax(1)
    outputs = []
    for b in range(B):
        h = torch.zeros(M)
        for t in range(T):
            if x0__mask[b, t] == 1:
                xr, xu, xn = (x0[b, t] @ w["input_weight"] + w["input_bias"]).chunk(3)
                hr, hu, hn = (h @ w["state_weight"] + w["state_bias"]).chunk(3)
                new = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
                update = attention[b, t] * torch.sigmoid(xu + hu)
                h = (1 - update) * h + update * new
            outputs.append(h)
    return torch.stack(outputs).reshape(B, T, M)


case("augru", augru, x0=BTN, augru__input_weight=(N, 3 * M), augru__state_weight=(M, 3 * M), augru__input_bias=(3 * M,), augru__state_bias=(3 * M,), **MASKED)


def progressive_experts(x0, x1, x2, **w):
    expert = lambda x, name: torch.relu(linear(x, w, f"level__{name}"))
    mix = lambda x, gate, experts: (linear(x, w, f"level__{gate}").softmax(1).unsqueeze(2) * torch.stack(experts, 1)).sum(1)
    own = [[expert(x, f"expert_{task}_{i}") for i in range(2)] for task, x in enumerate([x0, x1])]
    shared = [expert(x2, "shared_0")]
    tasks = [mix(x, f"gate_{task}", own[task] + shared) for task, x in enumerate([x0, x1])]
    return torch.cat([*tasks, mix(x2, "gate_shared", own[0] + own[1] + shared)], 1)


case(
    "progressive_experts", progressive_experts, x0=BN, x1=BN, x2=BN,
    **merged(*[linear_shapes(f"level__expert_{t}_{i}", N, 3) for t in range(2) for i in range(2)], linear_shapes("level__shared_0", N, 3)),
    **merged(*[linear_shapes(f"level__gate_{t}", N, 3) for t in range(2)], linear_shapes("level__gate_shared", N, 5)),
)
gate_unit = lambda x0, **w: 2 * torch.sigmoid(linear(torch.relu(linear(x0, w, "gate__fc__0")), w, "gate__fc__1"))
case("gate_unit", gate_unit, x0=BN, **merged(linear_shapes("gate__fc__0", N, 3), linear_shapes("gate__fc__1", 3, M)))


def in_batch_softmax(x0, x1, x2, i0):
    """A sample at a time: its own item among those of the batch that are other items."""
    losses = []
    for b in range(B):
        seen = [o for o in range(B) if o == b or i0[o, 0] != i0[b, 0]]
        scores = torch.stack([x0[b] @ x1[o] / 2 - x2[o, 0] for o in seen])
        losses.append(scores.logsumexp(0) - scores[seen.index(b)])
    return torch.stack(losses).unsqueeze(1)


case("in_batch_softmax", in_batch_softmax, x0=BN, x1=BN, x2=(B, 1), ints={"i0": ((B, 1), 2)})

# --- losses
BITS = {"ints": {"i0": (BN, 2)}}
case("nn_softmax_cross_entropy", cross_entropy, x0=BN, ints={"i0": ((B, 1), N)})
case("nn_sigmoid_cross_entropy", lambda x0, i0: bce(x0, i0.double()), x0=BN, **BITS)


def log_loss(x0, i0):
    p = x0.sigmoid()
    return -i0 * (p + 1e-4).log() - (1 - i0) * (1 - p + 1e-4).log()


case("log_loss", log_loss, x0=BN, **BITS)
case("square_error", lambda x0, x1: F.mse_loss(x0, x1, reduction="none"), x0=BN, x1=BN)
case("hinge", lambda x0, i0: torch.relu(1 - (2 * i0 - 1) * x0), x0=BN, **BITS)
case("margin_rank", lambda x0, x1, i0: F.margin_ranking_loss(x0, x1, i0.double(), margin=0.1, reduction="none"), x0=BN, x1=BN, **BITS)
case("kl_divergence", lambda x0, x1: F.kl_div(x0.log_softmax(-1), x1.softmax(-1), reduction="none"), x0=BN, x1=BN)

# --- pairs of fields, pooling, and attention without a softmax
left, right = [i for i, _ in pairs], [j for _, j in pairs]
case("pair_products", lambda x0, x0__mask: x0[:, left] * x0[:, right], x0=BTN, **MASKED)
case("bi_interaction", lambda x0, x0__mask: (x0[:, left] * x0[:, right]).sum(1), x0=BTN, **MASKED)


def field_aware(x0, x0__mask):
    aware = x0.reshape(B, T, T, 2)
    return sum((aware[:, i, j] * aware[:, j, i]).sum(1) for i, j in pairs).unsqueeze(1)


case("field_aware", field_aware, x0=(B, T, 2 * T), **MASKED)
case("field_weighted", lambda x0, x0__mask, r__weight: (x0[:, left] * x0[:, right]).sum(2) @ r__weight, x0=BTN, r__weight=(len(pairs), 1), **MASKED)


def symmetric_pairs(x0, x0__mask, s__weight):
    both = (s__weight + s__weight.transpose(1, 2)) / 2
    return torch.einsum("bpd,pde,bpe->bp", x0[:, left], both, x0[:, right])


case("symmetric_pairs", symmetric_pairs, x0=BTN, s__weight=(len(pairs), N, N), **MASKED)
case("max_pool", lambda x0, x0__mask: F.max_pool1d(x0.transpose(1, 2), 2).transpose(1, 2), x0=BTN, **MASKED)


def hstu(x0, x0__mask, h__norm__weight, h__norm__bias, h__norm_out__weight, h__norm_out__bias, h__uvqk__weight, h__bias__weight, h__out__weight, h__out__bias):
    """Two heads of two columns; distances beyond two count as two."""
    normed = F.layer_norm(x0, (4,), h__norm__weight, h__norm__bias)
    u, v, q, k = F.silu(normed @ h__uvqk__weight).chunk(4, 2)
    at = torch.arange(T)
    far = (at[:, None] - at[None, :]).clamp(-2, 2) + 2
    seen = x0__mask[:, None, :] * (at[:, None] >= at[None, :])
    heads = []
    for h in range(2):
        cut = slice(2 * h, 2 * h + 2)
        scores = q[..., cut] @ k[..., cut].transpose(1, 2) + h__bias__weight[far, h]
        heads.append(F.silu(scores) * seen / seen.sum(2, keepdim=True).clamp(min=1) @ v[..., cut])
    gated = F.layer_norm(torch.cat(heads, 2), (4,), h__norm_out__weight, h__norm_out__bias) * u
    return x0 + gated @ h__out__weight + h__out__bias


case(
    "hstu", hstu, **SMALL, x0=(B, T, 4), h__norm__weight=(4,), h__norm__bias=(4,), h__norm_out__weight=(4,), h__norm_out__bias=(4,),
    h__uvqk__weight=(4, 16), h__bias__weight=(5, 2), **linear_shapes("h__out", 4, 4), **MASKED,
)


# Three places, the last element having the last: what comes before them has the first, and padding the last.
PLACES = torch.tensor([[min(max(t - (1 + b % T) + 3, 0), 2) for t in range(T)] for b in range(B)])
case("place_embedding", lambda x0, x0__mask, place: x0 * place[PLACES], x0=BTN, place=(3, N), **MASKED)


def attention_scores(x0, x1, **w):
    pairs = torch.cat([x1, x0, x1 - x0, x1 * x0], 2)
    return linear(torch.sigmoid(linear(pairs, w, "a__fc__0")), w, "a__fc__1")[..., 0]


case("attention_scores", attention_scores, x0=BTN, x1=BTN, **linear_shapes("a__fc__0", 4 * N, 3), **linear_shapes("a__fc__1", 3, 1))


def interval_attention(x0, x1, x2, x3, x4, i0, x0__mask, **w):
    """Two heads of a column; a vector for every pair of elements, as the paper writes it."""
    q, k, v = [linear(x0, w, f"a__{part}") for part in ("query", "key", "value")]
    seen = torch.ones(T, T).tril() * x0__mask[:, None, :]
    heads = []
    for h in range(2):
        cut = slice(h, h + 1)
        keys = (k + x1)[:, None, :, cut] + x3[i0][..., cut]
        values = (v + x2)[:, None, :, cut] + x4[i0][..., cut]
        scores = (q[:, :, None, cut] * keys).sum(3)
        weights = scores.masked_fill(seen == 0, -math.inf).softmax(2)
        heads.append((weights[..., None] * values).sum(2))
    return torch.cat(heads, 2)


BTM = (B, T, M)
case(
    "interval_attention", interval_attention, **SMALL, x0=BTM, x1=BTM, x2=BTM, x3=(3, M), x4=(3, M), ints={"i0": ((B, T, T), 3)},
    **linear_shapes("a__query", M, M), **linear_shapes("a__key", M, M), **linear_shapes("a__value", M, M), **MASKED,
)


def gated_graph(x0, i0, x0__mask, g__input_weight, g__state_weight, g__input_bias, g__state_bias, **w):
    """The edges as SR-GNN's authors make them, session by session."""
    after = torch.zeros(B, T, T)
    for b in range(B):
        nodes = i0[b, : int(x0__mask[b].sum())].tolist()
        for u, v in zip(nodes, nodes[1:]):
            after[b, u, v] = 1
    incoming = (after / after.sum(1, keepdim=True).clamp(min=1)).transpose(1, 2)
    outgoing = after / after.sum(2, keepdim=True).clamp(min=1)
    said = torch.cat([incoming @ linear(x0, w, "g__in"), outgoing @ linear(x0, w, "g__out")], 2)
    flat = torch.gru_cell(said.reshape(-1, 2 * M), x0.reshape(-1, M), g__input_weight.T, g__state_weight.T, g__input_bias, g__state_bias)
    return flat.reshape(x0.shape)


case(
    "gated_graph", gated_graph, **SMALL, x0=BTM, ints={"i0": ((B, T), T - 1)}, g__input_weight=(2 * M, 3 * M), g__state_weight=(M, 3 * M),
    g__input_bias=(3 * M,), g__state_bias=(3 * M,), **linear_shapes("g__in", M, M), **linear_shapes("g__out", M, M), **MASKED,
)


def additive_attention(x0, x0__mask, a__query__weight, **w):
    scores = torch.tanh(linear(x0, w, "a__project")) @ a__query__weight
    return (scores.masked_fill(x0__mask.unsqueeze(2) == 0, -math.inf).softmax(1) * x0).sum(1)


case("additive_attention", additive_attention, x0=BTN, a__query__weight=(3, 1), **linear_shapes("a__project", N, 3), **MASKED)


def significant(value):
    """12 significant digits: far more than the comparison needs."""
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else None
    if isinstance(value, list):
        return [significant(item) for item in value]
    return {key: significant(item) for key, item in value.items()} if isinstance(value, dict) else value


out = pathlib.Path(__file__).parent.parent / "fixtures" / "gradients.json"
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(significant(value))}" for name, value in CASES.items())
out.write_text("{\n" + lines + "\n}\n")
print(f"{len(CASES)} cases -> {out}")
