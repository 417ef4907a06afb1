"""Names that a package offers and looks up only when they are used, so that importing it loads next to nothing."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from outlay.extras import needed


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from its modules to the names in each, with spaces between them.

    >>> look_up, names = lazily("outlay", {"outlay.errors": "BadFile BadParameter"})
    >>> look_up("BadFile"), [name for name in names() if name.startswith("Bad")]
    (<class 'outlay.errors.BadFile'>, ['BadFile', 'BadParameter'])
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needed(f"{package}.{name}".removeprefix("outlay.")):
            module = import_module(home_of[name])
        return module if home_of[name] == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return look_up, names
