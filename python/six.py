"""Stand-in for six on Python 3, used where it is not installed: the names readers use."""
import io

PY2 = False
PY3 = True
string_types = (str,)
integer_types = (int,)
text_type = str
binary_type = bytes
StringIO = io.StringIO
BytesIO = io.BytesIO


def iteritems(mapping):
    return iter(mapping.items())


def iterkeys(mapping):
    return iter(mapping.keys())


def itervalues(mapping):
    return iter(mapping.values())


def ensure_str(value, encoding="utf-8"):
    return value.decode(encoding) if isinstance(value, bytes) else value
