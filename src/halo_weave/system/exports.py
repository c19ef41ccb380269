"""Imports the public names of a package on first use, so that reading a setting does not load a database, a model or a
search index."""

from collections.abc import Callable, Mapping
from importlib import import_module


def exported_from(modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a package's `__getattr__`; `modules` maps each public name to its module."""

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"There is no public name {name!r}; there are {', '.join(sorted(modules))}.")
        return getattr(import_module(modules[name]), name)

    return get
