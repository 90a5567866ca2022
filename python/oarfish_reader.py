"""Runs a reader of the user's in a process of its own: jobs come as lines of JSON on stdin, samples leave as frames on the stdout it was given."""
import gc
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Installed packages, the real paddle and numpy among them, come before the stand-ins of this folder.
sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != HERE] + [HERE]
sys.dont_write_bytecode = True

GARBAGE_EVERY = 50000


def main():
    # What the reader prints must not get between the frames.
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    from oarfish_frames import FrameWriter

    writer = FrameWriter(output)
    settings = json.loads(sys.stdin.readline())
    try:
        from oarfish_dataset import load_reader

        reader = load_reader(settings)
    except BaseException as error:  # noqa: B902 a reader that calls sys.exit() has failed too
        from oarfish_trace import failure

        writer.send(dict(failure(error, settings["path"]), kind="failed", sample=0))
        return
    # What is loaded stays: looking through it for garbage every few hundred allocations takes time from the reader. Samples are freed by their counts.
    if hasattr(gc, "freeze"):
        gc.freeze()
    gc.set_threshold(GARBAGE_EVERY, 10, 10)
    writer.send({"kind": "ready"})
    while True:
        line = sys.stdin.readline()
        if not line:
            return
        run(reader, json.loads(line), writer, settings)


def run(reader, job, writer, settings):
    from oarfish_trace import failure

    seed_random(job["seed"])
    stream = writer.stream(settings["slots"])
    raised = None
    try:
        # A list of its own: readers sort it and take from it.
        stream.take(reader(list(job["files"])))
    except BaseException as error:  # noqa: B902
        raised = error
    try:
        stream.flush()
    except Exception as error:
        raised = error
    if raised is None:
        writer.send({"kind": "end"})
    else:
        writer.send(dict(failure(raised, settings["path"]), kind="failed", sample=stream.samples + 1))


def seed_random(seed):
    """A reader that draws without a seed of its own gives the same samples in every run, and others in every epoch."""
    import random

    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None and not getattr(numpy, "is_stand_in", False):
        numpy.random.seed(seed % 2**32)


if __name__ == "__main__":
    main()
