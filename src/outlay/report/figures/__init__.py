"""Drawing: one file per figure, from numbers that are made and tested elsewhere; `style` has the look of them all."""

from outlay.report.figures.distribution import distribution_figure
from outlay.report.figures.earnings import reward_figure
from outlay.report.figures.files import inline_svg, save_figure, svg_text
from outlay.report.figures.regret import bounds_figure, regret_figure
from outlay.report.figures.shares import pulls_figure

__all__ = [
    "bounds_figure", "distribution_figure", "inline_svg", "pulls_figure", "regret_figure", "reward_figure", "save_figure", "svg_text",
]  # fmt: skip
