"""Stand-in for PyYAML, used where it is not installed: block mappings, lists and scalars, as PaddleRec's configs are written."""
import re


class YAMLError(Exception):
    pass


class FullLoader(object):
    pass


SafeLoader = Loader = FullLoader


def load(stream, Loader=None):
    return safe_load(stream)


def safe_load(stream):
    text = stream.read() if hasattr(stream, "read") else stream
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        content = _without_comment(line).rstrip()
        if content.strip() and content.strip() != "---":
            lines.append((len(content) - len(content.lstrip()), content.strip(), number))
    value, at = _block(lines, 0, lines[0][0]) if lines else (None, 0)
    if at < len(lines):
        raise _unreadable(lines[at][2])
    return value


def _block(lines, at, indent):
    if lines[at][1] == "-" or lines[at][1].startswith("- "):
        return _list(lines, at, indent)
    if _key(lines[at][1]):
        return _mapping(lines, at, indent)
    return _scalar(lines[at][1], lines[at][2]), at + 1


def _list(lines, at, indent):
    items = []
    while at < len(lines) and lines[at][0] == indent and (lines[at][1] + " ").startswith("- "):
        rest = lines[at][1][1:].strip()
        if rest:
            inner = indent + lines[at][1].index(rest, 1)
            lines[at] = (inner, rest, lines[at][2])
            item, at = _block(lines, at, inner)
        else:
            item, at = _nested(lines, at + 1, indent + 1)
        items.append(item)
    return items, at


def _mapping(lines, at, indent):
    mapping = {}
    while at < len(lines) and lines[at][0] == indent:
        found = _key(lines[at][1])
        if not found:
            raise _unreadable(lines[at][2])
        name, rest = found
        if rest:
            mapping[name], at = _scalar(rest, lines[at][2]), at + 1
        else:
            # A list may stand at the depth of its key.
            dash = at + 1 < len(lines) and (lines[at + 1][1] + " ").startswith("- ")
            mapping[name], at = _nested(lines, at + 1, indent if dash else indent + 1)
    return mapping, at


def _nested(lines, at, least):
    if at < len(lines) and lines[at][0] >= least:
        return _block(lines, at, lines[at][0])
    return None, at


def _key(text):
    match = re.match(r"""("[^"]*"|'[^']*'|[^\s"'\[{&*!|>%@`][^:]*?)\s*:(?:\s+(.*))?$""", text)
    return (_scalar(match.group(1), 0), match.group(2) or "") if match else None


def _scalar(text, number):
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[" and text[-1] == "]":
        return [_scalar(item, number) for item in _items(text[1:-1])]
    if text[0] == "{" and text[-1] == "}":
        pairs = [_key(item) for item in _items(text[1:-1])]
        if None in pairs:
            raise _unreadable(number)
        return {name: _scalar(rest, number) if rest else None for name, rest in pairs}
    if text in ("null", "~", "None"):
        return "None" if text == "None" else None
    if text[0] in "[{&*!|>":
        raise _unreadable(number)
    if text.lower() in ("true", "yes", "on", "false", "no", "off"):
        return text.lower() in ("true", "yes", "on")
    if re.match(r"[-+]?\d+$", text):
        return int(text)
    # As PyYAML: 1e-3 without a point is text.
    if re.match(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]\d+)?$", text):
        return float(text)
    return text


def _items(text):
    """What stands between commas, but for those in quotes and in inner brackets."""
    items, depth, quote = [""], 0, None
    for character in text:
        if quote:
            quote = None if character == quote else quote
        elif character in "\"'" and items[-1][-1:] in ("", " ", "[", "{", ":"):
            quote = character
        depth += 0 if quote else (character in "[{") - (character in "]}")
        if character == "," and depth == 0 and not quote:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def _without_comment(line):
    quote = None
    for at, character in enumerate(line):
        if quote:
            quote = None if character == quote else quote
        elif character in "\"'" and (at == 0 or line[at - 1] in " [,:"):
            quote = character
        elif character == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at]
    return line


def _unreadable(number):
    return YAMLError("line %d is beyond Oarfish's small reader of yaml; pip install PyYAML" % number)
