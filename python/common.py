"""The name that common_ps had in earlier versions of PaddleRec."""
from common_ps import *  # noqa: F401,F403
