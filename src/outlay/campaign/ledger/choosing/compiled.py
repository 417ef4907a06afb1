"""What is compiled of a campaign, as `compiler.dispatch` takes it; needs numba."""

from outlay.compiler.vocabulary import lean
from outlay.formulas.choices.imagined import imagine_and_pick, name_arm, take_in_sample

NAME_ARM = lean(name_arm, imagine_and_pick)
TAKE_IN_SAMPLE = (take_in_sample,)
