"""Prints the syntax trees of Python files as one JSON object, for `oarfish port`. Nothing of the files is run or imported."""
import ast
import json
import sys


def plain(value):
    """A node as an object with its kind under "_" and its lines; lists and constants as they are."""
    if isinstance(value, ast.Constant):
        return constant(value)
    if isinstance(value, ast.AST):
        own = {"_": type(value).__name__}
        for name, field in ast.iter_fields(value):
            if name not in ("ctx", "type_comment", "type_ignores", "type_params"):
                own[name] = plain(field)
        if hasattr(value, "lineno"):
            own["line"] = value.lineno
            own["end"] = getattr(value, "end_lineno", value.lineno)
        return own
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def constant(node):
    value = node.value
    own = {"_": "Constant", "line": node.lineno, "end": getattr(node, "end_lineno", node.lineno)}
    if value is None or isinstance(value, (bool, str)):
        own["value"] = value
    elif isinstance(value, (int, float)) and abs(value) < float("inf"):
        own["value"] = value
        own["float"] = isinstance(value, float)
    else:
        own["other"] = repr(value)  # bytes, complex, Ellipsis, numbers beyond JSON
    return own


def read(path):
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source, path)
    except SyntaxError as error:
        return {"error": error.msg, "line": error.lineno or 1, "column": error.offset or 1}
    except ValueError as error:  # null bytes, for one
        return {"error": str(error), "line": 1, "column": 1}
    return {"tree": plain(tree)}


json.dump([read(path) for path in sys.argv[1:]], sys.stdout)
