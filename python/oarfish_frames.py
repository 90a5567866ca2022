"""Samples as frames: a length, a header in JSON, then records of arrays, or for each field its values one sample after the other.

Arrays of numpy, or of its stand-in, become records by one call of C code; anything else goes a slower way with the same result.
"""
import itertools
import json
import os
import struct
import time

from oarfish_dataset import rank_asked
from oarfish_packer import END, FULL, sample_packer

# A frame ends at every multiple of this, so that what was read can be compared however frames were cut between.
BLOCK = 512
FRAME_BYTES = 1024 * 1024
# A slow reader's samples are not kept back for longer.
FLUSH_SECONDS = 0.2
# Room for some frames, so that a reader seldom waits until the other side has been woken. Linux has it; its number is no name before Python 3.10.
F_SETPIPE_SZ = 1031
PIPE_BYTES = 1024 * 1024


class SampleError(Exception):
    pass


class FrameWriter(object):
    def __init__(self, output):
        self._descriptor = output.fileno()
        self._output = output
        widen(self._descriptor)

    def stream(self, slots):
        return SampleStream(self, slots)

    def send(self, header, arrays=()):
        text = json.dumps(header).encode("utf-8")
        text += b" " * (-len(text) % 8)
        pieces = []
        for array in arrays:
            data = array if isinstance(array, bytearray) else array.tobytes()
            pieces.append(data)
            if len(data) % 8:
                pieces.append(b"\0" * (-len(data) % 8))
        size = sum(map(len, pieces))
        data = memoryview(b"".join([struct.pack("<II", len(text), size), text] + pieces))
        while len(data):
            data = data[os.write(self._descriptor, data):]
        return size


def widen(pipe):
    try:
        import fcntl

        fcntl.fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, EnvironmentError):
        pass


class SampleStream(object):
    def __init__(self, writer, slots):
        from oarfish_columns import column_joiner

        self._writer = writer
        self._slots = slots
        self._kept = []
        # Fewer where samples are large.
        self._limit = BLOCK
        self._join = column_joiner()
        self._packer = sample_packer(slots)
        # Of a sample that is a dict: names that no slot has.
        self._ignored = set()
        self._told = set()
        self.samples = 0

    def take(self, samples):
        samples, packer, odd = iter(samples), self._packer, None
        while odd is not END:
            until = time.perf_counter() + FLUSH_SECONDS
            odd = packer.fill(samples, self._room(), until) if packer is not None else next(samples, END)
            self.flush()
            if odd is not END and odd is not FULL:
                self._keep(odd, samples, until)

    def _keep(self, first, samples, until):
        """A block from a sample on that is no record."""
        kept, room = self._kept, self._room()
        kept.append(first)
        while len(kept) < room and time.perf_counter() <= until:
            sample = next(samples, END)
            if sample is END:
                break
            kept.append(sample)
        self.flush()

    def _room(self):
        return min(self._limit, BLOCK - self.samples % BLOCK)

    def flush(self):
        if self._packer is not None and self._packer.count:
            self._flush_packed()
        samples = self._kept[:]
        del self._kept[:]
        if not samples:
            return
        try:
            size = self._send(samples)
            self.samples += len(samples)
        except SampleError:
            # One by one: those before a bad sample still count.
            size = 0
            for sample in samples:
                self._send([sample])
                self.samples += 1
        if size > FRAME_BYTES:
            self._limit = max(1, self._limit // 2)

    def _flush_packed(self):
        count, fields, arrays = self._packer.take()
        size = self._send_columns(count, fields, arrays, records=self._packer.records)
        self.samples += count
        if size > FRAME_BYTES:
            self._limit = max(1, self._limit // 2)

    def _send(self, samples):
        fields, arrays = self._columns(samples)
        return self._send_columns(len(samples), fields, arrays)

    def _send_columns(self, count, fields, arrays, records=None):
        ignored = sorted(self._ignored - self._told)
        self._told |= self._ignored
        header = {"kind": "samples", "samples": count, "fields": fields, "ignored": ignored, "asked": rank_asked(),
                  "records": records}
        return self._writer.send(header, arrays)

    def _columns(self, samples):
        if isinstance(samples[0], dict):
            samples = [self._by_name(sample) for sample in samples]
        else:
            samples = [listed(sample) for sample in samples]
        self._check_counts(samples)
        fields, arrays = [], []
        for slot, column in zip(self._slots, zip(*samples)):
            try:
                values, counts = self._join(column)
            except SampleError as error:
                raise SampleError('slot "%s": %s' % (slot, error))
            width = counts if isinstance(counts, int) else None
            fields.append({"dtype": dtype_name(values), "width": width, "values": len(values)})
            if width is None:
                arrays.append(counts)
            arrays.append(values)
        return fields, arrays

    def _by_name(self, sample):
        missing = [slot for slot in self._slots if slot not in sample]
        if missing:
            raise SampleError("the sample lacks %s; it has %s" % (quoted(missing), quoted(sorted(map(str, sample)))))
        if len(sample) > len(self._slots):
            self._ignored.update(str(name) for name in sample if name not in self._slots)
        return [sample[slot] for slot in self._slots]

    def _check_counts(self, samples):
        for count in set(map(len, samples)):
            if count != len(self._slots):
                raise SampleError("a sample has %d fields, the model has %d slots: %s" % (
                    count, len(self._slots), quoted(self._slots)))


def listed(sample):
    if isinstance(sample, (list, tuple)):
        return sample
    if isinstance(sample, zip) or hasattr(sample, "__next__"):
        return list(sample)
    # One array is one field, as DataLoader takes it.
    return [sample]


def quoted(names):
    shown = ['"%s"' % name for name in names[:40]]
    return ", ".join(shown) + (", ..." if len(names) > 40 else "")


def dtype_name(values):
    return getattr(values, "typecode", None) and {"q": "int64", "Q": "uint64", "f": "float32", "d": "float64"}[
        values.typecode] or values.dtype.name


chain = itertools.chain.from_iterable
