"""Why numba refuses code: one line out of some hundred, with the user's function and line, and what to do."""

import re
from collections.abc import Iterable
from types import FunctionType

_PLACE = r'([^\n]*\S)\s*\n\s*File "([^"]+)", line (\d+):\n(?:(?! *File ")[^\n]*\n)*?([^\n]*)\n *\^'
_LACKS = r"Use of unsupported NumPy function '(\w+(?:\.\w+)*)'"


def reason_of(report: str, functions: Iterable[FunctionType] = ()) -> str:
    r"""Which line of the user's numba stumbled over, and what it said there; `functions` are those it might be in.

    >>> reason_of('Unknown attribute cots\nFile "mine.py", line 3:\n    return belief.cots\n    ^')
    "numba refuses 'return belief.cots' in mine.py, line 3 (Unknown attribute cots)"
    """
    report = re.sub(r"\x1b\[[0-9;]*m", "", report)
    for found in re.finditer(_PLACE, report):
        said, path, line, code = (part.strip() for part in found.groups())
        if not re.search(r"[\\/](numba|outlay)[\\/]", path):
            lacks = re.search(_LACKS, said)
            why = f"it has no {lacks[1]}: use math, and a loop" if lacks else said.rstrip(".")
            why = f" ({why})" if why and not why.startswith("During") else ""
            return f"numba refuses {code!r} in {_place(path, int(line), functions)}{why}"
    telling = (line.strip() for line in report.splitlines() if re.search(r"Unknown|Cannot|annot |nvalid|ntyped", line))
    return f"numba says {next(telling, 'nothing helpful')!r}"


def _place(path: str, line: int, functions: Iterable[FunctionType]) -> str:
    """`Mine.score (mine.py, line 12)`, or the file and the line where no function is known to hold it."""
    file = path.rsplit("/", 1)[-1]
    for function in functions:
        code = function.__code__
        if code.co_filename.rsplit("/", 1)[-1] == file and any(at == line for _, _, at in code.co_lines()):
            return f"{code.co_qualname.rpartition('<locals>.')[2]} ({file}, line {line})"
    return f"{file}, line {line}"
