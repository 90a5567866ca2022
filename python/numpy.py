"""Stand-in for numpy, used where it is not installed: arrays of plain numbers, enough for readers that build samples. Anything else says what to install."""
import math
import struct

is_stand_in = True
__version__ = "0 (Oarfish's stand-in)"
pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


class dtype(object):
    def __init__(self, name):
        self.name = name if isinstance(name, str) else getattr(name, "name", getattr(name, "__name__", str(name)))
        self.name = {"int": "int64", "float": "float64", "long": "int64", "double": "float64"}.get(self.name, self.name)
        if self.name not in _CASTS:
            raise ImportError("numpy dtype %s: numpy is not installed; pip install numpy" % self.name)

    def __eq__(self, other):
        return self.name == dtype(other).name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return "dtype('%s')" % self.name

    __str__ = lambda self: self.name  # noqa: E731


def _rounded(form):
    def cast(value):
        value = float(value)
        try:
            return struct.unpack(form, struct.pack(form, value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    return cast


def _whole(bits, signed=True):
    low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)

    def cast(value):
        value = int(value)
        if not low <= value <= high:
            raise OverflowError("Python int %d too large to convert to %s%d" % (value, "int" if signed else "uint", bits))
        return value

    return cast


_CASTS = {
    "bool": bool, "str": str, "object": lambda value: value, "float16": _rounded("<e"), "float32": _rounded("<f"), "float64": float,
    "int8": _whole(8), "int16": _whole(16), "int32": _whole(32), "int64": _whole(64),
    "uint8": _whole(8, False), "uint16": _whole(16, False), "uint32": _whole(32, False), "uint64": _whole(64, False),
}


class generic(object):
    pass


class integer(generic):
    pass


class floating(generic):
    pass


def _scalar(name, base, kind):
    def new(cls, value=0):
        return base.__new__(cls, _CASTS[name](value))

    return type(name, (base, kind), {"__new__": new, "dtype": property(lambda self: dtype(name)), "name": name})


int8, int16, int32, int64 = (_scalar(name, int, integer) for name in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (_scalar(name, int, integer) for name in ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = (_scalar(name, float, floating) for name in ("float16", "float32", "float64"))
bool_, int_, float_, longlong = bool, int64, float64, int64


class ndarray(object):
    """Numbers in row order and a shape."""
    __slots__ = ("flat_values", "shape", "dtype")

    def __init__(self, values, shape, kind):
        self.flat_values, self.shape, self.dtype = values, shape, kind

    @property
    def size(self):
        return len(self.flat_values)

    @property
    def ndim(self):
        return len(self.shape)

    def astype(self, kind):
        kind = _dtype(kind)
        if kind is self.dtype:
            return ndarray(list(self.flat_values), self.shape, kind)
        cast = _CASTS[kind.name]
        return ndarray([cast(value) for value in self.flat_values], self.shape, kind)

    def reshape(self, *shape):
        shape = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)
        if -1 in shape:
            known = _product(side for side in shape if side != -1)
            shape[shape.index(-1)] = self.size // known if known else 0
        if _product(shape) != self.size:
            raise ValueError("cannot reshape array of size %d into shape %s" % (self.size, tuple(shape)))
        return ndarray(list(self.flat_values), tuple(shape), self.dtype)

    def ravel(self):
        return ndarray(list(self.flat_values), (self.size,), self.dtype)

    flatten = ravel

    def copy(self):
        return ndarray(list(self.flat_values), self.shape, self.dtype)

    def tolist(self):
        return self.flat_values[0] if self.shape == () else [row.tolist() if self.ndim > 1 else row for row in self]

    def item(self):
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.flat_values[0]

    def tobytes(self):
        raise ImportError("numpy.ndarray.tobytes: numpy is not installed; pip install numpy")

    def sum(self):
        return sum(self.flat_values)

    def max(self):
        return max(self.flat_values)

    def min(self):
        return min(self.flat_values)

    def mean(self):
        return math.fsum(self.flat_values) / self.size

    def __len__(self):
        if self.shape == ():
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def _row(self, at):
        if not -self.shape[0] <= at < self.shape[0]:
            raise IndexError("index %d is out of bounds for axis 0 with size %d" % (at, self.shape[0]))
        inner = _product(self.shape[1:])
        at = at % self.shape[0] * inner
        return self.flat_values[at] if self.ndim == 1 else ndarray(self.flat_values[at:at + inner], self.shape[1:], self.dtype)

    def __iter__(self):
        return iter(self.flat_values) if self.ndim == 1 else (self._row(at) for at in range(len(self)))

    def __getitem__(self, at):
        if isinstance(at, int):
            return self._row(at)
        if isinstance(at, slice):
            rows = range(*at.indices(len(self)))
            inner = _product(self.shape[1:])
            values = [value for row in rows for value in self.flat_values[row * inner:(row + 1) * inner]]
            return ndarray(values, (len(rows),) + self.shape[1:], self.dtype)
        if isinstance(at, tuple) and at and all(isinstance(one, int) for one in at):
            return self._row(at[0]) if len(at) == 1 else self._row(at[0])[at[1:]]
        raise ImportError("numpy.ndarray[%r]: numpy is not installed; pip install numpy" % (at,))

    def __setitem__(self, at, value):
        if isinstance(at, int) and self.ndim == 1 and -len(self) <= at < len(self):
            self.flat_values[at] = _CASTS[self.dtype.name](value)
        else:
            raise ImportError("numpy.ndarray[%r] = ...: numpy is not installed; pip install numpy" % (at,))

    def _with(self, other, work):
        if isinstance(other, (list, tuple)):
            other = array(other)
        if not isinstance(other, ndarray):
            return array([work(value, other) for value in self.flat_values]).reshape(self.shape)
        if other.shape != self.shape:
            raise ImportError("numpy broadcasting: numpy is not installed; pip install numpy")
        return array([work(a, b) for a, b in zip(self.flat_values, other.flat_values)]).reshape(self.shape)


    __add__ = __radd__ = lambda self, other: self._with(other, lambda a, b: a + b)
    __mul__ = __rmul__ = lambda self, other: self._with(other, lambda a, b: a * b)
    __sub__ = lambda self, other: self._with(other, lambda a, b: a - b)
    __rsub__ = lambda self, other: self._with(other, lambda a, b: b - a)
    __truediv__ = lambda self, other: self._with(other, lambda a, b: a / b)
    __neg__ = lambda self: self * -1

    def __repr__(self):
        return "array(%r, dtype=%s)" % (self.tolist(), self.dtype.name)


_DTYPES = {}


def _dtype(kind):
    found = _DTYPES.get(kind)
    if found is None:
        made = kind if isinstance(kind, dtype) else dtype(kind)
        found = _DTYPES.setdefault(made.name, made)
        _DTYPES[kind] = found
    return found


def _product(sides):
    product = 1
    for side in sides:
        product *= side
    return product


def array(values, dtype=None, copy=True):
    if isinstance(values, ndarray):
        return values.astype(dtype) if dtype is not None else values.copy()
    flat, shape = _flatten(values)
    found = ndarray(flat, shape, _settled(flat))
    return found if dtype is None else found.astype(dtype)


def _flatten(values):
    if isinstance(values, ndarray):
        return values.flat_values, values.shape
    if not isinstance(values, (list, tuple)):
        return [values], ()
    if not any(isinstance(value, (list, tuple, ndarray)) for value in values):
        return list(values), (len(values),)
    parts = [_flatten(value) for value in values]
    if any(shape != parts[0][1] for _, shape in parts):
        raise ValueError("setting an array element with a sequence: its parts have different lengths")
    return [value for flat, _ in parts for value in flat], (len(parts),) + parts[0][1]


def _settled(flat):
    """The type that numbers have together; those of another kind become plain numbers of it, in their place."""
    kinds = set(map(type, flat))
    if kinds == {int}:
        most = max(flat)
        if most < 2**63:
            return _dtype("int64")
        return _dtype("uint64" if most < 2**64 and min(flat) >= 0 else "object")
    if kinds <= {float}:
        return _dtype("float64")
    found = _dtype(_common(kinds))
    flat[:] = map(_CASTS[found.name], flat)
    return found


def _common(kinds):
    if kinds == {bool}:
        return "bool"
    if str in kinds:
        return "str"
    if len(kinds) == 1 and all(issubclass(kind, generic) for kind in kinds):
        return next(iter(kinds)).name
    if all(issubclass(kind, (bool, int)) for kind in kinds):
        return "int64"
    return "float64" if all(issubclass(kind, (bool, int, float)) for kind in kinds) else "object"


def asarray(values, dtype=None):
    return values if isinstance(values, ndarray) and dtype in (None, values.dtype) else array(values, dtype)


ascontiguousarray = asarray


def _filled(value):
    def make(shape, dtype="float64"):
        shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
        kind = _dtype(dtype)
        return ndarray([_CASTS[kind.name](value)] * _product(shape), shape, kind)

    return make


zeros, ones = _filled(0), _filled(1)


def full(shape, value, dtype=None):
    return _filled(value)(shape, dtype or array(value).dtype)


def arange(*bounds, **named):
    return array(list(range(*bounds)), named.get("dtype", "int64"))


def eye(size, dtype="float64"):
    return array([[float(row == column) for column in range(size)] for row in range(size)], dtype)


def concatenate(arrays, axis=0):
    arrays = [asarray(one) for one in arrays]
    if axis != 0 or any(one.shape[1:] != arrays[0].shape[1:] for one in arrays):
        raise ImportError("numpy.concatenate along axis %d: numpy is not installed; pip install numpy" % axis)
    flat = [value for one in arrays for value in one.flat_values]
    kinds = set(one.dtype.name for one in arrays)
    kind = arrays[0].dtype if len(kinds) == 1 else _settled(flat)
    return ndarray(flat, (sum(len(one) for one in arrays),) + arrays[0].shape[1:], kind)


def stack(arrays):
    return array([asarray(one) for one in arrays], asarray(arrays[0]).dtype)


def _each(work):
    def apply(values):
        if isinstance(values, (list, tuple)):
            values = array(values)
        if isinstance(values, ndarray):
            result = [work(value) for value in values.flat_values]
            return ndarray(result, values.shape, _dtype("float64")).astype(
                values.dtype.name if values.dtype.name.startswith("float") else "float64")
        return float64(work(values))

    return apply


def _log_of(work):
    """As numpy: the logarithm of 0 is -inf, of a negative number nan."""
    return lambda value: work(value) if value > 0 else (-math.inf if value == 0 else math.nan)


log, log2, log10 = _each(_log_of(math.log)), _each(_log_of(math.log2)), _each(_log_of(math.log10))
log1p = _each(lambda value: math.log1p(value) if value > -1 else (-math.inf if value == -1 else math.nan))
exp, sqrt, floor, ceil = _each(math.exp), _each(math.sqrt), _each(math.floor), _each(math.ceil)


def power(values, exponent):
    return _each(lambda value: value**exponent)(values)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError("numpy.%s: numpy is not installed; pip install numpy" % name, name="numpy")
