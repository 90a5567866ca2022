"""Samples of every kind through the frames of readers, packed and one by one: prints whether both give the same, by name."""
import io
import json
import marshal
import sys

sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])

import numpy as np  # noqa: E402
import oarfish_frames  # noqa: E402


class Kept(object):
    def __init__(self):
        self.frames = []

    def send(self, header, arrays=()):
        self.frames.append((header, [bytes(array) if isinstance(array, (bytes, bytearray)) else array.tobytes() for array in arrays]))
        return 0


def columns(samples, packs):
    kept = Kept()
    stream = oarfish_frames.SampleStream(kept, ["a", "b", "c"])
    if not packs:
        stream._packer = None
    stream.take(iter(samples))
    stream.flush()
    found = [([], []) for _ in range(3)]
    at = 0
    for header, arrays in kept.frames:
        at += header["samples"]
        if header["records"]:
            for record in records(arrays[0], header["samples"]):
                for field, data, (counts, values) in zip(header["fields"], record, found):
                    numbers = np.frombuffer(data, field["dtype"]).tolist()
                    counts.append(len(numbers))
                    values += numbers
            continue
        arrays = iter(arrays)
        for field, (counts, values) in zip(header["fields"], found):
            width = field["width"]
            counts += [width] * header["samples"] if width is not None else np.frombuffer(next(arrays), np.uint32).tolist()
            values += np.frombuffer(next(arrays), field["dtype"]).tolist()
    return at, found


def records(data, count):
    """As Python itself reads them."""
    rest = io.BytesIO(data)
    return [marshal.load(rest) for _ in range(count)]


def sample(i, b):
    return [np.array([i]), b, np.array([0.5, i]).astype("float32")]


rng = np.random.RandomState(0)
plain = [sample(i, np.array([1, i])) for i in range(1500)]
CASES = {
    "one layout": plain,
    "a layout that changes now and then": [sample(i, np.arange(1 + i // 700 % 3)) for i in range(3000)],
    "another length in every sample": [sample(i, np.arange(1 + rng.randint(5))) for i in range(1500)],
    "two dimensions": [sample(i, np.array([[1, 2], [3, i]])) for i in range(700)],
    "two dimensions in between": plain[:700] + [sample(i, np.array([[1, 2], [3, i]])) for i in range(70)] + plain[700:],
    "another type in between": plain[:700] + [sample(7, np.array([1.5, 2.5]))] + plain[700:],
    "not in one piece": plain[:600] + [sample(i, np.arange(4)[::2]) for i in range(20)] + plain[600:],
    "the other order of bytes": [sample(i, np.array([1, i]).astype(">i8")) for i in range(600)],
    "lists": [[[i], [1, 2], [0.5, 1.0]] for i in range(1500)],
    "one number in between": plain[:700] + [sample(i, np.int64(i)) for i in range(70)] + plain[700:],
    "tuples and lists": [tuple(one) if i % 3 else one for i, one in enumerate(plain)],
    "nothing in a field": [sample(i, np.arange(i % 2)) for i in range(600)],
    "small integers": [sample(i, np.array([1, i % 100]).astype("int8")) for i in range(600)],
}
print(json.dumps({
    name: columns(samples, True) == columns(samples, False) and columns(samples, True)[0] == len(samples)
    for name, samples in CASES.items()
}))
