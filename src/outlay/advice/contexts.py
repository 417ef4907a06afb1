"""Whether contexts would pay: the best rule that looks at a request against the best one that does not.

Both rules are learnt by the same steps on the first eighths of the requests, in random order, and valued on the next
eighth by the doubly robust estimate; so neither is valued on rows that it was learnt from. For each request and arm,

    Γ(arm) = model(arm) + [arm was used] ÷ chance · (outcome − model(arm)),

for its cost and its reward; a rule is worth the mean of Γ over the arms that it names. This is right on average if the
chances are, or if the models are. Where every request was served by every arm, Γ is what was seen.

References: M. Dudík, D. Erhan, J. Langford, L. Li, "Doubly robust policy evaluation and optimization", Statistical
Science 29 (2014); V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters",
The Econometrics Journal 21 (2018), for the intervals with cross-fitting.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.summary import COST, RANKED, REWARD, Floats, Ints, Reservoir
from outlay.errors import BadFile
from outlay.logs import LARGEST, OTHER, Stretch
from outlay.text import counted, cut

TOLD, FITTED, EVERY = "chances in the log", "estimated chances", "every arm on every request"
MOST_ROWS, MOST_CELLS = 100_000, 4_000_000  # rows that are kept, and rows × arms
MOST_TEXTS = 10_000  # different ones of a context
MOST_NAMES = 50  # of a context that have a column each
FEWEST = 50  # rows of an arm between which and others a rule may choose, or instances
PARTS, FIRST = 8, 2  # of the requests; so many of them are only learnt from
APART = 20  # requests for which the rules must differ before the gain has an interval
RARE = 0.01  # the least chance that is fitted
_CHANCE = 3  # its place in a row that is kept, after arm, cost and reward
_LEARNING = 20_000  # requests that chances and prices of money are learnt from
_PENALTIES = 10.0 ** np.linspace(-4.0, 3.0, 15)  # per row, of slopes; the last is none but the mean
_STEPS = 30  # of bisection


class Requests(NamedTuple):
    """What a log says about its requests."""

    features: Floats  # [request, column]
    outcomes: Floats  # [request, arm, cost or reward]; 0 where the arm was not used
    used: NDArray[np.bool_]  # [request, arm]
    chances: Floats | None  # [request] with which its arm was chosen; None where they have to be estimated

    def part(self, rows: Ints) -> "Requests":
        """Some of them."""
        chances = None if self.chances is None else self.chances[rows]
        return Requests(self.features[rows], self.outcomes[rows], self.used[rows], chances)

    @property
    def paired(self) -> bool:
        """Whether every request was served by every arm."""
        return bool(self.used.all())


class GainEstimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


class RuleWorth(NamedTuple):
    """A rule on requests that it was not learnt from."""

    value: GainEstimate  # reward per unit of money; with a number of requests, reward per request
    cost: float  # of a request
    shares: list[tuple[str, float]]  # of the requests that each arm serves, the largest first


class Contexts(NamedTuple):
    """Whether contexts would pay."""

    columns: list[str]
    basis: str  # where chances are from: the log, an estimate; or every arm served every request
    arms: list[str]  # between which the rules choose
    requests: int  # that were read
    valued: int  # of them, on which the rules were valued
    apart: int  # of these, for which the rules differ
    each: float | None  # money for a request; None where only the rate counts
    without: RuleWorth
    using: RuleWorth
    gain: GainEstimate | None  # in the unit of the values; None where the rules hardly differ
    share: GainEstimate | None  # the gain as a share of the value without; None also where that may be 0
    confidence: float


class KeptRows:
    """Rows of a log with their contexts, drawn at random while others read it."""

    def __init__(self, contexts: Sequence[str], where: str, instance: str | None, seed: int) -> None:
        self.contexts, self.where, self.instance = list(contexts), where, instance
        self.told = False  # whether the log tells chances
        self._arms, self._texts = dict[str, int](), {name: dict[str, float]() for name in contexts}
        self._marks: list[str] | None = None
        self._rng, self._rows = np.random.default_rng(seed), Reservoir(MOST_ROWS)

    def noting(self, stretches: Iterable[Stretch]) -> Iterator[Stretch]:
        """The same stretches; some of their rows are kept."""
        for stretch in stretches:
            self._marks = [*stretch.marks] if self._marks is None else self._marks
            self.told = stretch.chances is not None
            arms = np.array([self._arms.setdefault(name, len(self._arms)) for name in stretch.names], np.float64)
            nothing = np.full(len(stretch.codes), np.nan)
            marks = [stretch.marks.get(name, nothing) for name in self._marks]
            chances = nothing if stretch.chances is None else stretch.chances
            rows = [arms[stretch.codes], stretch.costs, stretch.rewards, chances, *marks]
            for name in self.contexts:
                texts, codes = stretch.contexts[name]
                rows += [own[codes] for own in self._read(name, texts)]
            keys = self._rng.random(len(nothing))
            if self.instance is not None:  # all rows of an instance, or none
                keys = np.where(np.isnan(marks[0]), keys, marks[0] / 2.0**52)
            self._rows.add(keys, np.stack(rows))
            yield stretch

    def _read(self, name: str, texts: Sequence[str]) -> tuple[Floats, Floats]:
        """The texts as numbers, nan for others; and the others as places in a list, −1 for numbers."""
        known, numbers, places = self._texts[name], np.full(len(texts), np.nan), np.full(len(texts), -1.0)
        for index, text in enumerate(texts):
            try:
                numbers[index] = float(text if "_" not in text else "none")
            except ValueError:
                places[index] = known.setdefault(text, len(known))
        if len(known) > MOST_TEXTS:
            raise BadFile(self._no_context(name, f"more than {MOST_TEXTS:,}", "which are too many"))
        if (odd := np.abs(numbers) > LARGEST).any():
            raise BadFile(
                f"the context {name} of {self.where} must be within ±1e100; it has {texts[int(odd.argmax())]}"
            )
        return numbers, places

    def requests(self, names: Sequence[str], instance: str | None) -> tuple[Requests, list[str]]:
        """The requests, and those of the arms `names` that have enough rows."""
        rows = self._rows.rows()
        arm, marks = rows[0].astype(np.int64), self._marks or []
        counts = np.bincount(arm, minlength=len(self._arms))
        arms = [name for name in names if counts[self._arms[name]] >= FEWEST]
        if len(arms) < 2:
            has = f"{self.where} has {counted(len(arms), 'arm')} with {FEWEST} rows and a mean cost above 0"
            raise BadFile(f"contexts choose between arms, and {has}")
        rows = rows[:, : max(MOST_CELLS // len(arms), FEWEST)]
        place = np.full(len(self._arms), -1)
        place[[self._arms[name] for name in arms]] = np.arange(len(arms))
        first = _CHANCE + 1 + len(marks)
        columns = [
            column
            for index, name in enumerate(self.contexts)
            for column in self._encoded(name, *rows[first + 2 * index : first + 2 * index + 2])
        ]
        features, chosen = np.column_stack(columns), place[rows[0].astype(np.int64)]
        outcomes = rows[1:_CHANCE].T
        if instance is not None and not self.told:
            marked = rows[_CHANCE + 1 + (0 if self.instance is not None else marks.index(f"{OTHER}{instance}"))]
            paired = self._paired(features, chosen, outcomes, marked, len(arms))
            if len(paired.features) >= FEWEST:
                return paired, arms
        used = chosen[:, None] == np.arange(len(arms))
        return Requests(features, outcomes[:, None] * used[..., None], used, rows[_CHANCE] if self.told else None), arms

    def _paired(self, features: Floats, chosen: Ints, outcomes: Floats, marks: Floats, arms: int) -> Requests:
        """One request for each instance that every arm has served, with mean outcomes."""
        good = np.flatnonzero((chosen >= 0) & ~np.isnan(marks))
        _, firsts, instances = np.unique(marks[good], return_index=True, return_inverse=True)
        own = features[good][firsts]
        if (features[good] != own[instances]).any():
            said = f"the contexts of {self.where} must be the same in all rows of an instance"
            raise BadFile(f"{said}: they are what is known of it before its arm is chosen")
        cells = instances * arms + chosen[good]
        counts = np.bincount(cells, minlength=len(firsts) * arms).reshape(-1, arms)
        sums = [np.bincount(cells, of, len(firsts) * arms).reshape(-1, arms) for of in outcomes[good].T]
        full = (counts > 0).all(axis=1)
        means = np.stack(sums, axis=-1)[full] / counts[full][..., None]
        return Requests(own[full], means, np.ones(means.shape[:2], bool), None)

    def _encoded(self, name: str, numbers: Floats, places: Floats) -> list[Floats]:
        """Numbers by their rank, from −1 to 1, and its square; names as a column each, the rare ones together."""
        if not np.isnan(numbers).any():
            ordered = np.sort(numbers)
            if ordered[0] < ordered[-1]:
                ranks = np.searchsorted(ordered, numbers, "left") + np.searchsorted(ordered, numbers, "right")
                return [ranks / len(numbers) - 1.0, (ranks / len(numbers) - 1.0) ** 2]
        both = np.stack([np.nan_to_num(numbers), places])
        _, groups, counts = np.unique(both, axis=1, return_inverse=True, return_counts=True)
        if len(counts) == 1:
            raise BadFile(f"the context {name} of {self.where} is the same in every row: no rule can go by it")
        often = [group for group in np.argsort(-counts, kind="stable")[:MOST_NAMES] if counts[group] >= RANKED]
        if not often:
            raise BadFile(self._no_context(name, f"{len(counts):,}", f"none of which has {RANKED} rows"))
        return [(groups == group).astype(np.float64) for group in often]

    def _no_context(self, name: str, count: str, why: str) -> str:
        said = f"the context {name} of {self.where} must be a number in every row, or one of a few names"
        return f"{said}; it has {count} different ones, such as {cut(next(iter(self._texts[name])), 40)!r}, {why}"


class ArmModel(NamedTuple):
    """Mean cost and reward of each arm as linear functions of the features, within what the arm has shown."""

    centre: Floats  # [column]
    means: Floats  # [arm, cost or reward]
    slopes: Floats  # [column, arm, cost or reward]
    low: Floats  # [arm, cost or reward]
    high: Floats

    def __call__(self, features: Floats) -> Floats:
        """[request, arm, cost or reward]."""
        found = self.means + np.tensordot(features - self.centre, self.slopes, axes=1)
        return np.clip(found, self.low, self.high)


class Rule(NamedTuple):
    """Names the arm with the largest reward − price · cost by its model, at one of two prices of money."""

    model: ArmModel
    low: float  # the price at which it spends more than there is
    high: float  # the price at which it spends no more
    share: float  # of the requests that are served at the low price
    idle: bool  # whether it may leave a request unserved

    @property
    def price(self) -> float:
        """Of money: what it could bring elsewhere."""
        return 0.5 * (self.low + self.high)

    def chances(self, features: Floats) -> Floats:
        """The chance of each arm, [request, arm]; what they lack to 1 is the chance that a request is not served."""
        means = self.model(features)
        found = np.zeros(means.shape[:2])
        for price, share in ((self.low, self.share), (self.high, 1.0 - self.share)):
            if share > 0.0:
                arms, _ = _best(means, price, self.idle)
                served = np.flatnonzero(arms >= 0)
                found[served, arms[served]] += share
        return found


class Held(NamedTuple):
    """Both rules, the one without contexts first, on the requests that they were not learnt from."""

    rows: Ints  # the requests that are held out once
    folds: Ints  # [row]: by which rules they are served
    rules: list[tuple[Rule, Rule]]  # of each fold
    chosen: Floats  # [rule, row, arm]: the chance that the rule names the arm
    values: Floats  # [rule, row, cost or reward]: doubly robust
    weights: Floats  # [row, arm]: 1 ÷ chance where the arm was used

    @property
    def apart(self) -> float:
        """For how many of the rows the rules differ."""
        return float(np.abs(self.chosen[1] - self.chosen[0]).sum(axis=1).clip(0.0, 1.0).sum())


def contexts_of(
    kept: KeptRows, names: Sequence[str], instance: str | None, each: float | None, confidence: float, seed: int
) -> Contexts:
    """Whether contexts would pay, with these arms; `each` is the money for a request, None where the rate counts."""
    requests, arms = kept.requests(names, instance)
    held = held_out(requests, each, seed)
    _check_weights(held, arms, kept.where, kept.told)
    without, using, gain, share = gain_of(held, each, confidence)
    rules = []
    for value, chosen, values in zip((without, using), held.chosen, held.values, strict=True):
        shares = sorted(zip(arms, chosen.mean(axis=0).tolist(), strict=True), key=lambda own: -own[1])
        shares = [(name, part) for name, part in shares if part > 0.0]
        rules.append(RuleWorth(value, float(values[:, COST].mean()), shares))
    basis = EVERY if requests.paired else TOLD if kept.told else FITTED
    apart = held.apart >= APART
    return Contexts(
        columns=kept.contexts,
        basis=basis,
        arms=arms,
        requests=len(requests.features),
        valued=len(held.rows),
        apart=round(held.apart),
        each=each,
        without=rules[0],
        using=rules[1],
        gain=gain if apart else None,
        share=share if apart and without.low > 0.0 else None,
        confidence=confidence,
    )


def _check_weights(held: Held, arms: Sequence[str], where: str, told: bool) -> None:
    """Rows of an arm, counted 1 ÷ chance times, must stand for all requests: else it was never used for some."""
    means, errors = held.weights.mean(axis=0), held.weights.std(axis=0) / math.sqrt(len(held.weights))
    off = np.abs(means - 1.0)
    if (bad := (off > 0.2) & (off > 5.0 * errors)).any():
        arm = int(bad.argmax())
        why = (
            "the chances are not those (without them, they are estimated)"
            if told
            else "its use follows from the contexts, nearly without chance"
        )
        said = f"rows of {arms[arm]}, counted 1 ÷ chance times, stand for {means[arm]:.0%} of the requests"
        raise BadFile(f"{where} cannot tell whether contexts pay: {said}, not for all: {why}")


def held_out(requests: Requests, each: float | None, seed: int = 0) -> Held:
    """Learn both rules on the first eighths of the requests, in random order, and value them on the next eighth.

    `each` is the money for a request, None where only the rate counts. A rule never depends on eighths to come, so the
    errors of its values add up as those of independent rows do, also where two arms are as good and rules flip between
    them. The models and chances that values rest on are fitted on all the other eighths: those depend on rows smoothly.

    Reference: A. R. Luedtke, M. J. van der Laan, "Statistical inference for the mean outcome under a possibly
    non-unique optimal treatment strategy", Annals of Statistics 44 (2016).
    """
    order = np.random.default_rng(seed).permutation(len(requests.features))
    parts = np.array_split(order, PARTS)
    rules, chosen, values, weights = [], [], [], []
    for index, part in list(enumerate(parts))[FIRST:]:
        held, others = requests.part(part), requests.part(np.concatenate(parts[:index] + parts[index + 1 :]))
        rules.append(rules_of(requests.part(np.concatenate(parts[:index])), each))
        weights.append(weights_of(held, others))
        scores = doubly_robust(model_of(others)(held.features), held, weights[-1])
        chosen.append(np.stack([rule.chances(held.features) for rule in rules[-1]]))
        values.append(np.einsum("uik,iko->uio", chosen[-1], scores))
    rows, folds = np.concatenate(parts[FIRST:]), np.repeat(np.arange(len(rules)), [len(part) for part in parts[FIRST:]])
    return Held(rows, folds, rules, np.hstack(chosen), np.hstack(values), np.concatenate(weights))


def gain_of(
    held: Held, each: float | None, confidence: float
) -> tuple[GainEstimate, GainEstimate, GainEstimate, GainEstimate]:
    """What a request brings without contexts and with them at the same cost, the gain, and the gain as a share.

    Without `each`, what a unit of money brings: the ratio of mean reward and mean cost. With it, the mean reward at
    just that cost: reward − price · (cost − each), at the price that each rule was learnt with. Its slope there is what
    one more unit of money brings it, so the little that it spends too much or too little on other requests counts
    neither for it nor against it, to the first order.
    """
    from scipy.special import stdtrit

    count, folds = len(held.folds), len(held.rules)
    worths, parts = [], []
    for index, values in enumerate(held.values):
        if each is None:
            cost, reward = values.mean(axis=0)
            worths.append(reward / cost)
            own = (values[:, REWARD] - worths[-1] * values[:, COST]) / cost
        else:
            prices = np.array([rules[index].price for rules in held.rules])[held.folds]
            own = values[:, REWARD] - prices * (values[:, COST] - each)
            worths.append(own.mean())
        parts.append(own - (np.bincount(held.folds, own) / np.bincount(held.folds))[held.folds])
    blind, seeing = map(float, worths)

    def estimate(value: float, influence: Floats) -> GainEstimate:
        """Student's interval; its degrees of freedom are those of the variance, few where few rows make it."""
        square = float(influence @ influence)
        if square == 0.0:
            return GainEstimate(value, value, value)
        peaked = float((influence**4).sum()) * count / square**2  # 3 for Gaussian influences
        degrees = min(count - folds, 2.0 * count / (peaked - 1.0)) if peaked > 1.0 else count - folds
        half = float(stdtrit(degrees, 0.5 + confidence / 2.0)) * math.sqrt(square / (count - folds) / count)
        return GainEstimate(value, value - half, value + half)

    return (
        estimate(blind, parts[0]),
        estimate(seeing, parts[1]),
        estimate(seeing - blind, parts[1] - parts[0]),
        estimate(seeing / blind - 1.0, (parts[1] - seeing / blind * parts[0]) / blind),
    )


def rules_of(learn: Requests, each: float | None) -> tuple[Rule, Rule]:
    """The best rule without contexts and the best with them: by the same steps, from the same means of the arms."""
    model = model_of(learn)
    said = model(learn.features)
    means = doubly_robust(said, learn, weights_of(learn, learn)).mean(axis=0)
    blind = model._replace(means=means, slopes=np.zeros_like(model.slopes), low=means, high=means)
    seeing = model._replace(means=model.means + means - said.mean(axis=0))
    return rule_of(blind, learn.features[:1], each), rule_of(seeing, learn.features[:_LEARNING], each)


def doubly_robust(means: Floats, requests: Requests, weights: Floats) -> Floats:
    """Γ, [request, arm, cost or reward]: what the models say, and their errors where the arm was used."""
    return means + weights[..., None] * (requests.outcomes - means)


def weights_of(requests: Requests, others: Requests) -> Floats:
    """1 ÷ chance where an arm was used, [request, arm], by `others` where nothing tells; 1 where every arm was used."""
    if requests.paired:
        return np.ones(requests.used.shape)
    if requests.chances is not None:
        return np.asarray(requests.used / requests.chances[:, None])
    shares = fitted_chances(others)(requests.features)
    return np.asarray(requests.used / np.maximum(shares, RARE))


def model_of(requests: Requests) -> ArmModel:
    """Ridge regressions: slopes that all arms share, in each arm's own scale, then what each arm adds to them."""
    columns, arms = requests.features.shape[1], requests.used.shape[1]
    centre = requests.features.mean(axis=0)
    features = requests.features - centre
    means, slopes = np.zeros((arms, 2)), np.zeros((columns, arms, 2))
    low, high = np.zeros((arms, 2)), np.zeros((arms, 2))
    for arm in range(arms):
        seen = requests.outcomes[requests.used[:, arm], arm]
        low[arm], high[arm] = seen.min(axis=0), seen.max(axis=0)
    for of in (COST, REWARD):
        rows, levels = [], []
        for arm in range(arms):
            mine = features[requests.used[:, arm]]
            seen = requests.outcomes[requests.used[:, arm], arm, of]
            scale = seen.mean() if of == COST else 1.0
            levels.append((mine.mean(axis=0), seen.mean(), scale))
            rows.append((mine - levels[-1][0], (seen - levels[-1][1]) / scale))
        common = ridge(np.concatenate([mine for mine, _ in rows]), np.concatenate([seen for _, seen in rows]))
        for arm, ((mine, seen), (middle, mean, scale)) in enumerate(zip(rows, levels, strict=True)):
            slopes[:, arm, of] = scale * (common + ridge(mine, seen - mine @ common))
            means[arm, of] = mean - middle @ slopes[:, arm, of]
    return ArmModel(centre, means, slopes, low, high)


def ridge(features: Floats, outcomes: Floats) -> Floats:
    """Slopes of centred outcomes on centred features, with the penalty that cross-validates best (GCV); or none.

    >>> ridge(np.array([[-1.0], [0.0], [0.0], [1.0]]), np.array([-2.0, 0.1, -0.1, 2.0])).round(1)
    array([2.])

    Reference: G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
    parameter", Technometrics 21 (1979).
    """
    count = len(features)
    sizes, axes = np.linalg.eigh(features.T @ features)
    sizes = np.maximum(sizes, 0.0)
    along = axes.T @ (features.T @ outcomes)
    penalties = np.append(count * _PENALTIES, math.inf)[:, None]
    found = along / (sizes + penalties)
    left = outcomes @ outcomes - 2.0 * found @ along + found**2 @ sizes
    free = count - 1.0 - (sizes / (sizes + penalties)).sum(axis=1)
    error = np.where(free > 0.1 * count, left / np.maximum(free, 1.0) ** 2, math.inf)
    return np.asarray(axes @ found[np.argmin(error)])


def fitted_chances(requests: Requests) -> Callable[[Floats], Floats]:
    """The chance of each arm by the features: multinomial logistic regression, with a weak penalty on slopes."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    centre, features = requests.features.mean(axis=0), requests.features[:_LEARNING]
    features, used = features - centre, requests.used[:_LEARNING]
    if not used.any(axis=1).all():  # other arms
        used = np.hstack([used, ~used.any(axis=1, keepdims=True)])
    count, arms = used.shape

    def loss(flat: Floats) -> tuple[float, Floats]:
        level, slopes = np.split(flat.reshape(-1, arms), [1])
        shares = softmax(level + features @ slopes, axis=1)
        error = -np.log(np.maximum(shares[used], 1e-300)).sum() + 0.5 * (slopes**2).sum()
        steep = np.vstack([(shares - used).sum(axis=0), features.T @ (shares - used) + slopes])
        return float(error) / count, steep.ravel() / count

    start = np.vstack([np.log(used.mean(axis=0) + 1.0 / count), np.zeros((features.shape[1], arms))])
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x.reshape(start.shape)
    kept = requests.used.shape[1]
    return lambda fresh: softmax(found[0] + (fresh - centre) @ found[1:], axis=1)[:, :kept]


def rule_of(model: ArmModel, features: Floats, each: float | None) -> Rule:
    """The best rule by a model for requests like these.

    With `each` money for a request, it spends just that on average: the price of money is where it would spend more
    just below and less just above. Without, every request is served, and the price is the best rate (Dinkelbach).
    """
    means = model(features)
    if each is None:
        totals = means.mean(axis=0)
        rate = float((totals[:, REWARD] / totals[:, COST]).max())
        while True:
            _, (cost, reward) = _best(means, rate, idle=False)
            if reward / cost <= rate + 1e-12 * abs(rate):
                return Rule(model, rate, rate, 1.0, idle=False)
            rate = float(reward / cost)
    spent = _best(means, 0.0, idle=True)[1][COST]
    if spent <= each:
        return Rule(model, 0.0, 0.0, 1.0, idle=True)
    low, high = 0.0, float(np.abs(means[..., REWARD]).max() / each)
    while (less := _best(means, high, idle=True)[1][COST]) > each:
        low, high, spent = high, 2.0 * high, less
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        now = _best(means, middle, idle=True)[1][COST]
        low, high, spent, less = (middle, high, now, less) if now > each else (low, middle, spent, now)
    return Rule(model, low, high, float((each - less) / (spent - less)), idle=True)


def _best(means: Floats, price: float, idle: bool) -> tuple[Ints, Floats]:
    """The arm of each request, −1 for none, and what all that costs and earns by the means."""
    worth = means[..., REWARD] - price * means[..., COST]
    arms = worth.argmax(axis=1)
    rows = np.arange(len(arms))
    found = means[rows, arms]
    if idle:
        kept = worth[rows, arms] > 0.0
        arms, found = np.where(kept, arms, -1), found * kept[:, None]
    return arms, found.mean(axis=0)
