"""The data generators of Paddle: a reader's samples written to stdout as MultiSlot text."""
import sys


class DataGenerator(object):
    """Override generate_sample(line): it returns a function whose iterator gives [(name, [values...]), ...]; None is skipped."""

    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32

    def set_batch(self, batch_size):
        self.batch_size_ = batch_size

    def generate_sample(self, line):
        raise NotImplementedError(
            "Please rewrite this function to return a list or tuple: "
            "[(name, [feasign, ...]), ...] or ((name, [feasign, ...]), ...)")

    def generate_batch(self, samples):
        """May be overridden to work on set_batch() samples at a time."""

        def local_iter():
            for sample in samples:
                yield sample

        return local_iter

    def run_from_stdin(self):
        self._run(sys.stdin)

    def run_from_memory(self):
        """Samples of generate_sample(None), for debugging."""
        self._run([None])

    def _run(self, lines):
        write = sys.stdout.write
        batch = []
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                batch.append(sample)
                if len(batch) == self.batch_size_:
                    self._write(batch, write)
                    batch = []
        if batch:
            self._write(batch, write)
        sys.stdout.flush()

    def _write(self, batch, write):
        for sample in self.generate_batch(batch)():
            write(self._gen_str(sample))

    def _gen_str(self, line):
        raise NotImplementedError("Use MultiSlotDataGenerator or MultiSlotStringDataGenerator")


def _as_list(line, expected):
    if isinstance(line, zip):
        line = list(line)
    if isinstance(line, (list, tuple)):
        return line
    raise ValueError("the output of process() must be in list or tuple type Example: " + expected)


class MultiSlotStringDataGenerator(DataGenerator):
    """Values are text and are written as they are."""

    def _gen_str(self, line):
        fields = _as_list(line, "[('words', ['1926', '08', '17']), ('label', ['1'])]")
        return " ".join(" ".join([str(len(values))] + list(values)) for _, values in fields) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Values are ints and floats; the first sample settles names and order."""

    def _gen_str(self, line):
        fields = _as_list(line, "[('words', [1926, 08, 17]), ('label', [1])]")
        if self._proto_info is None:
            self._proto_info = [[name, "uint64"] for name, _ in fields]
        elif len(fields) != len(self._proto_info):
            raise ValueError("the complete field set of two given line are inconsistent.")
        return " ".join(self._field(index, *field) for index, field in enumerate(fields)) + "\n"

    def _field(self, index, name, values):
        if not isinstance(name, str):
            raise ValueError("name%s must be in str type" % type(name))
        if not isinstance(values, list):
            raise ValueError("elements%s must be in list type" % type(values))
        if not values:
            raise ValueError("the elements of each field can not be empty, you need padding it in process().")
        info = self._proto_info[index]
        if name != info[0]:
            raise ValueError(
                "the field name of two given line are not match: require<%s>, get<%s>." % (info[0], name))
        for value in values:
            if isinstance(value, float):
                info[1] = "float"
            elif not isinstance(value, int):
                raise ValueError("the type of element%s must be in int or float" % type(value))
        return " ".join([str(len(values))] + [str(value) for value in values])
