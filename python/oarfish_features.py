"""Raw records as the features of an exported model make them: what its slots hold then. Needs nothing but Python.

    python3 oarfish_features.py DIR RAW.json     # {"instances": [{"age": 23, "city": "Lima"}, ...]}; prints the same with signs

docs/reference/export-format.md has the arithmetic. `instances(manifest, records)` is the call for programs.
"""
import json, math, pathlib, struct, sys

MASK = 0xFFFFFFFF


def _step(h, word):
    k = word * 0xCC9E2D51 & MASK
    k = ((k << 15 | k >> 17) & MASK) * 0x1B873593 & MASK
    h ^= k
    return ((h << 13 | h >> 19) & MASK) * 5 + 0xE6546B64 & MASK


def _finish(h):
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def _bucket(name, words, buckets):
    a, b = 0x2545F491, 0x9E3779B9
    for word in [*name.encode(), *words]:
        a, b = _step(a, word), _step(b, word)
    return ((_finish(a) >> 11) * 2 ** 32 + _finish(b)) % buckets


def _text(raw):
    """As JavaScript writes it: 23.0 is 23."""
    return str(int(raw)) if isinstance(raw, float) and raw.is_integer() else str(raw)


def _number(raw, name, kind):
    try:
        value = _f32(float(raw))
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f'Slot "{name}": {kind} needs a number, found {raw!r}.')
    return value


def _f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _signed_log(x):
    """sign(x) log(1 + |x|) of a float32, rounded to float32 after every step, as training and server do."""
    a = abs(x)
    bits = struct.unpack("<I", struct.pack("<f", 1 + a))[0]
    power = (bits + 0x004AFB0D >> 23) - 127  # 1 + a = 2^power (1 + f)
    quarter = 2.0 ** (power - 2)
    f = _f32(_f32(_f32(0.25 * a) - _f32(quarter - 0.25)) / quarter)
    s = _f32(f / _f32(f + 2))
    z = _f32(s * s)
    inner = _f32(_f32(z * 0.29870277643203735) + 0.3997759222984314)
    outer = _f32(_f32(z * inner) + 0.6666677594184875)
    log = _f32(_f32(s * _f32(_f32(z * outer) + 2)) + _f32(power * 0.6931471824645996))
    return math.copysign(log, x)


def _encode(slot, raw):
    feature, name = slot["feature"], slot["name"]
    kind = feature["kind"]
    if kind == "hash":
        return _bucket(name, _text(raw).encode(), feature["buckets"])
    if kind == "vocabulary":
        words = feature.setdefault("_places", {word: i + 1 for i, word in enumerate(feature["words"])})
        return words.get(_text(raw), 0)
    value = _number(raw, name, kind)
    if kind == "bucketise":
        return sum(boundary <= value for boundary in feature["boundaries"])
    return _signed_log(value)


def _slot(slot, record):
    feature = slot.get("feature")
    field = feature["from"] if feature else slot["name"]
    if field not in record:
        raise KeyError(f'the record has no "{field}"')
    values = record[field] if isinstance(record[field], list) else [record[field]]
    if not feature:
        return values
    if feature["kind"] == "ids":
        items = [item for value in values for item in (value.split(feature["split"]) if isinstance(value, str) else [value])]
        return [item for item in items if item != ""] or [0]
    return [_encode(slot, 0 if raw == "" else raw) for raw in values]


def _cross(slot, made):
    feature = slot["feature"]
    words = [[]]
    for other in feature["of"]:
        signs = [int(sign) for sign in made[other]]
        words = [[*before, sign & MASK, sign >> 32] for before in words for sign in signs]
    return [_bucket(slot["name"], own, feature["buckets"]) for own in words]


def instances(manifest, records):
    """Records with raw fields as instances with what the slots hold."""
    slots = manifest["slots"]
    crosses = [slot for slot in slots if (slot.get("feature") or {}).get("kind") == "cross"]
    wanted = {name for slot in crosses if slot["needed"] for name in slot["feature"]["of"]}
    out = []
    for record in records:
        made = {slot["name"]: _slot(slot, record) for slot in slots if slot not in crosses and (slot["needed"] or slot["name"] in wanted)}
        made.update({slot["name"]: _cross(slot, made) for slot in crosses if slot["needed"]})
        out.append({name: [value if isinstance(value, float) else str(value) for value in values] for name, values in made.items()})
    return out


if __name__ == "__main__":
    folder, raw = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    print(json.dumps({"instances": instances(manifest, raw["instances"])}))
