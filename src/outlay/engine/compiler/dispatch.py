"""The loop, compiled for a policy, its memory and the arms."""

from collections.abc import Callable

import numba
import numpy as np
from numba import types

from outlay.compiler import dispatch
from outlay.compiler.dispatch import TypeOf
from outlay.compiler.untyped import FieldTuple, NumbaType
from outlay.engine.compiler.vocabulary import PLAY, PLAY_HARD
from outlay.engine.limits import Limits
from outlay.engine.run import loop

_GENERATOR = numba.typeof(np.random.default_rng(0))


def compiled(policy: FieldTuple, memory: FieldTuple, world: FieldTuple, hard: bool = False) -> Callable[..., None]:
    """`loop.play` or `hard.play_hard`, compiled for these classes: from this process, from disk, or now.

    It counts no references; it does where that fails, as it does for code that makes arrays. Raises CannotCompile with
    the reason, in one line, where numba refuses.
    """
    return dispatch.compiled(_versions(hard), (policy, memory, world), _signature(policy, memory, world))


def standing(things: tuple[FieldTuple, FieldTuple, FieldTuple], hard: bool) -> dispatch.Standing:
    """Whether the loop for a policy, its memory and a world is ready, or what it takes to compile it."""
    return dispatch.standing(_versions(hard), things)


def _versions(hard: bool) -> tuple[Callable[..., None], ...]:
    return PLAY_HARD if hard else PLAY


def _signature(policy: FieldTuple, memory: FieldTuple, world: FieldTuple) -> dispatch.Signature:
    def signature(type_of: TypeOf) -> tuple[NumbaType, ...]:
        words = np.zeros(1, np.uint64)
        starts = loop.Starts(words[None], words, words, words, words)
        passages = loop.Passages.blank(1, 1, 1)
        limits = Limits.of(np.ones(1), None)
        arguments = world, policy, memory, starts, loop.Standing.start(1), passages, limits
        return (_GENERATOR, *map(type_of, arguments), types.int64, types.int64, types.int64)

    return signature
