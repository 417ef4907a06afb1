"""Draw the figures that a page's own code draws: `python docs/figures/from_pages.py tutorial read-a-regret-curve`."""

import doctest
import os
import sys
from pathlib import Path

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run the examples of each page in the folder of figures; how many were not as printed."""
    os.chdir(HERE)
    pages = [str(HERE.parent / f"{name}.md") for name in sys.argv[1:]]
    return sum(doctest.testfile(page, module_relative=False, optionflags=FLAGS, encoding="utf-8")[0] for page in pages)


if __name__ == "__main__":
    sys.exit(main())
