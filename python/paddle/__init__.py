"""Stand-in for paddle, used where paddlepaddle is not installed."""
from oarfish_missing import missing

from . import distributed, io  # noqa: F401 `import paddle` brings both

__getattr__ = missing("paddle")
