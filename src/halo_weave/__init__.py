"""Halo Weave: a memory that never ends, for local language models."""

from importlib.metadata import version

__version__ = version("halo-weave")
