"""Code of the user's: named in files and commands, recognised by what it does, and tried before it is compiled.

A class is named `module:Name` or `file.py:Name`, found beside the file that names it. Naming code is running it:
whoever plays an experiment runs the Python files that it names. Loading a result never comes here.

A trial calls a method once in the interpreter, so that a mistake is told by class, method and line. Compilers report
what they cannot type, some screens long, and where they stumbled is seldom where the mistake is. Where Python refuses
arithmetic (dividing by 0, a logarithm of 0), machine code goes on with infinities: that is no mistake, and is left to
the run.

Numba freezes whatever a compiled method reads: helper functions, constants, defaults, closures. So two compilations are
interchangeable, and a stored result is still that of the code, only if all of that is equal. `Reach` walks it and
writes it down, every value in its place: what was met before is written as a reference to where.
"""

import builtins
import collections
import importlib
import inspect
import math
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from outlay.errors import BadCode, BadParameter
from outlay.parameters import records_in
from outlay.text import meant

ALLOWED = "module:Name or file.py:Name"
YOURS = "yours as file.py:Name"  # where names are listed
# The methods that compiled code calls: the whole protocol, with the number of arguments after self.
PROTOCOL = {
    "score": 2,
    "sample": 3,
    "choose": 3,
    "choose_among": 4,
    "excess": 3,
    "excess_of_new_arm": 2,
    "phase": 1,
    "observe": 3,
    "arrive": 1,
    "observe_with": 4,
    "belief": 1,
    "lead": 1,
    "opened": 0,
    "unopened": 0,
    "shuffle": 1,
    "full": 0,
    "draw": 1,
    "pull": 2,
    "request": 1,
    "pull_for": 3,
    "room_for": 1,
}
# Modules whose functions numba brings its own versions of; their versions are part of the cache's name.
_KNOWN = ("math", "cmath", "numpy", "numba")
_OUTLAY = str(Path(__file__).parent)
_ELSEWHERE = (*{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}, "<frozen")
_MAKERS = (collections.__file__, "<string>")  # of NamedTuple's methods
_loaded: dict[Path, tuple[bytes, ModuleType]] = {}  # by file: the hash of what was run, and what came of it


def is_own(cls: type) -> bool:
    """Whether a class is the user's: written outside of this package."""
    return cls.__module__.partition(".")[0] != "outlay"


def is_reference(text: object) -> bool:
    """Whether a name is meant to be found in the user's code."""
    return isinstance(text, str) and ":" in text


def reference_of(cls: type) -> str:
    """What a file calls a class: `module:Name`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def short_name(reference: str) -> str:
    """The class's own name: Optimist of mine.py:Optimist."""
    return reference.rpartition(":")[2].rpartition(".")[2]


class ClassesByName(dict[str, type]):
    """Classes that the user hands over, by their own names: `get` finds one by the name or by a reference."""

    def get(self, reference: str, default: Any = None) -> Any:
        """The class, if it is there."""
        return super().get(short_name(reference), default)


def classes_by_name(owner: str, name: str, classes: Iterable[type]) -> ClassesByName:
    """Check classes that the user hands over."""
    given: object = classes
    if isinstance(given, type) or not isinstance(given, Iterable):
        raise BadParameter(owner, name, "a list of classes", classes)
    made = ClassesByName()
    for cls in given:
        if not isinstance(cls, type) or cls.__name__ in made:
            raise BadParameter(owner, name, "a list of classes, each of another name", cls)
        made[cls.__name__] = cls
    return made


def find_class(owner: str, name: str, text: str, folder: Path) -> type:
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
        there = {key: one for key, one in vars(module).items() if isinstance(one, type)}
        classes = [key for key, one in there.items() if one.__module__ == module.__name__]
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
    file = getattr(before, "__file__", None)
    taken = stem in sys.stdlib_module_names or (before is not None and (file is None or Path(file).resolve() != path))
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
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{place}.".startswith(f"{error.name}."):
            raise BadParameter(owner, name, f"{ALLOWED}, and there is no module {place}", text) from None
        raise BadCode(_told(error, place)) from error


def _look_in(folder: Path) -> None:
    """As `python file.py` does: modules beside the file can be imported, by processes that help, too."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)


def _told(error: BaseException, file: str) -> str:
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or file).name}, line {error.lineno}, is not Python: {error.msg}"
    return f"{file} cannot be run: {what_failed(error)}"


def own_classes(*values: object) -> list[type]:
    """The user's classes among some records, and among records inside them, each once."""
    return list(dict.fromkeys(type(record) for record in records_in(*values) if is_own(type(record))))


def digests(*values: object) -> dict[str, str]:
    """The user's classes among some records, each with a digest of its code."""
    return {reference_of(cls): digest(cls) for cls in own_classes(*values)}


def digest(cls: type) -> str:
    """Everything that the methods of a class read, helpers and constants included; comments and layout are not code.

    Where the methods hold something that only this process knows (an object of another library, say), the text of the
    file stands for them.
    """
    reach = Reach(cls, *_functions(cls))
    if reach.portable:
        return reach.digest
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return sha256(Path(file).read_bytes()).hexdigest()[:24] if file else reach.digest


def _functions(cls: type) -> list[FunctionType]:
    """The methods that the user wrote, and what makes derived fields; not those that NamedTuple made."""
    parts = [part for base in cls.__mro__ if is_own(base) for _, part in sorted(vars(base).items())]
    parts += [entry.make for entry in getattr(cls, "_declared", {}).values()]
    plain = [part.__func__ if isinstance(part, (classmethod, staticmethod)) else part for part in parts]
    return [part for part in plain if inspect.isfunction(part) and part.__code__.co_filename not in _MAKERS]


class Returned(NamedTuple):
    """What a method must return: in words, and as a test."""

    words: str
    good: Callable[[Any], bool]


def is_number(value: object) -> bool:
    """Whether compiled code would take a value for a real number."""
    return isinstance(value, (int, float, np.bool_, np.integer, np.floating))


NUMBER = Returned("a number", is_number)
WHOLE = Returned("a whole number", lambda value: isinstance(value, (int, np.integer)))
NOTHING = Returned("anything", lambda _value: True)


def try_once(owner: object, method: str, takes: str, arguments: tuple[Any, ...], returns: Returned = NOTHING) -> Any:
    """What a method returns, called as a run would call it; BadCode says what is wrong with it, and where.

    `takes` names the arguments. Classes of outlay are called as they are. None where Python refuses the arithmetic.
    """
    function = getattr(owner, method)
    if not is_own(type(owner)):
        return function(*arguments)
    place, code = f"{type(owner).__name__}.{method}", getattr(getattr(type(owner), method), "__code__", None)
    if code is not None:
        place = in_words(place, code.co_filename, code.co_firstlineno)
    wanted = f"(self, {takes})"
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        its = inspect.signature(getattr(type(owner), method))
        raise BadCode(f"{place} must take {wanted}; it takes {its}") from None
    try:
        with np.errstate(all="ignore"):
            value = function(*arguments)
    except (ArithmeticError, ValueError):
        return None
    except Exception as error:
        probably = ""
        if isinstance(error, AttributeError) and isinstance(error.name, str):
            probably = meant(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
        raise BadCode(f"{what_failed(error)}{probably}") from error
    if not returns.good(value):
        text, forgot = repr(value), ": does a `return` lack?" if value is None else ""
        text = text if len(text) <= 60 else f"{text[:57]}…, of type {type(value).__name__}"
        raise BadCode(f"{place} must return {returns.words}; it returned {text}{forgot}")
    return value


def pair_of(value: object) -> bool:
    """Whether it is a cost and a reward."""
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return all(is_number(each) and math.isfinite(each) for each in value)


def instead_of_class(cls: type) -> str:
    """The call that was probably meant where somebody passed a class.

    >>> class Mine:
    ...     def __init__(self, width=1.0): ...
    >>> class Other:
    ...     def __init__(self, width): ...
    >>> instead_of_class(Mine), instead_of_class(Other)
    ('an object, not its class (did you mean Mine()?)', 'an object, not its class (did you mean Other(…)?)')
    """
    try:
        wanted = inspect.signature(cls).parameters.values()
        needs = any(one.default is one.empty and one.kind is not one.VAR_KEYWORD for one in wanted)
    except (TypeError, ValueError):
        needs = True
    return f"an object, not its class (did you mean {cls.__name__}({'…' * needs})?)"


def what_failed(error: BaseException, *owners: type) -> str:
    """The user's function and line that an exception comes from, and what it says.

    The last line that is neither outlay's nor in an installed package nor in Python itself; else the very last.
    Compiled code tells the name of a method, not of its class, which is then looked for among `owners`.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    outside = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith(_OUTLAY)]
    mine = [(frame, line) for frame, line in outside if not frame.f_code.co_filename.startswith(_ELSEWHERE)]
    said = f"failed with {type(error).__name__}: {error}"
    if not (found := mine or outside or frames):
        return said
    frame, line = found[-1]
    return f"{in_words(_name(frame.f_code, owners), frame.f_code.co_filename, line)} {said}"


def in_words(name: str, file: str, line: int) -> str:
    """A function with its file and line: Mine.score (mine.py, line 12)."""
    return f"{name} ({Path(file).name}, line {line})"


def _name(code: CodeType, owners: Sequence[type]) -> str:
    """A function's name with its class's, without where a function within a function was made."""
    for owner in owners:
        method = getattr(getattr(owner, code.co_name, None), "__code__", None)
        if method is not None and method.co_filename == code.co_filename:
            return f"{owner.__name__}.{code.co_name}"
    return code.co_qualname.rpartition("<locals>.")[2]


class Reach:
    """Everything that some functions, or the protocol's methods of some classes, read: as text, and what is in it."""

    def __init__(self, *roots: Any) -> None:
        self.parts: list[str] = []
        self.classes: list[type] = []
        self.functions: list[Any] = []  # plain Python ones, which numba must be told of
        self.modules: list[ModuleType] = []  # the user's, read as `module.name`
        self.portable = True  # False: it holds something that another process could not recognise
        self._seen: dict[Any, int] = {}
        self._alive: list[object] = []  # whose ids stand in `parts` or in `_seen`
        for root in roots:
            self._value(root)

    @property
    def digest(self) -> str:
        """A short name for all of it."""
        return sha256("\n".join(self.parts).encode()).hexdigest()[:24]

    def _first_time(self, *things: object) -> bool:
        """Whether these are new; if not, a reference to where they were met is written."""
        key = tuple(map(id, things))
        if key in self._seen:
            self.parts.append(f"again {self._seen[key]}")
            return False
        self._seen[key] = len(self.parts)
        self._alive.extend(things)
        return True

    def _class(self, cls: type) -> None:
        if not self._first_time(cls):
            return
        self.classes.append(cls)
        if not _importable(cls):
            self._opaque(cls)
        self.parts.append(f"class {cls.__module__}.{cls.__qualname__} {getattr(cls, '_fields', ())}")
        for name in PROTOCOL:
            method = getattr(cls, name, None)
            if inspect.isfunction(method):
                self.parts.append(f"method {name}")
                self._function(method)

    def _function(self, function: FunctionType) -> None:
        if not self._first_time(function):
            return
        self.functions.append(function)
        self.parts.append(f"function {function.__qualname__}")
        names = self._code(function.__code__)
        self._value(function.__defaults__)
        self._value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        self._values(cell.cell_contents for cell in function.__closure__ or ())
        for name in names:
            if name in function.__globals__:
                self._named(f"global {name}", function.__globals__[name], names)

    def _module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        """A module, used as `module.name`: what is read of a user's can only be one of the function's names."""
        self.parts.append(f"module {module.__name__}")
        if _known(module.__name__) or not self._first_time(module, names):
            return
        self.modules.append(module)
        for name in names:
            if hasattr(module, name):
                self._named(f"attribute {name}", getattr(module, name), names)

    def _named(self, what: str, value: Any, names: tuple[str, ...]) -> None:
        self.parts.append(what)
        if inspect.ismodule(value):
            self._module(value, names)
        else:
            self._value(value)

    def _code(self, code: CodeType) -> tuple[str, ...]:
        """Write a function's code, nested ones included; the names it may look up."""
        self.parts.append(f"code {code.co_name} {code.co_varnames} {code.co_names} {code.co_code.hex()}")
        names = code.co_names
        self.parts.append(f"constants {len(code.co_consts)}")
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names += self._code(constant)
            else:
                self._value(constant)
        return names

    def _values(self, values: Iterable[object]) -> None:
        values = list(values)
        self.parts.append(f"items {len(values)}")
        for value in values:
            self._value(value)

    def _value(self, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.parts.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.parts.append(f"array {value.dtype.descr} {value.shape} {value.tobytes().hex()}")
        elif isinstance(value, tuple):
            if type(value) is not tuple:
                self._class(type(value))
            self._values(value)
        elif type(value) is dict:  # compiled code reads none, but the interpreter's tables are code, too
            self.parts.append("dict")
            self._values(part for item in value.items() for part in item)
        elif isinstance(value, type) and issubclass(value, tuple):
            self._class(value)
        elif inspect.isfunction(getattr(value, "py_func", None)):
            # The user gave it to njit: it is compiled by itself, with constants and options of its own. Compiled code
            # gets a plain copy of what was given, so what it reads is followed like anything else.
            self.portable = False
            self._function(value.py_func)
        elif _known(getattr(value, "__module__", None)) or _builtin(value):
            self.parts.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', repr(value))}")
        elif inspect.isfunction(value):
            self._function(value)
        else:
            self._opaque(value)

    def _opaque(self, value: object) -> None:
        self.portable = False
        self._alive.append(value)
        self.parts.append(f"object {id(value)}")


def _known(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in _KNOWN


def _builtin(value: object) -> bool:
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(builtins, name, None) is value


def _importable(cls: type) -> bool:
    """Whether another process that imports the class's module would find this very class."""
    if cls.__module__ == "__main__":
        return False
    found: object = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls
