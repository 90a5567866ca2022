"""Stand-in for paddle.incubate, used where paddlepaddle is not installed."""
from oarfish_missing import missing

__getattr__ = missing("paddle.incubate")
