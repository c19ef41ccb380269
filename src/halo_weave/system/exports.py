"""Public names of a package that are imported when somebody asks for them, so that a setting can be read without
loading a database, a model or a search index."""

from collections.abc import Callable, Mapping
from importlib import import_module


def exported_from(modules: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__`: `modules` has the module of each public name."""

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"There is no public name {name!r}; there are {', '.join(sorted(modules))}.")
        return getattr(import_module(modules[name]), name)

    return get
