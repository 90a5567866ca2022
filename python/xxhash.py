"""Stand-in for xxhash, used where it is not installed: XXH32 in plain Python, slower and with the same values."""

_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_MASK = 0xFFFFFFFF


def _rotate(value, bits):
    value &= _MASK
    return ((value << bits) | (value >> (32 - bits))) & _MASK


class xxh32(object):
    name = "XXH32"
    digest_size = 4

    def __init__(self, data=b"", seed=0):
        self._data = b""
        self._seed = seed & _MASK
        self.update(data)

    def update(self, data):
        self._data += data.encode("utf-8") if isinstance(data, str) else bytes(data)

    def intdigest(self):
        data, seed = self._data, self._seed
        size, at = len(data), 0
        if size >= 16:
            lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
            while at <= size - 16:
                for lane in range(4):
                    word = int.from_bytes(data[at:at + 4], "little")
                    lanes[lane] = _rotate(lanes[lane] + word * _P2, 13) * _P1
                    at += 4
            h = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        else:
            h = seed + _P5
        h += size
        while at <= size - 4:
            h = _rotate(h + int.from_bytes(data[at:at + 4], "little") * _P3, 17) * _P4
            at += 4
        while at < size:
            h = _rotate(h + data[at] * _P5, 11) * _P1
            at += 1
        h &= _MASK
        h = ((h ^ (h >> 15)) * _P2) & _MASK
        h = ((h ^ (h >> 13)) * _P3) & _MASK
        return h ^ (h >> 16)

    def hexdigest(self):
        return "%08x" % self.intdigest()

    def digest(self):
        return self.intdigest().to_bytes(4, "big")


def xxh32_intdigest(data, seed=0):
    return xxh32(data, seed).intdigest()


def xxh32_hexdigest(data, seed=0):
    return xxh32(data, seed).hexdigest()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError("xxhash.%s needs the real package: pip install xxhash" % name)
