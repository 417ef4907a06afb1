"""Classes of the user's that a file or a command names: `module:Name`, or `file.py:Name`, found beside the file.

Naming code is running it: whoever plays an experiment runs the Python files that it names. Loading a result never
comes here.
"""

import importlib
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from outlay.errors import BadCode, BadParameter
from outlay.own.places import what_failed
from outlay.text import meant

ALLOWED = "module:Name or file.py:Name"
YOURS = "yours as file.py:Name"  # where names are listed
_loaded: dict[Path, tuple[bytes, ModuleType]] = {}  # by file: the hash of what was run, and what came of it


def is_reference(text: object) -> bool:
    """Whether a name is meant to be found in the user's code.

    >>> is_reference("mine.py:Optimist"), is_reference("Thrifty"), is_reference(None)
    (True, False, False)
    """
    return isinstance(text, str) and ":" in text


def reference_of(cls: type) -> str:
    """What a file calls a class: `module:Name`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def short(reference: str) -> str:
    """The class's own name.

    >>> short("mine.py:Optimist")
    'Optimist'
    """
    return reference.rpartition(":")[2].rpartition(".")[2]


class Handed(dict[str, type]):
    """Classes that the user hands over, by their own names: `get` finds one by the name or by a reference."""

    def get(self, reference: str, default: Any = None) -> Any:
        """The class, if it is there."""
        return super().get(short(reference), default)


def handed(owner: str, name: str, classes: Iterable[type]) -> Handed:
    """Check classes that the user hands over.

    >>> handed("load", "laws", [Path]).get("pathlib:Path")
    <class 'pathlib.Path'>
    """
    given: object = classes
    if isinstance(given, type) or not isinstance(given, Iterable):
        raise BadParameter(owner, name, "a list of classes", classes)
    made = Handed()
    for cls in given:
        if not isinstance(cls, type) or cls.__name__ in made:
            raise BadParameter(owner, name, "a list of classes, each of another name", cls)
        made[cls.__name__] = cls
    return made


def found(owner: str, name: str, text: str, folder: Path) -> type:
    """The class that `text` names, its file or module looked for in `folder` first.

    A file that has changed since it was last run is run again. BadParameter says what is wrong with the name, BadCode
    what is wrong with the file.
    """
    place, _, wanted = text.rpartition(":")
    if not place.strip() or not wanted.isidentifier():
        raise BadParameter(owner, name, ALLOWED, text)
    if place.endswith(".py"):
        module = _run(owner, name, folder / place, text)
    else:
        module = _imported(owner, name, place, folder, text)
    value = getattr(module, wanted, None)
    if not isinstance(value, type):
        classes = [
            key for key, one in vars(module).items() if isinstance(one, type) and one.__module__ == module.__name__
        ]
        known = f", which has {', '.join(classes)}{meant(wanted, classes)}" if classes else ", which has none"
        raise BadParameter(owner, name, f"a class of {place}{known}", text)
    return value


def _run(owner: str, name: str, path: Path, text: str) -> ModuleType:
    """The module that a file makes; another module of its name must not be there."""
    path = path.resolve()
    if not path.is_file():
        raise BadParameter(owner, name, f"{ALLOWED}, and there is no file {path.name} in {path.parent}", text)
    digest = sha256(path.read_bytes()).digest()
    if path in _loaded and _loaded[path][0] == digest:
        return _loaded[path][1]
    stem, before = path.stem, sys.modules.get(path.stem)
    taken = stem in sys.stdlib_module_names or (before is not None and _file_of(before) != path)
    if taken or not stem.isidentifier():
        raise BadParameter(owner, name, "of a file with a name that no other Python module has", text)
    spec = spec_from_file_location(stem, path)
    if spec is None or spec.loader is None:
        raise BadParameter(owner, name, ALLOWED, text)
    module = module_from_spec(spec)
    sys.modules[stem] = module
    _look_in(path.parent)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[stem]
        raise BadCode(_told(error, path.name)) from error
    _loaded[path] = digest, module
    return module


def _imported(owner: str, name: str, place: str, folder: Path, text: str) -> ModuleType:
    _look_in(folder)
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise BadCode(_told(error, place)) from error
        raise BadParameter(owner, name, f"{ALLOWED}, and there is no module {place}", text) from None
    except (Exception, SystemExit) as error:
        raise BadCode(_told(error, place)) from error


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _look_in(folder: Path) -> None:
    """As `python file.py` does: modules beside the file can be imported, by processes that help, too."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)


def _told(error: BaseException, file: str) -> str:
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or file).name}, line {error.lineno}, is not Python: {error.msg}"
    return f"{file} cannot be run: {what_failed(error)}"
