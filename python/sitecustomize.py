"""Moves this folder behind installed packages on the module path, so that real ones win, then runs the next sitecustomize."""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _is_here(path):
    return os.path.abspath(path or os.curdir) == _here


sys.path[:] = [path for path in sys.path if not _is_here(path)] + [_here]

_next = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if not _is_here(path)])
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(importlib.util.module_from_spec(_next))
