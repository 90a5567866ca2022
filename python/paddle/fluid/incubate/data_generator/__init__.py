"""Stand-in for paddle.fluid.incubate.data_generator, the generators' place before Paddle 2."""
from oarfish_data_generator import DataGenerator, MultiSlotDataGenerator, MultiSlotStringDataGenerator

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]
