"""The hull of a log's arms: what a request brings against what there is to spend on it."""

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from outlay.advice.evidence.hull import MAYBE, SURE
from outlay.advice.records import Findings
from outlay.advice.serving import Serving
from outlay.report.style import INK, PALETTE, REST, Width, blank, frame, legend, set_scale, sheet_of
from outlay.text import cut

_COLOURS = {SURE: PALETTE[2], MAYBE: PALETTE[4]}
TITLE = "What a request brings, with a 95% band"


def hull_figure(advice: Findings, serving: Serving, width: Width = "page") -> Figure:
    """The hull with its band, the arms as points, and the budget as a dashed line; arms beyond the axes are not."""
    sheet = sheet_of("hull_figure", width)
    figure, [axes] = blank(sheet, 5.4 if sheet.narrow else 3.8)
    curve = serving.curve
    frame(axes, sheet, TITLE, f"{advice.cost_name} per request", f"{advice.reward_name} per request")
    axes.fill_between(curve.budgets, curve.low, curve.high, color=PALETTE[0], alpha=0.18, linewidth=0.0)
    axes.plot(curve.budgets, curve.rewards, color=PALETTE[0], linewidth=sheet.line)
    right, top = curve.budgets[-1], 1.08 * max([0.0, *curve.high, *(arm.reward for arm in serving.arms)])
    set_scale(axes.xaxis, "linear", 0.0, right, ticks=4 if sheet.narrow else 6)
    set_scale(axes.yaxis, "linear", min(0.0, *(arm.reward for arm in serving.arms)), top or 1.0)
    c = serving.mix.budget / serving.requests
    axes.axvline(c, color=INK, linestyle=(0, (5.0, 3.0)), linewidth=sheet.line / 1.5)
    axes.annotate(
        "budget", (c, 0.02), xycoords=("data", "axes fraction"), textcoords="offset points", xytext=(4, 0),
        fontsize=sheet.text - 1.0, color=INK,
    )  # fmt: skip
    named = list[tuple[Artist, str]]()
    for arm in serving.arms:
        if not 0.0 <= arm.cost <= right:
            continue
        colour = _COLOURS.get(arm.on_hull, REST)
        [dot] = axes.plot(arm.cost, arm.reward, "o", color=colour, markersize=3.0 * sheet.line, zorder=3)
        if arm.on_hull in _COLOURS:
            named.append((dot, f"{len(named) + 1}  {cut(arm.name, 34)}"))
            axes.annotate(
                str(len(named)), (arm.cost, arm.reward), textcoords="offset points", ha="center",
                xytext=(0, 5 if len(named) % 2 else -12), fontsize=sheet.text - 0.5, color=INK,
            )  # fmt: skip
    if named:  # by number: names would cover each other
        legend(figure, sheet, [dot for dot, _ in named], [label for _, label in named])
    return figure
