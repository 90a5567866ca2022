"""Samples of arrays packed as they come: what is kept of them makes every later one slower to allocate."""
import marshal
import operator
import sys
import time

KEPT = ("int64", "uint64", "float32", "float64")
# A list or tuple of this version is its kind and length, then what is in it: of an array "s", its bytes' number and the bytes, of a number its kind and value.
VERSION = 2

FULL, END = object(), object()

dtype_of = operator.attrgetter("dtype")


def sample_packer(slots):
    """None where the reader has brought no numpy, nor its stand-in."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if getattr(numpy, "is_stand_in", False):
        return SamplePacker(len(slots), "lists", list_packer(len(slots)))
    return SamplePacker(len(slots), "arrays", pack_arrays)


def pack_arrays(sample, dtypes):
    """Of a real numpy, whose arrays are bytes already; None where types are others. Arrays that do not lie in one piece raise."""
    return marshal.dumps(sample, VERSION) if list(map(dtype_of, sample)) == dtypes else None


def list_packer(fields):
    """As pack_arrays, of the stand-in, whose arrays are lists of numbers. Its source names every field: a loop over them would take longer than all the rest."""
    def each(form):
        return "".join(form.format(field) for field in range(fields))

    lines = [
        "def pack(sample, dtypes):",
        each("a{0}, ") + "= sample",
        each("t{0}, ") + "= dtypes",
        "if %s True: return dumps([%s], VERSION)" % (each("a{0}.dtype is t{0} and "), each("a{0}.flat_values, ")),
    ]
    known = {"dumps": marshal.dumps, "VERSION": VERSION}
    exec("\n ".join(lines), known)
    return known["pack"]


class SamplePacker(object):
    def __init__(self, fields, records, pack):
        """Fields of a sample; what its records hold; and what makes one of a sample of these types."""
        self.records = records
        self._fields = fields
        self._pack = pack
        self._dtypes = None
        self._packed = bytearray()
        self.count = 0

    def fill(self, samples, room, until):
        """Packs so many samples, or those until then: FULL; END of samples; or the first that has other types, or is none of arrays."""
        packed, dtypes, pack, now, count = self._packed, self._dtypes, self._pack, time.perf_counter, self.count
        for sample in samples:
            if type(sample) is not list and type(sample) is not tuple:
                return sample
            try:
                record = dtypes and pack(sample, dtypes)
                if record is None:
                    found = list(map(dtype_of, sample))
                    if count or not self._begins(found):
                        return sample
                    dtypes = self._dtypes = found
                    record = pack(sample, dtypes)
                packed += record
            except (AttributeError, TypeError, ValueError, BufferError):
                return sample
            # Here, not at the end: a reader may raise at any sample.
            self.count = count = count + 1
            if count >= room or now() > until:
                return FULL
        return END

    def _begins(self, dtypes):
        return len(dtypes) == self._fields and all(
            getattr(dtype, "name", None) in KEPT and getattr(dtype, "isnative", True) for dtype in dtypes)

    def take(self):
        """How many samples were packed, what their fields are, and their records; starts again."""
        count, packed = self.count, self._packed
        self.count, self._packed = 0, bytearray()
        return count, [{"dtype": dtype.name} for dtype in self._dtypes], [packed]
