"""Runs a folder of PaddleRec with a real Paddle: what `oarfish parity` compares with. Settings come as JSON on standard input.

folder: has static_model.py, net.py and a reader; config: keys such as hyper_parameters.fc_sizes; files: the data, in order;
reader: the reader's file; batch_size, batches; training: whether weights learn after each batch; load: a .pdparams to begin
with; save: where to write the weights that it began with, as rec.pdparams.
"""
import importlib.util
import json
import os
import sys

# A real Paddle is meant, not the stand-in beside this file.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]


def module_of(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    return own


def samples_of(settings):
    reader = module_of(settings["reader"])
    return iter(reader.RecDataset(settings["files"], settings["config"]))


def batches_of(settings, numpy, shapes):
    """Samples side by side, in the order of the feeds, one array each."""
    rows = []
    for sample in samples_of(settings):
        rows.append(list(sample))
        if len(rows) == settings["batch_size"]:
            yield [numpy.stack([row[i] for row in rows]).reshape(shape) for i, shape in enumerate(shapes)]
            rows = []
    if rows:
        yield [numpy.stack([row[i] for row in rows]).reshape(shape) for i, shape in enumerate(shapes)]


def main():
    settings = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the net prints is not the answer
    sys.path.insert(0, settings["folder"])
    os.chdir(settings["folder"])
    import numpy
    import paddle

    paddle.enable_static()
    paddle.seed(settings.get("seed", 1))
    model = module_of(os.path.join(settings["folder"], "static_model.py")).StaticModel(settings["config"])
    feeds = model.create_feeds()
    model.net(feeds)
    program = paddle.static.default_main_program()
    # of the whole run and of the batch: two ops over one prediction
    predictions = list(dict.fromkeys(op.input("Predict")[0] for op in program.global_block().ops if op.type == "auc"))
    forward = program.clone(for_test=True)
    if settings.get("training"):
        model.create_optimizer()
    run = paddle.static.Executor(paddle.CPUPlace())
    run.run(paddle.static.default_startup_program())
    if settings.get("load"):
        load(paddle, program, settings["load"])
    if settings.get("save"):
        paddle.static.save(program, os.path.join(settings["save"], "rec"))
    shapes = [[-1] + list(feed.shape[1:]) for feed in feeds]
    found = {"losses": [], "predictions": [], "training": bool(settings.get("training"))}
    for i, arrays in enumerate(batches_of(settings, numpy, shapes)):
        if i >= settings["batches"]:
            break
        feed = {own.name: array for own, array in zip(feeds, arrays)}
        used = program if settings.get("training") else forward
        values = run.run(used, feed=feed, fetch_list=[model._cost.name] + predictions)
        found["losses"].append(float(numpy.asarray(values[0]).reshape(-1)[0]))
        found["predictions"].append([numpy.asarray(value).reshape(-1).tolist() for value in values[1:]])
    json.dump(found, out)
    out.flush()


def load(paddle, program, path):
    """Names of a dynamic graph are turned into those of the parameters, which a static one has too."""
    state = paddle.load(path, return_numpy=True)
    names = state.pop("StructuredToParameterName@@", {})
    paddle.static.set_program_state(program, {names.get(name, name): value for name, value in state.items()})


main()
