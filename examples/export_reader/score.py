"""Scores samples with an exported model, with onnxruntime and numpy alone; docs/reference/export-format.md explains each step.

    python3 score.py DIR                  # the folder's own samples: exits 1 unless the scores are the trainer's
    python3 score.py DIR SAMPLES.json     # {"instances": [{"slot": [values], ...}, ...]}, raw where the model has features; one score a line
"""
import json, pathlib, struct, sys, zlib
import numpy as np, onnxruntime

U = np.uint64
GOLDEN = U(0x9E3779B97F4A7C15)

def mix(x):
    x = (x ^ (x >> U(30))) * U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> U(27))) * U(0x94D049BB133111EB)
    return x ^ (x >> U(31))

def normal(bits):
    u, v = ((bits >> U(32)).astype(float) + 1) / 4294967297, (bits & U(0xFFFFFFFF)).astype(float) / 4294967296
    return np.sqrt(-2 * np.log(u)) * np.cos(6.283185307179586 * v)

def unseen_rows(rule, signs, dim):  # as training begins them
    if rule["kind"] == "constant":
        return np.full((len(signs), dim), rule["value"], np.float32)
    words = mix((mix(signs ^ U(int(rule["seed"])))[:, None] + np.arange(1, dim + 1, dtype=U) * GOLDEN))
    if rule["kind"] == "uniform":  # two values from each word
        halves = np.stack([words >> U(40), (words & U(0xFFFFFFFF)) >> U(8)], 2).reshape(len(signs), -1)[:, :dim]
        return (rule["low"] + (rule["high"] - rule["low"]) / 16777216 * halves.astype(float)).astype(np.float32)
    z = normal(words)
    while rule["kind"] == "truncated_normal" and (np.abs(z) > 2).any():
        words = np.where(np.abs(z) > 2, mix(words + GOLDEN), words)
        z = normal(words)
    return (rule["mean"] + rule["std"] * z).astype(np.float32)

def open_table(path, table):
    data = np.memmap(path, np.uint8, "r")
    magic, version, dim, rows, signs_at, weights_at, _ = struct.unpack("<8sIIQQQQ", data[:48].tobytes())
    assert (magic, version) == (b"OARTABLE", 1), path
    signs, weights = data[signs_at:signs_at + 8 * rows].view("<u8"), data[weights_at:].view("<f4").reshape(rows, dim)
    def look_up(ids):
        ids = np.array([int(sign) for sign in ids], U)
        at = np.searchsorted(signs, ids)
        found = np.array([i < rows and signs[i] == sign for i, sign in zip(at, ids)], bool)
        out = unseen_rows(table["unseen"], ids, dim)
        out[found] = weights[at[found]]
        return out
    return look_up

def rows_input(item, look_up, instances):  # the input, and the mask of a sequence
    cells = [[look_up(sample[slot]) for slot in item["slots"]] for sample in instances]
    if item["pooling"] != "sequence":
        power = {"sum": 0, "mean": 1, "sqrtn": 0.5}[item["pooling"]]
        return np.array([np.concatenate([c.sum(0) / len(c) ** power for c in row]) for row in cells], np.float32), None
    alike = [other["slots"][0] for other in manifest["inputs"] if other["kind"] == "rows" and other["shape"][1] == item["shape"][1]]
    length = item["shape"][1] if isinstance(item["shape"][1], int) else max(len(sample[slot]) for sample in instances for slot in alike)
    rows = [np.pad(c[:length], ((0, length - len(c[:length])), (0, 0))) for c, in cells]
    return np.array(rows), np.array([[k < len(c) for k in range(length)] for c, in cells], np.float32)

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
for name, mark in manifest["files"].items():
    assert zlib.crc32((folder / name).read_bytes()) == int(mark["crc32"], 16), f"{name} is damaged"
samples = json.loads(pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else folder / manifest["samples"]).read_text())
if len(sys.argv) > 2 and any(slot.get("feature") for slot in manifest["slots"]):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import oarfish_features  # copy it beside this file to use both elsewhere
    samples = {"instances": oarfish_features.instances(manifest, samples["instances"])}
tables = {table["name"]: open_table(folder / table["file"], table) for table in manifest["tables"]}
inputs = {}
for item in manifest["inputs"]:
    if item["kind"] == "rows":
        inputs[item["name"]], inputs[item["name"] + ".mask"] = rows_input(item, tables[item["table"]], samples["instances"])
    elif item["kind"] == "dense":
        inputs[item["name"]] = np.array([sample[item["slot"]] for sample in samples["instances"]]).astype(item["dtype"])
session = onnxruntime.InferenceSession(folder / manifest["model"]["file"], providers=["CPUExecutionProvider"])
feeds = {value.name: inputs[value.name] for value in session.get_inputs()}
[output] = session.run([manifest["score"]["output"]], feeds)
scores = output.reshape(len(output), -1)[:, manifest["score"]["column"]]
print("\n".join(f"{score:.9g}" for score in scores))
if len(sys.argv) == 2:
    sys.exit(not np.allclose(scores, samples["scores"], rtol=0, atol=1e-6))
