"""Stand-in for paddle.distributed, used where paddlepaddle is not installed: which rank asks."""
import os

from oarfish_missing import missing

is_stand_in = True


def get_rank(group=None):
    _note()
    return int(os.environ.get("PADDLE_TRAINER_ID") or 0)


def get_world_size(group=None):
    _note()
    return int(os.environ.get("PADDLE_TRAINERS_NUM") or 1)


def _note():
    from oarfish_dataset import note_asked

    note_asked()


__getattr__ = missing("paddle.distributed")
