"""One name, one thing: no class and no file of outlay is called as another."""

import ast
from collections import Counter
from pathlib import Path

import outlay

FILES = [file for file in Path(outlay.__file__).parent.rglob("*.py") if file.name != "__init__.py"]


def test_no_file_name_repeats() -> None:
    assert [name for name, count in Counter(file.name for file in FILES).items() if count > 1] == []


def test_no_class_name_repeats() -> None:
    nodes = (node for file in FILES for node in ast.walk(ast.parse(file.read_bytes())))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []
