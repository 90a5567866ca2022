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
