"""Samples of numpy arrays as records, each made as it comes: arrays that are kept make every later one slower to allocate."""
import marshal
import operator
import sys
import time

KEPT = ("int64", "uint64", "float32", "float64")
# A list or tuple of this version is its kind and length, then of each array "s", its bytes' number and the bytes: one call makes it.
VERSION = 2

FULL, END = object(), object()

dtype_of = operator.attrgetter("dtype")


def sample_packer(slots):
    """None where the reader has not brought a real numpy: only its arrays are bytes already."""
    numpy = sys.modules.get("numpy")
    if numpy is None or getattr(numpy, "is_stand_in", False):
        return None
    return SamplePacker(len(slots))


class SamplePacker(object):
    def __init__(self, fields):
        self._fields = fields
        self._dtypes = None
        self.packed = []

    def fill(self, samples, room, until):
        """Packs so many samples, or those until then: FULL; END of samples; or the first that has other types, or is none of arrays."""
        packed, dtypes, dumps, now = self.packed, self._dtypes, marshal.dumps, time.perf_counter
        for sample in samples:
            if type(sample) is not list and type(sample) is not tuple:
                return sample
            try:
                found = list(map(dtype_of, sample))
                if found != dtypes:
                    if packed or not self._begins(found):
                        return sample
                    dtypes = self._dtypes = found
                # Arrays that do not lie in one piece raise.
                packed.append(dumps(sample, VERSION))
            except (AttributeError, TypeError, ValueError, BufferError):
                return sample
            if len(packed) >= room or now() > until:
                return FULL
        return END

    def _begins(self, dtypes):
        return len(dtypes) == self._fields and all(
            getattr(dtype, "name", None) in KEPT and dtype.isnative for dtype in dtypes)

    def take(self):
        """How many samples were packed, what their fields are, and their records; starts again."""
        packed, self.packed = self.packed, []
        return len(packed), [{"dtype": dtype.name} for dtype in self._dtypes], b"".join(packed)
