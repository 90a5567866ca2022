"""Samples of one layout, packed as they come: arrays that are kept make every later one slower to allocate."""
import operator
import sys

KEPT = ("int64", "uint64", "float32", "float64")
# Layouts that change sooner than this are not worth it.
WORTH = 64

dtype_of = operator.attrgetter("dtype")


def sample_packer(slots):
    """None where the reader has not brought a real numpy: only its arrays are bytes already."""
    numpy = sys.modules.get("numpy")
    if numpy is None or getattr(numpy, "is_stand_in", False):
        return None
    return SamplePacker(numpy, len(slots))


class SamplePacker(object):
    def __init__(self, numpy, fields):
        self._numpy = numpy
        self._fields = fields
        self._dtypes = self._widths = None
        # Bytes of a sample.
        self._size = 0
        # Samples of the layout so far.
        self._run = 0
        self._is_over = False
        self.packed = []
        # Samples differ too much in their lengths.
        self.gave_up = False

    def add(self, sample):
        """False: this sample has another layout than those that are packed, or none at all."""
        if type(sample) is not list and type(sample) is not tuple:
            return False
        try:
            if self._dtypes is None and not self._begin(sample):
                return False
            if list(map(len, sample)) == self._widths and list(map(dtype_of, sample)) == self._dtypes:
                # Arrays that do not lie in one piece raise; those of more dimensions have more bytes.
                data = b"".join(sample)
                if len(data) == self._size:
                    self.packed.append(data)
                    self._run += 1
                    return True
        except (AttributeError, TypeError, ValueError, BufferError):
            pass
        self._end()
        return False

    def _begin(self, sample):
        array = self._numpy.ndarray
        if len(sample) != self._fields or not all(
                type(value) is array and value.ndim == 1 and value.dtype.name in KEPT and value.dtype.isnative
                for value in sample):
            return False
        self._dtypes, self._widths = list(map(dtype_of, sample)), list(map(len, sample))
        self._size = sum(value.nbytes for value in sample)
        self._run, self._is_over = 0, False
        return True

    def _end(self):
        self.gave_up = self._dtypes is not None and self._run < WORTH
        self._is_over = True
        if not self.packed:
            self._dtypes = None

    def take(self):
        """How many samples were packed, and their fields one after the other; starts again."""
        np, packed, dtypes, widths = self._numpy, self.packed, self._dtypes, self._widths
        record = np.dtype([("f%d" % i, dtype, (width,)) for i, (dtype, width) in enumerate(zip(dtypes, widths))])
        rows = np.frombuffer(b"".join(packed), dtype=record)
        self.packed = []
        if self._is_over:
            self._dtypes = None
        fields = [
            {"dtype": dtype.name, "width": width, "values": width * len(packed)} for dtype, width in zip(dtypes, widths)
        ]
        return len(packed), fields, [rows[name] for name in record.names]
