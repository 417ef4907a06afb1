"""What is compiled of a campaign, as `compiler.dispatch` takes it; needs numba."""

from outlay.compiler.vocabulary import lean
from outlay.formulas.imagined import imagine_and_pick, name_arm

NAME_ARM = lean(name_arm, imagine_and_pick)
