"""Stand-in for paddle.fluid, used where paddlepaddle is not installed."""
from oarfish_missing import missing

__getattr__ = missing("paddle.fluid")
