"""Checks every model of a folder: onnx.checker with full shape inference, then onnxruntime against the recorded outputs.

    python3 test/python/check_onnx.py DIR     # DIR holds NAME.onnx and NAME.json ({inputs, outputs} by name)
"""
import json
import pathlib
import sys

import numpy
import onnx
import onnxruntime

DTYPES = {"float32": numpy.float32, "int64": numpy.int64, "int32": numpy.int32}


def array(recorded):
    return numpy.array(recorded["values"], DTYPES[recorded["dtype"]]).reshape(recorded["dims"])


failed = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        recorded = json.loads(path.with_suffix(".json").read_text())
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        declared = {value.name for value in session.get_inputs()}
        inputs = {name: array(value) for name, value in recorded["inputs"].items() if name in declared}
        outputs = session.run(list(recorded["outputs"]), inputs)
        for (name, expected), actual in zip(recorded["outputs"].items(), outputs):
            numpy.testing.assert_allclose(actual, array(expected), rtol=1e-4, atol=1e-4, err_msg=name)
        print(f"ok {path.stem}")
    except Exception as error:  # every model is reported, not only the first that fails
        failed += 1
        print(f"FAILED {path.stem}: {error}")
sys.exit(failed > 0)
