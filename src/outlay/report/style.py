"""The look of every figure: sizes, colours, axes; figures as files and inside pages. No pyplot, no settings changed."""

import io
import math
import re
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from textwrap import fill, wrap
from typing import Any, Literal, NamedTuple, get_args

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from outlay.checks import checked_path, word, writing
from outlay.errors import BadParameter
from outlay.report.curves import Curve, Scale
from outlay.text import cut, key_of, tick

# Policies have Okabe and Ito's colours (its yellow is too pale for a line), arms ones after Tol's muted: both are told
# apart with every common colour blindness, and no arm looks like a policy.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
ARMS = ("#2A9D8F", "#C8A83C", "#CC6677", "#6655BB", "#6FB7DE", "#882255", "#7A7A3C")
REST = "#BBBBBB"  # of the arms, when there are many
INK, SOFT, FAINT = "#333333", "#888888", "#DDDDDD"
MARKS = ("", "o", "s", "^")  # hollow, on the lines of the first policy of a colour, the second, …
# Those that are often compared have colours of their own; the palette has six.
_OWN = {
    name: index
    for index, names in enumerate(
        (
            ("UCBB1", "KLRate", "LPUCB"),
            ("UCBM1", "Fieller", "LPThompson", "OmegaUCB"),
            ("Thrifty", "Ration"),
            ("RoundRobin", "BTS"),
            ("UCBB2", "Frugal", "LPGreedy"),
            ("UCBB2C", "Wary", "FiellerKnown", "OmegaStarUCB"),
        )
    )
    for name in map(key_of, names)
}
Width = Literal["page", "column"]
WIDTHS: tuple[Width, ...] = get_args(Width)
Grid = Literal["x", "y", ""]  # across which axis the pale lines go
_TITLE, _NAME = 40, 16  # letters of a line where it is narrow: of a title, of a name beside a row
FORMATS = ("png", "svg", "pdf")
_DATELESS: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
# Text stays text in an SVG (small, searchable, editable) and in a PDF (TrueType: journals refuse Type 3).
_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "outlay", "pdf.fonttype": 42}
_FINE = 400  # dots per inch for the layout: with few, letters are rounded to whole dots, and names come out too short
_DOTS = 100  # of a screen, per inch; the picture has more, for screens that show them
# What a page may set anew for a dark screen, and what holds where it does not.
_VARIABLES = (
    {colour.lower(): f"var(--policy-{i}, {colour})" for i, colour in enumerate(PALETTE)}
    | {colour.lower(): f"var(--arm-{i}, {colour})" for i, colour in enumerate(ARMS)}
    | {INK.lower(): "currentColor", "#000000": "currentColor", "#ffffff": "none"}
    | {SOFT.lower(): "var(--soft, #888888)", FAINT.lower(): "var(--faint, #88888844)"}
    | {REST.lower(): "var(--rest, #BBBBBB)"}
)


class Sheet(NamedTuple):
    """The size of a figure in inches, and of its text and lines in points."""

    width: Width
    inches: float
    text: float
    line: float

    @property
    def narrow(self) -> bool:
        """Whether names go into a legend below, since there is no room at the side."""
        return self.width == "column"


_SHEETS = {"page": Sheet("page", 7.0, 9.5, 1.8), "column": Sheet("column", 3.3, 8.0, 1.2)}


def sheet_of(owner: str, width: Width) -> Sheet:
    """The sheet for a page, 7 inches wide, or for a column of a two-column paper, 3.3 inches."""
    return _SHEETS[word(owner, "width", width, WIDTHS)]


class ShownFigure(Figure):
    """A matplotlib figure with a picture for notebooks."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return as_bytes(self, "png"), {"width": round(self.get_figwidth() * _DOTS)}


def blank(sheet: Sheet, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with empty axes, row by row; `height` is in inches for a width of 7, and scales with the width."""
    figure = ShownFigure(figsize=(sheet.inches, height * sheet.inches / 7.0), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def frame(axes: Axes, sheet: Sheet, title: str = "", x: str = "", y: str = "", grid: Grid = "y") -> None:
    """Two spines, a pale grid, a title on the left; dollar signs of names are text, not mathematics."""
    axes.set_title(folded(title, sheet), loc="left", fontsize=sheet.text + 0.5, color=INK, parse_math=False)
    axes.set_xlabel(x, color=INK, fontsize=sheet.text)
    axes.set_ylabel(y, color=INK, fontsize=sheet.text)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(colors=INK, labelsize=sheet.text - 0.5, width=0.6, length=3.0)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=FAINT, linewidth=0.6)


def set_scale(axis: Axis, scale: Scale, low: float, high: float, ticks: int = 5) -> None:
    """A linear or logarithmic axis between two ends, with ticks that say 10k and 1M, few enough to be read."""
    axes = axis.axes
    if isinstance(axis, YAxis):
        axes.set_yscale(scale)
        axes.set_ylim(low, high)
    else:
        axes.set_xscale(scale)
        axes.set_xlim(low, high)
    decades = math.log10(high / low) if scale == "log" else 0.0
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.0 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axis.set_minor_locator(NullLocator())


def looks(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Each policy's colour, its own or one that nobody in the figure has, and a mark where two share one, or ""."""
    chosen = [_OWN.get(key_of(label)) for label in labels]
    used = [index for index in chosen if index is not None]
    for position, index in enumerate(chosen):
        if index is None:
            chosen[position] = least = min(range(len(PALETTE)), key=lambda each: (used.count(each), each))
            used.append(least)
    return [(PALETTE[colour or 0], MARKS[chosen[:i].count(colour) % len(MARKS)]) for i, colour in enumerate(chosen)]


def band(axes: Axes, curve: Curve, colour: str) -> None:
    """The 95 % band of a curve, down to the axis where it goes below a logarithmic one."""
    low = np.maximum(curve.low, axes.get_ylim()[0])
    axes.fill_between(curve.budgets, low, curve.high, color=colour, alpha=0.18, linewidth=0)


def legend(figure: Figure, sheet: Sheet, handles: Sequence[Artist], labels: list[str]) -> None:
    """The names below the axes, in as many columns as there is room for; the figure grows by their rows."""
    lengths, room = [len(label) + 7 for label in labels], 50 if sheet.narrow else 88
    # A legend divides its names downwards, the first columns one longer where that leaves a rest: so does array_split.
    columns = next((n for n in range(len(labels), 1, -1) if sum(map(max, np.array_split(lengths, n))) <= room), 1)
    rows = math.ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + (rows * 1.5 + 0.8) * sheet.text / 72.0)
    made = figure.legend(
        handles, labels, loc="outside lower left", ncols=columns, fontsize=sheet.text, frameon=False, labelcolor=INK,
        handlelength=2.2, columnspacing=1.2,
    )  # fmt: skip
    for text in made.get_texts():
        text.set_parse_math(False)


def stacked(label: str, sheet: Sheet) -> str:
    """A name beside a row: in two lines where it is narrow."""
    if not sheet.narrow:
        return label
    first, *rest = wrap(label, _NAME) or [""]
    return "\n".join([first, cut(" ".join(rest), _NAME)] if rest else [first])


def folded(title: str, sheet: Sheet) -> str:
    """A title in lines that have room where it is narrow, cut after commas."""
    if not sheet.narrow:
        return title
    pieces = ", ".join(piece.replace(" ", "\xa0") for piece in title.split(", "))
    return fill(pieces, _TITLE, break_long_words=False, break_on_hyphens=False).replace("\xa0", " ")


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


def save_figures(page: Figure, column: Figure, path: Path) -> list[Path]:
    """Write a figure for a page as PNG and SVG, and that for a column of a paper as PDF; the paths."""
    paths = [path.with_name(f"{path.name}.{ending}") for ending in FORMATS]
    for target, figure in zip(paths, (page, page, column), strict=True):
        save_figure(figure, target)
    return paths


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
    text = re.sub(
        r'style="[^"]*"', lambda style: re.sub(r"#[0-9a-f]{6}", lambda c: _VARIABLES.get(c[0], c[0]), style[0]), text
    )
    text = re.sub(r' id="[\w.]+_\d+"', "", text)
    text = re.sub(r'(id="|"#|url\(#)(?=[mp][0-9a-f]{10})', rf"\g<1>{name}-", text)
    label = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S).replace(
        "<svg ", f'<svg role="img" aria-label="{label}" ', 1
    )
