"""Samples of arrays packed as they come: what is kept of them makes every later one slower to allocate."""
import array
import marshal
import operator
import sys
import time

KEPT = ("int64", "uint64", "float32", "float64")
# A list or tuple of this version is its kind and length, then of each array "s", its bytes' number and the bytes: one call makes it.
VERSION = 2

FULL, END = object(), object()

dtype_of = operator.attrgetter("dtype")
flat_of = operator.attrgetter("flat_values")


def sample_packer(slots):
    """None where the reader has brought no numpy, nor its stand-in."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    return PlainPacker(len(slots)) if getattr(numpy, "is_stand_in", False) else SamplePacker(len(slots))


class SamplePacker(object):
    """Of a real numpy, whose arrays are bytes already: sample after sample."""
    records = True

    def __init__(self, fields):
        self._fields = fields
        self._dtypes = None
        self._packed = bytearray()
        self.count = 0

    def fill(self, samples, room, until):
        """Packs so many samples, or those until then: FULL; END of samples; or the first that has other types, or is none of arrays."""
        packed, dtypes, dumps, now, count = self._packed, self._dtypes, marshal.dumps, time.perf_counter, self.count
        for sample in samples:
            if type(sample) is not list and type(sample) is not tuple:
                return sample
            try:
                found = list(map(dtype_of, sample))
                if found != dtypes:
                    if count or not self._begins(found):
                        return sample
                    dtypes = self._dtypes = found
                # Arrays that do not lie in one piece raise.
                packed += dumps(sample, VERSION)
            except (AttributeError, TypeError, ValueError, BufferError):
                return sample
            # Here, not at the end: a reader may raise at any sample.
            self.count = count = count + 1
            if count >= room or now() > until:
                return FULL
        return END

    def _begins(self, dtypes):
        return len(dtypes) == self._fields and all(
            getattr(dtype, "name", None) in KEPT and dtype.isnative for dtype in dtypes)

    def take(self):
        """How many samples were packed, what their fields are, and their records; starts again."""
        count, packed = self.count, self._packed
        self.count, self._packed = 0, bytearray()
        return count, [{"dtype": dtype.name} for dtype in self._dtypes], [packed]


class PlainPacker(object):
    """Of the stand-in, whose arrays are lists of numbers: field after field."""
    records = False
    CODES = {"int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}

    def __init__(self, fields):
        self._fields = fields
        self._start()

    def _start(self):
        self._dtypes, self._columns, self._counts = None, [], []

    @property
    def count(self):
        return len(self._counts)

    def fill(self, samples, room, until):
        columns, counts, add, now = self._columns, self._counts, array.array.fromlist, time.perf_counter
        for sample in samples:
            if type(sample) is not list and type(sample) is not tuple:
                return sample
            try:
                flat = list(map(flat_of, sample))
                if not counts and not self._begins(sample) or len(flat) != len(columns):
                    return sample
                # fromlist returns None, so all are done without a loop of Python's own. Numbers that do not fit the first sample's type raise.
                any(map(add, columns, flat))
            except (AttributeError, TypeError, OverflowError):
                self._forget_half()
                return sample
            counts.append(tuple(map(len, flat)))
            if len(counts) >= room or now() > until:
                return FULL
        return END

    def _begins(self, sample):
        names = [value.dtype.name for value in sample]
        if len(names) != self._fields or not all(name in KEPT for name in names):
            return False
        self._dtypes = names
        self._columns[:] = [array.array(self.CODES[name]) for name in names]
        return True

    def _forget_half(self):
        """Of a sample of which some fields were added."""
        for field, column in enumerate(self._columns):
            del column[sum(counts[field] for counts in self._counts):]

    def take(self):
        """As that of SamplePacker, with the counts and the values of each field."""
        fields, arrays = [], []
        for dtype, values, counts in zip(self._dtypes, self._columns, zip(*self._counts)):
            width = counts[0] if counts.count(counts[0]) == len(counts) else None
            fields.append({"dtype": dtype, "width": width, "values": len(values)})
            if width is None:
                arrays.append(array.array("I", counts))
            arrays.append(values)
        count = self.count
        self._start()
        return count, fields, arrays
