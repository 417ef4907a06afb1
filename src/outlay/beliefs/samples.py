"""Every sample of every arm: its prefix sums, for the medians of block means that heavy tails ask for, or itself.

**Blocks.** A block mean is the difference of two prefix sums, so m block means cost O(m) whatever the number of pulls.
The sums lie in pages of 64 pulls from a pool that all arms share (16 bytes per pull); an arm finds its pages through
its stretch of the page table, which moves to the table's end and doubles when it is used up.

**Samples.** An arm's samples lie side by side in its stretch of a pool that all arms share, which moves and doubles in
the same way.

Compiled code cannot enlarge arrays: `full` says when there might be no room, and then `enlarged` (in Python) copies
everything into larger arrays. All else below `empty` runs in the interpreter and compiled, bit for bit alike.

Reference: Section 4.3 of Cayci, Eryilmaz, Srikant (2020), algorithm UCB-M1.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.moments import Sample
from outlay.checks import Vector

Kind = TypeVar("Kind", bound=np.generic)
MOST_PULLS = 2**53  # beyond which a float no longer counts pulls: a bound on the blocks that are ever asked for
PAGE = 64  # pulls that a page holds
FIRST_STRETCH = 4  # entries of the page table an arm starts with
FIRST_ROOM = 8  # samples an arm starts with room for
# Columns of `Blocks.arms` and `Samples.arms`: the arm's pulls, where its stretch (of the page table, or of the pool)
# starts, how many pages or samples the stretch has room for; then what a remembered number belongs to: the (groups,
# size) of medians, or the (size, level) of an estimate.
PULLS, START, ROOM, GROUPS, SIZE = range(5)
OF_SIZE, LEVEL = 3, 4
# Columns of `Blocks.sums`: the shift, the prefix sums with what rounding has lost of them, the remembered medians and
# the min_cost they belong to (or −rank, for a remembered `block_rate`).
FIRST_COST, FIRST_REWARD, COST, COST_LOST, REWARD, REWARD_LOST, MEDIAN_RATE, MEDIAN_COST, MIN_COST = range(9)
# Entries of `Blocks.state`: pages and table entries in use, whether full, the bound on groups.
PAGES_USED, TABLE_USED, FULL, MOST_GROUPS = range(4)
# Entries of `Samples.state`: rows of the pool in use, whether full.
USED, NO_ROOM = range(2)


class BlockBelief(NamedTuple):
    """What the samples of one arm say, by way of the memory they lie in; see `block_medians`."""

    arm: int
    pulls: int
    blocks: "Blocks"


class Blocks(NamedTuple):
    """The memory of a policy that reads medians of block means: about 16 bytes per pull, changed in place.

    >>> memory = Blocks.empty(1)
    >>> for cost, reward in [(1.0, 1.0), (3.0, 1.0), (2.0, 4.0), (2.0, 8.0), (9.0, 0.0)]:
    ...     memory.observe(0, cost, reward)
    >>> block_medians(memory.belief(0), 2, 1e-12)  # blocks (1, 3) and (2, 2) of the costs; the fifth sample waits
    (1.75, 2.0)
    """

    pages: NDArray[np.float64]  # [page, pull within the page, cost or reward]: prefix sums less the shift
    table: NDArray[np.int32]  # the arms' stretches, each a list of page numbers
    arms: NDArray[np.int64]  # one row per arm
    sums: Vector  # a row per arm
    state: NDArray[np.int64]
    scratch: Vector  # [rate or cost, group]: where medians are found

    @staticmethod
    def empty(arms: int, groups: int = 512) -> "Blocks":
        """Make the memory before the first pull, for up to `groups` blocks at a time."""
        pages = 2 * arms + 2
        blocks = Blocks(
            np.zeros((pages, PAGE, 2)),
            np.zeros(_table_length(arms, pages), dtype=np.int32),
            np.zeros((arms, 5), dtype=np.int64),
            np.zeros((arms, 9)),
            np.array([0, FIRST_STRETCH * arms, 0, groups], dtype=np.int64),
            np.zeros((2, min(groups, pages * PAGE))),
        )
        blocks.arms[:, START] = FIRST_STRETCH * np.arange(arms)
        blocks.arms[:, ROOM] = FIRST_STRETCH
        return blocks

    def enlarged(self) -> "Blocks":
        """Copy the content into larger arrays: twice as large, later by a fifth to stay below 20 bytes per pull."""
        pages = len(self.pages) + max(64, min(len(self.pages), 2**11), len(self.pages) // 5)
        state = self.state.copy()
        state[FULL] = 0
        return Blocks(
            _lengthened(self.pages, pages),
            _lengthened(self.table, _table_length(len(self.arms), pages)),
            self.arms.copy(),
            self.sums.copy(),
            state,
            np.zeros((2, min(int(state[MOST_GROUPS]), pages * PAGE))),
        )

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        index = self.arms
        pulls = int(index[arm, PULLS])
        if pulls % PAGE == 0:
            _add_page(self, arm, pulls // PAGE)
        if pulls == 0:
            self.sums[arm, FIRST_COST] = cost
            self.sums[arm, FIRST_REWARD] = reward
        page = int(self.table[int(index[arm, START]) + pulls // PAGE])
        first_cost = float(self.sums[arm, FIRST_COST])
        first_reward = float(self.sums[arm, FIRST_REWARD])
        self.pages[page, pulls % PAGE, 0] = _add(self.sums, arm, COST, cost - first_cost)
        self.pages[page, pulls % PAGE, 1] = _add(self.sums, arm, REWARD, reward - first_reward)
        index[arm, PULLS] = pulls + 1

    def belief(self, arm: int) -> BlockBelief:
        """What is known of `arm`."""
        return BlockBelief(arm, int(self.arms[arm, PULLS]), self)

    def full(self) -> bool:
        """Whether some arm's next sample could not be stored."""
        return int(self.state[FULL]) != 0

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace the arm's `place`-th sample, counted from 0, by another: later sums move by the difference."""
        step = np.array(new) - np.array(old)
        pulls, start = int(self.arms[arm, PULLS]), int(self.arms[arm, START])
        for page in range(place // PAGE, (pulls - 1) // PAGE + 1):
            rows = slice(place % PAGE if page == place // PAGE else 0, min(PAGE, pulls - page * PAGE))
            self.pages[self.table[start + page], rows] += step
        self.sums[arm, COST] += step[0]
        self.sums[arm, REWARD] += step[1]
        self.arms[arm, GROUPS] = 0  # nothing is remembered of no groups

    def with_new_arm(self) -> "Blocks":
        """The same with one more arm."""
        arms, used = len(self.arms), int(self.state[TABLE_USED])
        state = self.state.copy()
        state[TABLE_USED] = used + FIRST_STRETCH
        row = np.zeros((1, 5), dtype=np.int64)
        row[0, START], row[0, ROOM] = used, FIRST_STRETCH
        return Blocks(
            _lengthened(self.pages, len(self.pages)),
            _lengthened(self.table, _table_length(arms + 1, len(self.pages))),
            np.concatenate([self.arms, row]),
            np.vstack([self.sums, np.zeros(9)]),
            state,
            self.scratch.copy(),
        )

    def without_cache(self) -> "Blocks":
        """The same with nothing remembered: what it holds then depends on the samples alone."""
        arms, sums = self.arms.copy(), self.sums.copy()
        arms[:, GROUPS] = arms[:, SIZE] = 0
        sums[:, MEDIAN_RATE:] = 0.0
        return self._replace(arms=arms, sums=sums, scratch=np.zeros_like(self.scratch))


def block_medians(belief: BlockBelief, groups: int, min_cost: float) -> tuple[float, float]:
    """Medians over the blocks of max(0, R̄_j)/max(min_cost, X̄_j) and of X̄_j.

    Block j is the j-th run of ⌊T/groups⌋ consecutive samples of the arm; the newest T mod groups samples wait. Both
    are 0 when there are fewer samples than groups (or more groups than the memory was made for). They change once in
    `groups` pulls of the arm, and are remembered in between.
    """
    arm, blocks = belief.arm, belief.blocks
    index, sums, scratch = blocks.arms, blocks.sums, blocks.scratch
    if groups < 1 or groups > belief.pulls or groups > scratch.shape[1]:
        return 0.0, 0.0
    size = belief.pulls // groups
    if index[arm, GROUPS] != groups or index[arm, SIZE] != size or sums[arm, MIN_COST] != min_cost:
        write_means(belief, groups, size)
        for j in range(groups):
            scratch[0, j] = max(0.0, float(scratch[0, j])) / max(min_cost, float(scratch[1, j]))
        sums[arm, MEDIAN_RATE] = median(scratch, 0, groups)
        sums[arm, MEDIAN_COST] = median(scratch, 1, groups)
        sums[arm, MIN_COST] = min_cost
        index[arm, GROUPS] = groups
        index[arm, SIZE] = size
    return float(sums[arm, MEDIAN_RATE]), float(sums[arm, MEDIAN_COST])


def block_rate(belief: BlockBelief, groups: int, rank: int) -> float:
    """The `rank`-th largest of the blocks' rates R̄_j/X̄_j, ∞ where X̄_j ≤ 0; blocks as in `block_medians`.

    It is ∞ when there are fewer samples than groups, and remembered like the medians.

    >>> from outlay.beliefs import Blocks
    >>> memory = Blocks.empty(1)
    >>> for reward in (1.0, 2.0, 3.0):
    ...     memory.observe(0, 2.0, reward)
    >>> block_rate(memory.belief(0), groups=3, rank=1), block_rate(memory.belief(0), groups=3, rank=2)
    (1.5, 1.0)
    """
    arm, blocks = belief.arm, belief.blocks
    index, sums, scratch = blocks.arms, blocks.sums, blocks.scratch
    if groups < 1 or groups > belief.pulls or groups > scratch.shape[1]:
        return math.inf
    size = belief.pulls // groups
    if index[arm, GROUPS] != groups or index[arm, SIZE] != size or sums[arm, MIN_COST] != -rank:
        write_means(belief, groups, size)
        for j in range(groups):
            cost = float(scratch[1, j])
            scratch[0, j] = number(float(scratch[0, j]) / cost) if cost > 0.0 else math.inf
        sums[arm, MEDIAN_RATE] = select(scratch, 0, groups, groups - rank)
        sums[arm, MIN_COST] = -rank
        index[arm, GROUPS] = groups
        index[arm, SIZE] = size
    return float(sums[arm, MEDIAN_RATE])


def write_means(belief: BlockBelief, groups: int, size: int) -> None:
    """Write the blocks' means into the scratch space, rewards into its first row and costs into its second."""
    arm, blocks = belief.arm, belief.blocks
    sums, scratch = blocks.sums, blocks.scratch
    first_cost = float(sums[arm, FIRST_COST])
    first_reward = float(sums[arm, FIRST_REWARD])
    start = int(blocks.arms[arm, START])
    cost_before = 0.0
    reward_before = 0.0
    for j in range(groups):
        last = (j + 1) * size - 1
        page = int(blocks.table[start + last // PAGE])
        cost_after = float(blocks.pages[page, last % PAGE, 0])
        reward_after = float(blocks.pages[page, last % PAGE, 1])
        scratch[0, j] = number(first_reward + (reward_after - reward_before) / size)
        scratch[1, j] = number(first_cost + (cost_after - cost_before) / size)
        cost_before = cost_after
        reward_before = reward_after


def median(values: Vector, row: int, count: int) -> float:
    """Median of `values[row, :count]`, whose order it changes; of an even number, the mean of the middle two.

    >>> import numpy as np
    >>> median(np.array([[4.0, 1.0, 3.0, 2.0]]), 0, 4)
    2.5
    """
    middle = count // 2
    upper = select(values, row, count, middle)
    if count % 2 == 1:
        return upper
    lower = float(values[row, 0])
    for i in range(1, middle):
        lower = max(lower, float(values[row, i]))
    return 0.5 * lower + 0.5 * upper


def select(values: Vector, row: int, count: int, rank: int) -> float:
    """Find the number that sorting would put at `rank`, and leave none larger before it (Hoare's quickselect)."""
    left, right = 0, count - 1
    while left < right:
        pivot = float(values[row, (left + right) // 2])
        i, j = left, right
        while i <= j:
            while values[row, i] < pivot:
                i += 1
            while values[row, j] > pivot:
                j -= 1
            if i <= j:
                low = float(values[row, j])
                values[row, j] = values[row, i]
                values[row, i] = low
                i += 1
                j -= 1
        if rank <= j:
            right = j
        elif rank >= i:
            left = i
        else:
            break
    return float(values[row, rank])


def number(value: float) -> float:
    """`value`, or 0 for the NaN that overflowing sums leave: selection needs an order."""
    return 0.0 if math.isnan(value) else value


def _add(sums: Vector, arm: int, column: int, value: float) -> float:
    """Add to a running sum, which keeps in the next column what rounding lost (Kahan).

    A prefix sum is then right to its last digit, and a block mean to that digit over the block's size.
    """
    total = float(sums[arm, column])
    step = value - float(sums[arm, column + 1])
    after = total + step
    sums[arm, column] = after
    sums[arm, column + 1] = (after - total) - step
    return after


def _add_page(blocks: Blocks, arm: int, number: int) -> None:
    """Give `arm` its page `number`, and note whether that was the last one."""
    state, index, table = blocks.state, blocks.arms, blocks.table
    if state[FULL] != 0:
        raise IndexError("the memory is full: go on with memory.enlarged()")
    if number == index[arm, ROOM]:
        old = int(index[arm, START])
        new = int(state[TABLE_USED])
        for i in range(number):
            table[new + i] = table[old + i]
        index[arm, START] = new
        index[arm, ROOM] = 2 * number
        state[TABLE_USED] = new + 2 * number
    table[int(index[arm, START]) + number] = state[PAGES_USED]
    state[PAGES_USED] += 1
    if state[PAGES_USED] == len(blocks.pages):
        state[FULL] = 1


def _table_length(arms: int, pages: int) -> int:
    """How many entries the table can ever need: an arm with p > 4 pages has used 4 + 8 + … + 2q, q < p: below 4p."""
    return FIRST_STRETCH * arms + 4 * pages


def _lengthened(array: NDArray[Kind], length: int) -> NDArray[Kind]:
    """Copy an array and put zeros at its end."""
    longer = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class SampleBelief(NamedTuple):
    """What is known of one arm: its samples, by way of the memory they lie in."""

    arm: int
    pulls: int
    samples: "Samples"


class Samples(NamedTuple):
    """The memory of a policy that reads samples: 20 to 40 bytes per pull, changed in place.

    An estimate from the first `size` samples at a whole-numbered `level` can be remembered for each arm.

    >>> memory = Samples.empty(2)
    >>> memory.observe(1, 2.0, 5.0)
    >>> belief = memory.belief(1)
    >>> belief.pulls, memory.pool[memory.arms[1, START]].tolist()
    (1, [2.0, 5.0])
    """

    pool: NDArray[np.float64]  # [row, cost or reward]
    arms: NDArray[np.int64]  # a row per arm
    remembered: Vector  # one number per arm
    state: NDArray[np.int64]

    @staticmethod
    def empty(arms: int) -> "Samples":
        """Make the memory before the first pull."""
        index = np.zeros((arms, 5), dtype=np.int64)
        index[:, ROOM] = FIRST_ROOM
        return _laid_out(np.zeros((0, 2)), index, np.zeros(arms))

    def enlarged(self) -> "Samples":
        """Copy the content into a larger pool."""
        return _laid_out(self.pool, self.arms, self.remembered.copy())

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        pool, index = self.pool, self.arms
        if self.state[NO_ROOM] != 0:
            raise IndexError("the memory is full: go on with memory.enlarged()")
        pulls = int(index[arm, PULLS])
        row = int(index[arm, START]) + pulls
        pool[row, 0] = cost
        pool[row, 1] = reward
        index[arm, PULLS] = pulls + 1
        if pulls + 1 == index[arm, ROOM]:
            _move(self, arm)

    def belief(self, arm: int) -> SampleBelief:
        """What is known of `arm`."""
        return SampleBelief(arm, int(self.arms[arm, PULLS]), self)

    def full(self) -> bool:
        """Whether some arm's next sample could not be stored."""
        return int(self.state[NO_ROOM]) != 0

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:  # noqa: ARG002 (`place` says which)
        """Replace the arm's `place`-th sample, counted from 0, by another."""
        self.pool[int(self.arms[arm, START]) + place] = new
        self.arms[arm, OF_SIZE] = 0  # nothing is remembered of no samples

    def with_new_arm(self) -> "Samples":
        """The same with one more arm."""
        row = np.zeros((1, 5), dtype=np.int64)
        row[0, ROOM] = FIRST_ROOM
        return _laid_out(self.pool, np.concatenate([self.arms, row]), np.append(self.remembered, 0.0))

    def without_cache(self) -> "Samples":
        """The same with nothing remembered: what it holds then depends on the samples alone."""
        arms = self.arms.copy()
        arms[:, OF_SIZE] = arms[:, LEVEL] = 0
        return self._replace(arms=arms, remembered=np.zeros_like(self.remembered))


def _move(samples: Samples, arm: int) -> None:
    """Give a stretch that is used up twice the room at the pool's end, or note that there is none."""
    pool, index, state = samples.pool, samples.arms, samples.state
    room, old, new = int(index[arm, ROOM]), int(index[arm, START]), int(state[USED])
    if new + 2 * room > len(pool):
        state[NO_ROOM] = 1
        return
    for i in range(room):
        pool[new + i, 0] = pool[old + i, 0]
        pool[new + i, 1] = pool[old + i, 1]
    index[arm, START] = new
    index[arm, ROOM] = 2 * room
    state[USED] = new + 2 * room


def _laid_out(pool: NDArray[np.float64], index: NDArray[np.int64], remembered: Vector) -> Samples:
    """Put the stretches side by side into a new pool, doubled where used up, with a quarter more room at its end."""
    rooms = np.where(index[:, PULLS] == index[:, ROOM], 2 * index[:, ROOM], index[:, ROOM])
    used = int(rooms.sum())
    arms = index.copy()
    arms[:, ROOM] = rooms
    arms[:, START] = np.cumsum(rooms) - rooms
    larger = np.zeros((used + max(used // 4, 64), 2))
    for old, new, pulls in zip(index[:, START], arms[:, START], arms[:, PULLS], strict=True):
        larger[new : new + pulls] = pool[old : old + pulls]
    return Samples(larger, arms, remembered, np.array([used, 0], dtype=np.int64))
