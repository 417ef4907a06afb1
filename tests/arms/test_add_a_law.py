"""The guide's examples run as they stand, and the law in them keeps to the contract that the guide names."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from outlay.errors import BadParameter
from outlay.testing import LawContract

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-law.md"
TESTS = [name for name in vars(LawContract) if name.startswith("test_")]


@pytest.fixture(scope="module")
def guide():
    """The guide's code, as a module: pickles look classes up by the name of theirs."""
    module = ModuleType("guide_to_a_law")
    sys.modules[module.__name__] = module
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, vars(module))
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("test", TESTS)
def test_the_guides_laws_keep_to_the_contract(guide, test):
    getattr(guide.TestRetried(), test)()
    coin = LawContract()
    coin.law = guide.Coin(0.25)
    getattr(coin, test)()


def test_the_guides_law_refuses_in_one_sentence(guide):
    with pytest.raises(BadParameter) as error:
        guide.Retried(0.2, 1.0, chance=2)
    assert f"`{error.value}`" in " ".join(GUIDE.read_text(encoding="utf-8").split())
