"""PyTorch twins of the models, written from their papers: one net serves recorded steps and whole trainings."""
from . import behaviour, ctr, deep, match, multitask, sequence  # noqa: F401
from .scope import TWINS, Batch, Scope  # noqa: F401
