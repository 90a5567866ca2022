"""The limit beside onnxruntime-node: the same step graph in Python's onnxruntime. limit.py STEP.onnx SECONDS BATCH"""
import json, sys, time
import numpy as np, onnxruntime as ort

file, seconds, batch = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
def array(item):
    dims = [d if isinstance(d, int) else batch for d in item.shape]
    return np.zeros(dims, np.int64) if "int64" in item.type else (np.random.rand(*dims) * 0.1).astype(np.float32)
feeds = {item.name: array(item) for item in session.get_inputs()}
for _ in range(20): session.run(None, feeds)
start, steps = time.time(), 0
while time.time() - start < seconds: session.run(None, feeds); steps += 1
print(json.dumps({"peer": "onnxruntime " + ort.__version__ + " (Python), graph alone", "threads": 1, "batch": batch, "samples_per_s": round(steps * batch / (time.time() - start))}))
