"""Run the cells of a notebook and write what they show into it, without Jupyter.

    python examples/notebook.py examples/first_look.ipynb

A cell shows the value of its last line as a notebook would: as HTML or a picture where it has one, else as text.
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run(source: str, names: dict[str, Any]) -> list[Output]:
    """What a cell prints and shows; `names` are those that cells share."""
    body = ast.parse(source).body
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body[: len(body) - (last is not None)], []), "<cell>", "exec"), names)  # noqa: S102
        value = eval(compile(ast.Expression(last), "<cell>", "eval"), names) if last is not None else None  # noqa: S307
    stream = {"output_type": "stream", "name": "stdout", "text": printed.getvalue()}
    return [stream] * bool(printed.getvalue()) + ([] if value is None else [shown(value)])


def shown(value: Any) -> Output:
    """A value as notebooks keep it."""
    data: dict[str, str] = {"text/plain": repr(value)}
    sizes: dict[str, Any] = {}
    if hasattr(value, "_repr_html_") and (html := value._repr_html_()) is not None:
        data["text/html"] = html
    if hasattr(value, "_repr_png_"):
        picture, sizes["image/png"] = value._repr_png_()
        data["image/png"] = base64.b64encode(picture).decode()
    return {"output_type": "execute_result", "data": data, "metadata": sizes}


def fill(path: Path) -> None:
    """Run all cells of a file in their order, and keep what they show."""
    notebook, names, number = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell["outputs"], cell["execution_count"] = run("".join(cell["source"]), names), number
            for output in cell["outputs"]:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
