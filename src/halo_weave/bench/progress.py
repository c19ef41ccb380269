"""How a measurement says how far it is: one line at a time."""

from collections.abc import Callable

Progress = Callable[[str], None]
