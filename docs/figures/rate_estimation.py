"""Draw docs/figures/rate-estimation.svg, the box of Proposition 2: python docs/figures/rate_estimation.py."""

from pathlib import Path

from outlay.report.figures import rate_box_figure
from outlay.report.style import svg_text
from outlay.theory.arm_rates import rate_box

if __name__ == "__main__":
    box = rate_box(cost=2.0, reward=1.0, cost_radius=0.4, reward_radius=0.25)
    Path(__file__).with_name("rate-estimation.svg").write_text(svg_text(rate_box_figure(box)), encoding="utf-8")
