"""Stand-in for paddle.distributed.fleet: the data generators that readers are built on."""
from oarfish_data_generator import DataGenerator, MultiSlotDataGenerator, MultiSlotStringDataGenerator
from oarfish_missing import missing

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]
__getattr__ = missing("paddle.distributed.fleet")
