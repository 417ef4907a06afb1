"""A notebook as a page: its words, its code, and what the code showed."""

import json
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> str:
    """The cells of a notebook as Markdown; pictures are in the page itself."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> list[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [text]
    return [f"```python\n{text}\n```", *(_shown(output) for output in cell["outputs"])]


def _shown(output: dict[str, Any]) -> str:
    """What a cell showed, in the richest form that it has.

    >>> _shown({"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<b>2</b>"}})
    '<div class="shown"><b>2</b></div>'
    """
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        width = output["metadata"]["image/png"]["width"]
        return f'<img alt="a figure" width="{width}" src="data:image/png;base64,{data["image/png"]}">'
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>'
    return f"```text\n{data['text/plain']}\n```"
