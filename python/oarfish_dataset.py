"""Loads a reader's file and makes of whatever class it has a function from files to samples, as PaddleRec's trainers would."""
import importlib.util
import inspect
import os
import sys

_asked = [False]


def rank_asked():
    return _asked[0]


def note_asked():
    _asked[0] = True


def load_reader(settings):
    path, config = settings["path"], settings["config"]
    folder = os.path.dirname(os.path.abspath(path))
    # PaddleRec's trainers run with the folder of the config, and that of common_ps, on the module path.
    for extra in (folder, settings["dir"]):
        if extra not in sys.path:
            sys.path.insert(len(sys.path) - 1, extra)
    module = import_file(path)
    watch_ranks(module)
    return reader_of(module, settings, config)


def import_file(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def watch_ranks(module):
    """Also of a real paddle: a reader that asks which rank it is divides its files itself."""
    distributed = sys.modules.get("paddle.distributed")
    if distributed is None or getattr(distributed, "is_stand_in", False):
        return
    for name in ("get_rank", "get_world_size"):
        real = getattr(distributed, name)

        def asked(*args, **named):
            note_asked()
            return asked.real(*args, **named)

        asked.real = real
        setattr(distributed, name, asked)
        for key, value in list(vars(module).items()):
            if value is real:
                setattr(module, key, asked)


class NoReader(Exception):
    pass


def reader_of(module, settings, config):
    """RecDataset of 2.x; Reader with dataloader(files) of static_ps_trainer; Reader with generate_sample(line) of 1.x."""
    names = [settings.get("className"), "RecDataset", "Reader", "TrainReader"]
    found = next((getattr(module, name) for name in names if name and inspect.isclass(getattr(module, name, None))), None)
    if found is None:
        raise NoReader("%s has no class RecDataset (or Reader); it has %s" % (
            os.path.basename(settings["path"]), classes_of(module)))
    if hasattr(found, "dataloader"):
        return generator_reader(found, config)
    if hasattr(found, "generate_sample"):
        return line_reader(found, settings, config)
    return lambda files: samples_of(found(files, config=config), found)


def classes_of(module):
    own = [name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__]
    return ", ".join(own) or "no class at all"


def samples_of(dataset, found):
    """An IterableDataset is iterated, a Dataset is asked for one index after the other, as DataLoader does."""
    mapped = hasattr(found, "__getitem__") and hasattr(found, "__len__")
    if mapped and not is_iterable_dataset(found):
        return (dataset[index] for index in range(len(dataset)))
    if hasattr(found, "__iter__"):
        return iter(dataset)
    raise NoReader("%s has neither __iter__ nor __getitem__ and __len__" % found.__name__)


def is_iterable_dataset(found):
    # A real IterableDataset has a __getitem__ that raises.
    return any(base.__name__ == "IterableDataset" for base in found.__mro__)


def generator_reader(found, config):
    def read(files):
        reader = found()
        reader.init(config)
        samples = reader.dataloader(files)()
        return rows_of(samples) if config.get("runner.batch_generator") else samples

    return read


def rows_of(batches):
    for batch in batches:
        for row in range(len(batch[0])):
            yield [field[row] for field in batch]


def line_reader(found, settings, config):
    def read(files):
        reader = found(settings["yaml"]) if takes_config(found) else found()
        if hasattr(reader, "init"):
            reader.init() if not takes_argument(reader.init) else reader.init(config)
        for file in files:
            with open(file) as lines:
                for line in lines:
                    for sample in reader.generate_sample(line)():
                        if sample is not None:
                            yield dict(sample)

    return read


def takes_config(found):
    try:
        return len(inspect.signature(found).parameters) > 0
    except (TypeError, ValueError):
        return False


def takes_argument(method):
    return len(inspect.signature(method).parameters) > 0
