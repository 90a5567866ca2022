"""A small CTR DNN on PaddlePaddle's own parameter servers: trains, saves its tables, loads them again and predicts.

    fleetrun --worker_num=1 --server_num=S paddle_tables.py train   SETTINGS.json
    fleetrun --worker_num=1 --server_num=S paddle_tables.py predict SETTINGS.json

Needs paddlepaddle 2.6.2, the last with parameter servers on CPUs. SETTINGS: {"out": folder, "samples", "batch", "slots", "dim",
"dense", "sizes", "seed", "signs": how many different ones at most, "shards", "compress", "rule", "threshold", "mode", "epochs",
"predictions": how many samples to predict, "predict_seed"}.
Writes {out}/model (the tables), {out}/plugin (the model for inference) and {out}/predictions.json: samples and scores.
"""
import json
import math
import os
import sys

os.environ["FLAGS_enable_pir_api"] = "0"
import numpy
import paddle
import paddle.distributed.fleet as fleet
from paddle.distributed.fleet.base import role_maker

phase, settings = sys.argv[1], json.load(open(sys.argv[2]))
out, dim, slot_count = settings["out"], settings["dim"], settings["slots"]
paddle.enable_static()
paddle.seed(settings["seed"])
fleet.init(role_maker.PaddleCloudRoleMaker())


def samples(count, seed):
    random = numpy.random.RandomState(seed)
    signs = random.randint(0, settings["signs"], size=(count, slot_count)).astype("uint64")
    # Spread over 64 bits, so that signs above 2^63 are among them.
    signs = signs * numpy.uint64(0x9E3779B97F4A7C15)
    dense = random.rand(count, settings["dense"]).astype("float32")
    labels = (random.rand(count) < 0.3).astype("int64")
    return signs.astype("int64"), dense, labels


dense = paddle.static.data("dense_input", [None, settings["dense"]], "float32")
slots = [paddle.static.data(str(i + 1), [None, 1], "int64") for i in range(slot_count)]
label = paddle.static.data("label", [None, 1], "int64")
weight = paddle.ParamAttr(name="embedding", initializer=paddle.nn.initializer.Uniform(-1.0, 1.0))
rows = [
    paddle.static.nn.sparse_embedding(slot, size=[1_000_001, dim], param_attr=weight, is_test=phase == "predict")
    for slot in slots
]
x = paddle.concat([paddle.reshape(row, [-1, dim]) for row in rows] + [dense], axis=1)
sizes = [slot_count * dim + settings["dense"], *settings["sizes"], 2]
for i, (wide, narrow) in enumerate(zip(sizes, sizes[1:])):
    init = paddle.nn.initializer.Normal(std=1.0 / math.sqrt(wide))
    x = paddle.nn.Linear(wide, narrow, weight_attr=paddle.ParamAttr(initializer=init))(x)
    if i < len(sizes) - 2:
        x = paddle.nn.functional.relu(x)
predict = paddle.nn.functional.softmax(x)
cost = paddle.mean(paddle.nn.functional.cross_entropy(x, label))

strategy = fleet.DistributedStrategy()
strategy.a_sync = True
table = {
    "table_parameters.embedding.accessor.accessor_class": "SparseAccessor",
    "table_parameters.embedding.shard_num": settings["shards"],
    "table_parameters.embedding.compress_in_save": settings["compress"],
    "table_parameters.embedding.accessor.embedx_threshold": settings["threshold"],
    "table_parameters.embedding.accessor.embed_sgd_param.name": settings["rule"],
    "table_parameters.embedding.accessor.embedx_sgd_param.name": settings["rule"],
}
strategy.sparse_table_configs = {"embedding": table}
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate=1e-2, lazy_mode=True), strategy)
optimizer.minimize(cost)

if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit(0)

exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
program = paddle.static.default_main_program()


def feed(part):
    signs, values, labels = part
    named = {str(i + 1): signs[:, i : i + 1] for i in range(slot_count)}
    return {**named, "dense_input": values, "label": labels.reshape(-1, 1)}


if phase == "train":
    signs, values, labels = samples(settings["samples"], settings["seed"])
    text = os.path.join(out, "train.txt")
    os.makedirs(out, exist_ok=True)
    with open(text, "w") as file:
        for row, vector, clicked in zip(signs.astype("uint64"), values, labels):
            slots_text = " ".join(f"1 {sign}" for sign in row)
            file.write(f"1 {clicked} {slots_text} {len(vector)} {' '.join(f'{v:.7g}' for v in vector)}\n")
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=settings["batch"], thread_num=1, use_var=[label, *slots, dense], pipe_command="cat")
    dataset.set_filelist([text])
    for _ in range(settings["epochs"]):
        exe.train_from_dataset(program, dataset, thread=1)
    fleet.barrier_worker()
    fleet.save_persistables(exe, os.path.join(out, "model"), mode=settings["mode"])
    used = slots + [dense]
    fleet.save_inference_model(exe, os.path.join(out, "plugin"), [slot.name for slot in used], [predict])
else:
    fleet.load_inference_model(os.path.join(out, "plugin"), mode=0)
    part = samples(settings["predictions"], settings.get("predict_seed", settings["seed"] + 1))
    scores = exe.run(program, feed=feed(part), fetch_list=[predict])[0]
    signs, values, labels = part
    lines = [
        {"signs": [str(int(s)) for s in signs[i].astype("uint64")], "dense": [float(v) for v in values[i]], "score": float(scores[i][1])}
        for i in range(len(labels))
    ]
    json.dump(lines, open(os.path.join(out, "predictions.json"), "w"))
fleet.stop_worker()
