"""One field of many samples as one array of int64, uint64, float32 or float64, and how many values each sample has of it."""
import array
import sys

from oarfish_frames import SampleError, chain


def column_joiner():
    """With numpy if the reader has brought a real one."""
    numpy = sys.modules.get("numpy")
    if numpy is None or getattr(numpy, "is_stand_in", False):
        return plain_column
    return numpy_column(numpy)


KEPT = ("int64", "uint64", "float32", "float64")


def numpy_column(np):
    def join(column):
        try:
            values = np.concatenate(column)
        except (ValueError, TypeError):
            return slow(column)
        # Of arrays of one dimension; what they have in common is exact unless whole numbers became float64.
        if values.ndim != 1 or values.dtype.name not in KEPT or (
                values.dtype == np.float64 and any(getattr(value, "dtype", None) != np.float64 for value in column)):
            return slow(column)
        return values, counts_of(list(map(len, column)))

    def slow(column):
        flat = [as_array(value) for value in column]
        kinds = set(value.dtype for value in flat)
        if len(kinds) > 1 and any(kind.kind in "iu" for kind in kinds) and any(kind.kind == "f" for kind in kinds):
            flat = [value.astype(np.float64) for value in flat]
        elif len(kinds) > 1 and np.dtype(np.uint64) in kinds:
            # numpy would meet int64 and uint64 in float64 and lose digits.
            if any(value.size and value.min() < 0 for value in flat):
                raise SampleError("negative numbers beside numbers above 2^63")
            flat = [value.astype(np.uint64) for value in flat]
        return np.concatenate(flat), counts_of([value.size for value in flat])

    def as_array(value):
        if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
            value = value.numpy()
        try:
            found = np.asarray(value)
        except ValueError:
            raise SampleError("lists of different lengths in one another are no array: %s" % shown(value))
        if found.dtype == np.float64 and not isinstance(value, np.ndarray):
            return whole(value, found.ravel())
        if found.dtype.name in KEPT:
            return found.ravel()
        if found.dtype.kind in "biu":
            return found.ravel().astype(np.int64)
        if found.dtype.kind == "f":
            return found.ravel().astype(np.float32 if found.dtype.itemsize < 4 else np.float64)
        raise SampleError("expected numbers, found %s (dtype %s)" % (shown(value), found.dtype))

    def whole(value, floats):
        """Of a list of whole numbers below and above 2^63 numpy makes floats: their digits are still in the list."""
        if not floats.size or floats.max() < 2**63:
            return floats
        numbers = np.asarray(value, dtype=object).ravel()
        if not all(type(number) is int and 0 <= number < 2**64 for number in numbers):
            return floats
        return numbers.astype(np.uint64)

    def counts_of(lengths):
        first = lengths[0]
        return first if lengths.count(first) == len(lengths) else np.array(lengths, dtype=np.uint32)

    return join


def plain_column(column):
    """Without numpy: arrays are those of the stand-in, which holds plain numbers."""
    flat = [getattr(value, "flat_values", None) or numbers(value) for value in column]
    lengths = list(map(len, flat))
    first = lengths[0]
    counts = first if lengths.count(first) == len(lengths) else array.array("I", lengths)
    return typed(column, list(chain(flat))), counts


def numbers(value):
    if isinstance(value, (bool, int, float)):
        return [value]
    if isinstance(value, (list, tuple)):
        return list(chain(map(numbers, value)))
    if hasattr(value, "flat_values"):
        return value.flat_values
    raise SampleError("expected numbers, found %s" % shown(value))


def typed(column, values):
    kind = getattr(getattr(column[0], "dtype", None), "name", None)
    try:
        if kind == "float32":
            return array.array("f", values)
        if kind in ("float64", "float16") or any(isinstance(value, float) for value in values):
            return array.array("d", values)
        return array.array("Q" if any(value >= 2**63 for value in values) else "q", values)
    except TypeError:
        raise SampleError("expected numbers, found %s" % shown(column[0]))
    except OverflowError as error:
        raise SampleError("%s: %s" % (error, shown(column[0])))


def shown(value):
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
