"""A reader's exception as plain data: its traceback without the frames of this package, and the last place in the user's files."""
import os
import sys
import traceback

from oarfish_dataset import rank_asked
from oarfish_frames import SampleError

HERE = os.path.dirname(os.path.abspath(__file__))


def failure(error, path):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_ours(frame.filename)]
    text = "".join(traceback.format_exception_only(type(error), error)).rstrip()
    shown = "".join(traceback.format_list(frames)).rstrip()
    folder = os.path.dirname(os.path.abspath(path))
    users = [frame for frame in frames if os.path.abspath(frame.filename).startswith(folder + os.sep)]
    found = {
        "message": text.splitlines()[-1] if text else repr(error),
        "traceback": "Traceback (most recent call last):\n%s\n%s" % (shown, text) if shown else text,
        "missing": missing_module(error),
        "plain": getattr(sys.modules.get("numpy"), "is_stand_in", False),
        "refused": str(error) if isinstance(error, SampleError) else None,
        "asked": rank_asked(),
        "python": "%d.%d" % sys.version_info[:2],
    }
    if isinstance(error, SyntaxError) and error.filename:
        found["place"] = {"file": error.filename, "line": error.lineno or 1}
    elif users:
        found["place"] = {"file": os.path.abspath(users[-1].filename), "line": users[-1].lineno}
    return found


def missing_module(error):
    return getattr(error, "name", None) if isinstance(error, ImportError) else None


def is_ours(file):
    return os.path.abspath(file).startswith(HERE + os.sep) or file.startswith("<frozen")
