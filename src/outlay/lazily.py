"""Names that a package offers and imports only when they are used, so that importing the package stays fast."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from outlay.extras import needed


def lazily(
    package: str, homes: Mapping[str, str], former: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: `dir`, `help` and the Tab key show every name, used or not.

    Args:
        package: the package, `__name__` in its `__init__.py`.
        homes: from a module to the names that come from it, with spaces between them; a package that offers one of its
            subpackages lists it under the subpackage itself.
        former: from names of earlier versions to today's; they still work, and `dir` does not show them.

    >>> look_up, names = lazily("outlay", {"outlay.errors": "BadFile BadParameter"}, {"NoFile": "BadFile"})
    >>> look_up("BadFile"), look_up("NoFile"), [name for name in names() if name.startswith("Bad")]
    (<class 'outlay.errors.BadFile'>, <class 'outlay.errors.BadFile'>, ['BadFile', 'BadParameter'])
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    today = former or {}

    def look_up(asked: str) -> object:
        name = today.get(asked, asked)
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {asked!r}")
        with needed(f"{package}.{name}".removeprefix("outlay.")):
            module = import_module(home_of[name])
        return module if home_of[name] == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return look_up, names
