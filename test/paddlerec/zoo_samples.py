"""What the first samples of a reader of PaddleRec's are, found without Oarfish: for comparison. Arguments: reader, config, folder of data, how many, seed."""
import importlib.util
import json
import os
import sys




def main():
    reader, config, folder, most = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    sys.path.append(os.path.dirname(reader))
    stdout, sys.stdout = sys.stdout, sys.stderr
    import numpy as np
    spec = importlib.util.spec_from_file_location(os.path.basename(reader)[:-3], reader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import random

    random.seed(int(sys.argv[5]))
    np.random.seed(int(sys.argv[5]))
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[0] not in "._"]
    dataset = module.RecDataset(files, config=config)
    from paddle.io import IterableDataset

    samples = iter(dataset) if isinstance(dataset, IterableDataset) else (dataset[i] for i in range(len(dataset)))
    found = []
    for sample in samples:
        sample = sample if isinstance(sample, (list, tuple)) else [sample]
        fields = [np.asarray(field.numpy() if hasattr(field, "numpy") else field) for field in sample]
        found.append([[field.dtype.name, [float(value) if field.dtype.kind == "f" else int(value) for value in field.ravel()]]
                      for field in fields])
        if len(found) >= most:
            break
    json.dump(found, stdout)


main()
