"""A reader for the benchmark as PaddleRec's are, numpy arrays by slot; run by itself it times what plain Python makes of files: `rec_dataset.py PROCESSES FILE...`
prints samples a second and the microseconds of processor time of a sample."""
import sys
import time

import numpy as np

try:
    from paddle.io import IterableDataset
except ImportError:
    IterableDataset = object

SLOTS = ["click"] + [str(slot) for slot in range(1, 27)]


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super(RecDataset, self).__init__()
        self.file_list = file_list

    def __iter__(self):
        for file in self.file_list:
            with open(file) as lines:
                for line in lines:
                    found = {name: [] for name in SLOTS}
                    dense = []
                    for word in line.split():
                        name, value = word.split(":")
                        if name == "dense_feature":
                            dense.append(float(value))
                        elif name in found:
                            found[name].append(int(value))
                    output = [np.array(found[name] or [0]).astype("int64") for name in SLOTS]
                    output.append(np.array(dense).astype("float32"))
                    yield output


def count(files):
    samples, start, cpu = 0, None, 0.0
    for _ in RecDataset(files, {}):
        if start is None:
            start, cpu = time.time(), time.process_time()
        samples += 1
    return samples, start, time.time(), time.process_time() - cpu


if __name__ == "__main__":
    from multiprocessing import Pool

    processes, files = int(sys.argv[1]), sys.argv[2:]
    with Pool(processes) as pool:
        found = pool.map(count, [files[index::processes] for index in range(processes)])
    samples = sum(count for count, _, _, _ in found)
    seconds = max(end for _, _, end, _ in found) - min(start for _, start, _, _ in found)
    print(samples / seconds, sum(cpu for _, _, _, cpu in found) / samples * 1e6)
