"""A reader in Python for the benchmark: slot text to MultiSlot text, as users of PaddleRec write them."""
import paddle.distributed.fleet as fleet

SLOTS = ["click"] + [str(slot) for slot in range(1, 27)] + ["dense_feature"]


class Reader(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def reader():
            slots = {name: [] for name in SLOTS}
            for word in line.split():
                name, value = word.split(":")
                if name in slots:
                    slots[name].append(float(value) if name == "dense_feature" else int(value))
            yield [(name, values or [0]) for name, values in slots.items()]

        return reader


Reader().run_from_stdin()
