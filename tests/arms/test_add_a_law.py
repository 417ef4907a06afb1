"""The guide's examples run as they stand, and the law in them compiles."""

import re
from pathlib import Path
from typing import Any

import numpy as np

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-law.md"


def test_the_guide_runs_and_its_law_draws_the_same_compiled(draw_many):
    space: dict[str, Any] = {"__name__": "guide"}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, space)
    law, rng = space["problem"].arms[0], np.random.default_rng(1)
    interpreted = np.array([law.draw(rng) for _ in range(1000)])
    np.testing.assert_array_equal(draw_many(law, np.random.default_rng(1), 1000), interpreted)
