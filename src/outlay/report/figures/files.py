"""Figures as files: PNG, PDF and SVG, the same bytes from the same figure; and inside a page, in its colours."""

import io
import re
import warnings
from os import PathLike
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from outlay.checks import checked_path, writing
from outlay.errors import BadParameter
from outlay.report.figures.style import ARMS, FAINT, INK, PALETTE, REST, SOFT

FORMATS = ("png", "pdf", "svg")
_DATELESS: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
# Text stays text in an SVG (small, searchable, editable) and in a PDF (TrueType: journals refuse Type 3).
_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "outlay", "pdf.fonttype": 42}
_FINE = 400  # dots per inch for the layout: with few, letters are rounded to whole dots, and names come out too short
# What a page may set anew for a dark screen, and what holds where it does not.
_VARIABLES = (
    {colour.lower(): f"var(--policy-{i}, {colour})" for i, colour in enumerate(PALETTE)}
    | {colour.lower(): f"var(--arm-{i}, {colour})" for i, colour in enumerate(ARMS)}
    | {INK.lower(): "currentColor", "#000000": "currentColor", "#ffffff": "none"}
    | {SOFT.lower(): "var(--soft, #888888)", FAINT.lower(): "var(--faint, #88888844)"}
    | {REST.lower(): "var(--rest, #BBBBBB)"}
)


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` in the format of the path's ending: .png at print resolution, .pdf with its fonts, .svg.

    No date is in the file, so that the same result gives the same bytes.
    """
    target = checked_path("save_figure", path)
    ending = target.suffix.lower().lstrip(".")
    if ending not in FORMATS:
        raise BadParameter("save_figure", "path", "one that ends in .png, .pdf or .svg", str(path))
    content = as_bytes(figure, ending)
    with writing(target):
        target.write_bytes(content)


def as_bytes(figure: Figure, ending: str) -> bytes:
    """The figure as a file of this format; letters that the font does not have are boxes in PNG and PDF."""
    content = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):  # once: it takes as long as drawing
            usual = figure.get_dpi()
            figure.set_dpi(_FINE)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            figure.set_dpi(usual)
        figure.savefig(content, format=ending, dpi=200, metadata=_DATELESS[ending])
    return content.getvalue()


def svg_text(figure: Figure) -> str:
    """The figure as an `<svg>` element to put into a page; every label in it is escaped."""
    text = as_bytes(figure, "svg").decode()
    return text[text.index("<svg") :]


def inline_svg(text: str, name: str, title: str) -> str:
    """An `svg_text` in the colours of the page around it, without a background; `name` keeps its ids from others'."""
    text = re.sub(r'style="[^"]*"', lambda style: re.sub(r"#[0-9a-f]{6}", _variable, style[0]), text)
    text = re.sub(r' id="[\w.]+_\d+"', "", text)
    text = re.sub(r'(id="|"#|url\(#)(?=[mp][0-9a-f]{10})', rf"\g<1>{name}-", text)
    label = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S).replace(
        "<svg ", f'<svg role="img" aria-label="{label}" ', 1
    )


def _variable(colour: re.Match[str]) -> str:
    return _VARIABLES.get(colour[0], colour[0])
