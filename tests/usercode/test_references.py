"""`file.py:Name` and `module:Name`: found beside the file, run again when it changes, told what is wrong with them."""

import sys
from pathlib import Path

import pytest

from outlay.errors import BadCode, BadParameter
from outlay.usercode import digest, find_class

SOURCE = """
import math
from typing import NamedTuple
{before}

class Mine(NamedTuple):
    width: float = 1.0

    def score(self, belief, log_n):
        return {formula}
"""


def write(path: Path, formula: str = "math.inf", before: str = "") -> Path:
    path.write_text(SOURCE.format(formula=formula, before=before))
    return path


def test_a_class_is_found_in_a_file_and_in_a_module(tmp_path):
    write(tmp_path / "outlay_mine.py")
    cls = find_class("compare", "policy", "outlay_mine.py:Mine", tmp_path)
    assert cls.__name__ == "Mine"
    assert find_class("compare", "policy", "outlay_mine:Mine", tmp_path) is cls
    assert find_class("compare", "policy", "outlay_mine.py:Mine", tmp_path) is cls


def test_modules_beside_the_file_can_be_imported(tmp_path):
    (tmp_path / "outlay_beside.py").write_text("bonus = 7.0\n")
    write(tmp_path / "outlay_user.py", "bonus", "from outlay_beside import bonus")
    assert find_class("compare", "policy", "outlay_user.py:Mine", tmp_path)().score(None, 0.0) == 7.0


def test_a_changed_file_is_run_again_and_its_code_has_another_digest(tmp_path):
    path = write(tmp_path / "outlay_edited.py", "1.0")
    first = find_class("compare", "policy", "outlay_edited.py:Mine", tmp_path)
    kept = digest(first)
    write(path, "1.0  # a comment is no code")
    second = find_class("compare", "policy", "outlay_edited.py:Mine", tmp_path)
    assert (first is second, digest(second)) == (False, kept)
    write(path, "2.0")
    assert digest(find_class("compare", "policy", "outlay_edited.py:Mine", tmp_path)) != kept


@pytest.mark.parametrize("helper", ["def helper(x):\n    return x + 1\n", "def helper(x):\n    return x + 2\n"])
def test_the_digest_covers_helpers_and_is_the_same_in_every_process(tmp_path, fresh_python, helper):
    write(tmp_path / "outlay_helped.py", "helper(log_n)", helper)
    cls = find_class("compare", "policy", "outlay_helped.py:Mine", tmp_path)
    script = "from outlay_helped import Mine; from outlay.usercode import digest; print(digest(Mine))"
    assert fresh_python(script).stdout.strip() == digest(cls)
    other = write(tmp_path / "outlay_other.py", "helper(log_n)", helper.replace("x +", "x -"))
    assert digest(find_class("compare", "policy", f"{other.name}:Mine", tmp_path)) != digest(cls)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mine.py:", "must be module:Name or file.py:Name; got 'mine.py:'"),
        (":Mine", "must be module:Name or file.py:Name; got ':Mine'"),
        ("mine.py:a b", "must be module:Name or file.py:Name"),
        ("nowhere.py:Mine", "there is no file nowhere.py in "),
        ("outlay_nowhere:Mine", "there is no module outlay_nowhere"),
        ("outlay_here.py:Mien", r"a class of outlay_here.py, which has Mine \(did you mean Mine\?\)"),
        ("outlay_here.py:math", "a class of outlay_here.py, which has Mine"),
        ("random.py:Mine", "a file with a name that no other Python module has"),
        ("pytest.py:Mine", "a file with a name that no other Python module has"),
    ],
)
def test_a_bad_name_is_answered_in_one_sentence(tmp_path, text, sentence):
    for name in ("outlay_here", "random", "pytest"):
        write(tmp_path / f"{name}.py")
    with pytest.raises(BadParameter, match=sentence):
        find_class("compare", "policy", text, tmp_path)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def (", r"^outlay_bad.py, line 1, is not Python: "),
        ("x = 1\nx / 0", r"^outlay_bad.py cannot be run: <module> \(outlay_bad.py, line 2\) failed with ZeroDivision"),
        (
            "import sys\nsys.exit(3)",
            r"^outlay_bad.py cannot be run: <module> \(outlay_bad.py, line 2\) failed with Sys",
        ),
        ("import outlay_lacks", r"failed with ModuleNotFoundError: No module named 'outlay_lacks'$"),
    ],
)
def test_a_file_that_cannot_be_run_says_where(tmp_path, source, sentence):
    (tmp_path / "outlay_bad.py").write_text(source)
    with pytest.raises(BadCode, match=sentence):
        find_class("compare", "policy", "outlay_bad.py:Mine", tmp_path)
    assert "outlay_bad" not in sys.modules
