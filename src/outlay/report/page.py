"""One self-contained HTML page about a result, in a folder of files: verdict, figures, tables, how to make it again.

Pages about sweeps and advice are made of the same parts: `PageFigure`, `render` and the templates beside this file.
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from outlay import policies
from outlay.arms import Problem, catalogue
from outlay.arms.problem_file import absent_laws
from outlay.checks import check_writable, checked_path, made, writing
from outlay.engine.limits import usual_budgets
from outlay.errors import BadFile, BadParameter, NotCovered
from outlay.parameters import Parameters
from outlay.policies import Fixed
from outlay.policies.protocol import as_data
from outlay.problem_policies import named_policies
from outlay.report.curves import Floor, regret_chart
from outlay.report.figures import draw
from outlay.report.regret import Format, RegretTable, bound_sentence, checked_title, regret_numbers, written
from outlay.report.runs import LEAST_SEEN, distribution_figure, pulls_figure, reward_figure, shares
from outlay.report.style import WIDTHS, Width, inline_svg, save_figures, sheet_of, svg_text
from outlay.results import Floats, Result, checked
from outlay.tables import Table
from outlay.text import amount, capital, counted, listed, percent
from outlay.usercode import own_classes, reference_of, short_name

TABLES: dict[str, Format] = {"txt": "text", "md": "markdown", "csv": "csv", "tex": "latex"}  # by the file's ending
FIGURES = ("regret", "distribution", "pulls", "reward")
_QUESTION = "Which policy spends the budget best?"
_LONGEST_LAW = 160
_MOST_ARMS = 30
# A problem whose text is longer (an empirical law lists every sample) is better kept in a file.
_LONGEST_PROBLEM = 4000
_MOST_ARMS_IN_CODE = 100  # more are longer than that, whatever their laws
_ERRORS = 1.96  # standard errors from which on a difference is told from 0, at 95 %
_CARRIED = 2.0  # mean ÷ median
_KNOWLEDGE = ("var_cost", "var_reward", "cov", "cost_bound", "reward_bound", "slope_bound", "costs", "cost_moment",
              "reward_moment")  # fmt: skip


def write_report(
    result: Result, folder: str | PathLike[str], title: str | None = None, *, command: str | None = None
) -> list[Path]:
    """Write everything about a result into `folder` and return the paths; a folder that does not exist is made.

    report.html is one page with all of it. table.txt, .md, .csv and .tex are the regret table. The figures are regret,
    distribution, pulls and reward: .png and .svg for a page, .pdf for a column of a two-column paper, 3.3 inches.
    `title` heads the page and the tables; `command` is what makes it again in a shell, where that is not known from the
    result. The same result and title give the same bytes.
    """
    checked("write_report", result)
    checked_title("write_report", title)
    target = checked_path("write_report", folder)
    with made(target):
        numbers = regret_numbers(result, title=title)
        figures = page_figures(result, numbers.floor)
        texts = {"report.html": page_text(result, numbers, figures, title, files=True, command=command)}
        texts |= {f"table.{ending}": written(numbers, form) for ending, form in TABLES.items()}
        for name, text in texts.items():
            with writing(target / name):
                (target / name).write_text(text, encoding="utf-8", newline="\n")
        for figure in figures:
            if figure.name in FIGURES:
                save_figures(figure.page, figure.column, target / figure.name)
    return report_files(target)


def report_files(folder: Path) -> list[Path]:
    """The paths of a report's files in `folder`; the page is the first."""
    names = ["report.html", *(f"table.{ending}" for ending in TABLES)]
    names += [f"{name}.{ending}" for name in FIGURES for ending in ("png", "svg", "pdf")]
    return [folder / name for name in names]


def write_page(result: Result, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the page: which policy to use, figures, the table, the problem, the settings, how to make it again."""
    target = checked_path("write_page", path)
    checked("write_page", result)
    checked_title("write_page", title)
    check_writable(target)
    numbers = regret_numbers(result, title=title)
    text = page_text(result, numbers, page_figures(result, numbers.floor), title)
    with writing(target):
        target.write_text(text, encoding="utf-8")


def render(template: str, **parts: object) -> str:
    """The page that a template makes of its parts; all text in them is escaped."""
    folder = PackageLoader("outlay.report", "")
    pages = Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return pages.get_template(template).render(parts)


class PageFigure(NamedTuple):
    """A figure with its title and how to read it: drawn for a page, and for a phone or a column of a paper."""

    name: str
    title: str
    words: str
    page: Figure
    column: Figure

    def svg(self, width: Width) -> Markup:
        """The figure inside a page, in its colours; matplotlib has escaped its labels (tested)."""
        text = svg_text(self.page if width == "page" else self.column)
        return Markup(inline_svg(text, f"{self.name}-{width}", self.title))  # noqa: S704


def page_text(
    result: Result, numbers: RegretTable, figures: list[PageFigure], title: str | None = None, files: bool = False,
    command: str | None = None,
) -> str:  # fmt: skip
    """The page as text; without a title, the heading is its question. With `files`, those of a report are beside it."""
    arms, policies = len(result.problem), len(result.policies)
    counts = f"{counted(policies, 'policy', 'policies')}, {counted(arms, 'arm')}"
    limits = f"a budget of {result.budgets[-1]:,.6g}"
    if result.requests is not None:
        served = counted(int(result.requests[-1]), "request")
        limits = served if result.budgets[-1] == np.inf else f"{limits} for {served}"
    summary = f"{counts}, {limits}, {counted(result.runs, 'run')} of each policy"
    return render(
        "report.html.j2",
        title=title or f"{', '.join(result.labels)} on {arms} arms",
        heading=title or _QUESTION,
        summary=f"{_QUESTION} {summary}" if title else summary,
        verdict=verdict(ranking(result), result),
        figures={figure.name: figure for figure in figures},
        table=numbers.table(),
        bound=capital(bound_sentence(numbers.floor)),
        arms=arms_table(result),
        served=result.requests is not None,
        more_arms=max(0, arms - _MOST_ARMS),
        policies=policies_table(result),
        settings=settings(result),
        files=[f"table.{ending}" for ending in TABLES] + [f"{name}.pdf" for name in FIGURES] if files else [],
        command=command or shell_call(result),
        call=python_call(result),
    )


def arms_table(result: Result) -> Table:
    """The problem, piece by piece where arms change: every arm or, of too many, those with the smallest gaps."""
    law_heading = "law of (cost, reward)"
    headings, rows = ["arm", "mean cost", "mean reward", "rate", "gap", law_heading], []
    for start, piece in zip(result.problem.starts.tolist(), result.problem.pieces, strict=True):
        gaps = piece.gaps if result.problem.later else result.gaps
        rows += _arm_rows(piece, gaps, f", from {start:,g} on" if start else "")
    return Table(headings, rows, texts=["arm", law_heading])


def _arm_rows(problem: Problem, gaps: Floats, since: str) -> list[list[str]]:
    shown: Sequence[int] = range(len(problem))
    if len(problem) > _MOST_ARMS:
        shown = np.argsort(gaps, kind="stable")[:_MOST_ARMS].tolist()
    paid = problem.mean_costs > 0
    rates = np.where(paid, problem.mean_rewards / np.where(paid, problem.mean_costs, 1.0), np.nan)
    columns, rows = (problem.mean_costs, problem.mean_rewards, rates, gaps), []
    best, code = Markup('{}<span class="best"> best</span>'), Markup("<code>{}</code>")
    for k in shown:
        name = problem.names[k] + since if gaps[k] else best.format(problem.names[k] + since)
        numbers = ("–" if np.isnan(values[k]) else f"{values[k]:.4g}".replace("-", "−") for values in columns)
        law = _rounded(repr(problem.arms[k]))
        if len(law) > _LONGEST_LAW:  # its parameters come in order, so that it is cut at the end
            law = law[: _LONGEST_LAW - 1] + "…"
        rows.append([name, *numbers, code.format(law)])
    return rows


def policies_table(result: Result) -> Table:
    """What was compared: each policy in the words of its docstring, and its parameters."""
    rows = []
    for label, policy in result.policies.items():
        # A policy that is not outlay's is loaded as text, and has no docstring.
        docstring = "" if isinstance(policy, str) else inspect.getdoc(type(policy)) or ""
        words = " ".join(docstring.partition("\n\n")[0].split())
        words = "" if words.startswith(f"{type(policy).__name__}(") else words
        call = _rounded(policy if isinstance(policy, str) else repr(policy))
        what = Markup("{}<br><code>{}</code>").format(words, call) if words else Markup("<code>{}</code>").format(call)
        rows.append([label, what])
    return Table(["policy", "what it is"], rows, texts=["policy", "what it is"])


def _rounded(text: str) -> str:
    """The text with its numbers to twelve digits: further digits are rounding errors."""
    return re.sub(r"\d+\.\d{12,}(e[+-]?\d+)?", lambda found: repr(float(f"{float(found[0]):.12g}")), text)


def settings(result: Result) -> dict[str, str]:
    """How the result was made."""
    how = {"seed": str(result.seed), "runs": f"{result.runs:,}", "budgets": budgets_spanned(result.budgets.tolist())}
    if result.requests is not None:
        ends = dict.fromkeys((int(result.requests.min()), int(result.requests.max())))
        how["requests"] = " to ".join(f"{count:,}" for count in ends)
    if result.mode != "until_exceeded":
        how["mode"] = result.mode
    return how | {"outlay": result.version}


def budgets_spanned(budgets: Sequence[float]) -> str:
    """Budgets in a few words, such as 3 from 10 to 5,000; one that comes with several numbers of requests is one."""
    shown = [f"{budget:,.6g}" for budget in dict.fromkeys(budgets)]
    return shown[0] if len(shown) == 1 else f"{len(shown)} from {shown[0]} to {shown[-1]}"


def page_figures(result: Result, floor: Floor) -> list[PageFigure]:
    """The figures of a report, in their order; those for a column have no title, since papers have captions."""
    chart = regret_chart(result, floor=floor)
    makers: tuple[Callable[[Width, bool], Figure], ...] = (
        lambda width, title: draw(chart, sheet_of("regret_figure", width), title=title),
        lambda width, title: distribution_figure(result, width=width, title=title),
        lambda width, _: pulls_figure(result, width=width),
        lambda width, title: reward_figure(result, width=width, title=title),
    )
    served = result.requests is not None
    found = []
    for name, make in zip(FIGURES, makers, strict=True):
        title, words = (_SERVED if served else _WORDS)[name]
        if name == "regret":
            axes = f"The {chart.across} axis is" if chart.axis.scale == "linear" else "Both axes are"
            words = words.format(axes=f"{axes} logarithmic." if served else _AXES[chart.axis.scale])
            words += _SERVED_BOUND * (served and bool(chart.bounds))
        if name == "pulls" and not served and (share := shares(result).share[:, -1, 0].max()) < LEAST_SEEN:
            words += f" It got at most {percent(share)} of the pulls, too few to be seen."
        found.append(PageFigure(name, title, words, make("page", True), make("column", False)))
    if result.runs > 1 and any((curve.low <= 0.0).any() for curve in chart.curves):
        medians = regret_chart(result, floor=floor, centre="median")
        both = (draw(medians, sheet_of("regret_figure", width)) for width in WIDTHS)
        found.append(PageFigure("medians", *_MEDIANS, *both))
    return found


_MEDIANS = (
    "The median run",
    "The interval of a mean reaches below 0 above: a few runs are far from the others, and the mean says little about "
    "a single run. Here are medians, with the middle 80 % of the runs.",
)
_AXES = {
    "linear": "The budget axis is logarithmic: the line of a policy that has learnt is straight, and the flatter the "
    "better; the line of a policy that does not learn shoots up.",
    "log": "Both axes are logarithmic: the line of a policy that has learnt flattens; that of a policy that does "
    "not learn keeps rising as steeply as it began.",
}
_WORDS = {
    "regret": (
        "Regret as the budget grows",
        "Lower is better. {axes} Bands are 95 % intervals of the mean. Dashed: the lower bound, sharp and as the paper "
        "prints it. Thin, in a policy's colour: what a theorem proves that the policy does not exceed, "
        "up to a constant. Bounds far above all lines are left out.",
    ),
    "distribution": (
        "Every run",
        "Each dot is one run at the largest budget. Where dots form two clouds, the mean lies between them and "
        "describes no run: look at the median, and at how many dots are far to the right.",
    ),
    "pulls": (
        "Where the pulls went",
        "The share of pulls that each arm got up to a budget, over all runs; a policy that learns fills "
        "its panel with the colour of the best arm, which is at the bottom.",
    ),
    "reward": (
        "What each arm earned",
        "Pulls of an arm times its mean reward, at the largest budget. The dashed line is what the best arm alone "
        "earned: the distance to it is the regret.",
    ),
}
_SERVED_BOUND = " Dashed: the lower bound, for both growing in proportion."
_SERVED = {  # where requests are limited beside the budget
    **_WORDS,
    "regret": (
        "Regret at each budget and number of requests",
        "Lower is better. {axes} Bands are 95 % intervals of the mean. Regret is what falls short of the most that "
        "budget and requests can bring together on average.",
    ),
    "distribution": (
        "Every run",
        _WORDS["distribution"][1].replace("the largest budget", "the last budget and number of requests"),
    ),
    "pulls": (
        "Where the pulls went",
        "The share of pulls that each arm got, over all runs, those that lose least at the bottom. As a rule two arms "
        "share the pulls of the best policy: how depends on what can be spent on a request.",
    ),
    "reward": (
        "What each arm earned",
        "Pulls of an arm times its mean reward, at the last budget and number of requests. The dashed line is the most "
        "that can be earned on average: the distance to it is the regret.",
    ),
}


class PolicyRanking(NamedTuple):
    """The policies that learn, ranked by mean regret at the largest budget."""

    order: list[str]
    tied: list[str]  # those that the runs cannot tell from the first
    regret: Floats  # means, in that order
    median: Floats
    lost: float | None  # regret of the first, as a share of what the best arm alone earned, or of all that can be
    one_in_ten: float  # what a tenth of its runs exceeded
    knowledge: list[str]  # what the first was told about the problem

    @property
    def winner(self) -> str:
        """The policy to use."""
        return self.order[0]

    @property
    def carried(self) -> dict[str, float]:
        """The medians of the policies whose mean is carried by a few runs: it is more than twice the median."""
        numbers = zip(self.order, self.regret, self.median, strict=True)
        return {label: float(median) for label, mean, median in numbers if mean > _CARRIED * median}


def ranking(result: Result) -> PolicyRanking:
    """Rank the policies; one that pulls one arm for ever learns nothing, and is ranked only where there is no other."""
    learns = [not isinstance(policy, Fixed) for policy in result.policies.values()]
    ranked = [index for index, does in enumerate(learns) if does] or list(range(len(learns)))
    runs = result.run_regret()[:, :, -1]
    ranked.sort(key=lambda index: (runs[index].mean(), index))
    best = runs[ranked[0]]
    earned = float(result.oracle_reward[:, -1].mean() if result.requests is None else result.attainable[-1])
    tied = []
    for index in ranked[1:]:
        difference = runs[index] - best  # on the same random numbers
        error = float(difference.std(ddof=1)) / np.sqrt(result.runs) if result.runs > 1 else math.inf
        if difference.mean() <= _ERRORS * error:
            tied.append(result.labels[index])
    policy = result.policies[result.labels[ranked[0]]]
    given = {} if isinstance(policy, str) else as_data(policy)["parameters"]
    return PolicyRanking(
        [result.labels[index] for index in ranked],
        tied,
        runs[ranked].mean(axis=1),
        np.median(runs[ranked], axis=1),
        float(best.mean()) / earned if earned > 0 else None,
        float(np.quantile(best, 0.9)),
        [name for name in _KNOWLEDGE if given.get(name) is not None and np.any(given[name])],
    )


def verdict(found: PolicyRanking, result: Result) -> list[str]:
    """The ranking in words."""
    if result.requests is None and not np.any(result.gaps):
        return ["All arms are equally good: whatever is pulled, nothing is lost."]
    whole = "the best arm alone earns" if result.requests is None else "can be earned"
    share = f", {percent(found.lost)} of what {whole}" if found.lost is not None else ""
    lost = f"{amount(found.regret[0])} on average{share}"
    if len(found.order) == 1:
        said = [f"{found.winner} lost {lost}."]
    elif found.tied:
        names = listed([found.winner, *found.tied], most=None)
        apart = "one run does not tell" if result.runs == 1 else f"{result.runs} runs do not tell"
        said = [f"{names} lost least, and {apart} them apart: {found.winner} lost {lost}."]
    else:
        _, *others = zip(found.order, map(amount, found.regret), strict=True)
        second = [label for label, lost_too in others if lost_too == others[0][1]]
        follow = f"Next {'is' if len(second) == 1 else 'are'} {listed(second, most=None)} with {others[0][1]}."
        said = [f"Use {found.winner}: it lost least, {lost}. {follow}"]
    if result.runs >= 10:
        said.append(f"One run in ten of {found.winner} lost more than {amount(found.one_in_ten)}.")
        if found.carried:
            medians = [f"{label} (median {amount(median)})" for label, median in found.carried.items()]
            said.append(f"A few long runs carry the mean of {listed(medians, most=None)}.")
    if found.knowledge:
        known = listed(found.knowledge, most=None)
        said.append(f"It was told {known} of the arms; if you do not know them, use policies.default().")
    return said


def python_call(result: Result) -> str:
    """A script whose `result` equals `result`, as long as its laws and policies are outlay's own.

    Laws and policies of the user's are imported from where they were; a policy that is known by its repr alone is shown
    as that, and a problem too long to read as the file it has to come from.
    """
    counts = [] if result.requests is None else result.requests.tolist()
    budgets = result.budgets.tolist()
    if math.inf in budgets:
        words = ", ".join("math.inf" if budget == math.inf else repr(budget) for budget in budgets)
        limits = f"budgets=[{words}]"
    elif np.array_equal(result.budgets, usual_budgets(budgets[-1])):  # which `simulate` makes from the largest
        limits = f"budget={budgets[-1]!r}"
    else:
        limits = f"budgets={budgets!r}"
    limits += f", requests={counts[0] if len(set(counts)) == 1 else counts!r}" if counts else ""
    limits += f", mode={result.mode!r}" if result.mode != "until_exceeded" else ""
    return "\n".join(
        [
            *(["import math", ""] if math.inf in budgets else []),
            "import outlay",
            "from outlay import arms, policies",
            *_imports(result),
            "",
            f"problem = {_problem_code(result.problem)}",
            "contenders = {",
            *(f"    {label!r}: {_policy_code(policy)}," for label, policy in result.policies.items()),
            "}",
            "result = outlay.simulate(",
            f"    problem, contenders, {limits}, runs={result.runs}, seed={result.seed}",
            ")",
            "",
        ]
    )


def shell_call(result: Result) -> str:
    """The command that makes the same numbers and its report; empty where no command can say it all.

    It can where the problem is of the catalogue, the budgets follow from one, and every policy is as `outlay compare`
    would make it.
    """
    names = [name for name in catalogue.names() if catalogue.load(name) == result.problem]
    top, counts = float(result.budgets[-1]), set() if result.requests is None else set(result.requests.tolist())
    usual = np.array([top]) if top == math.inf else usual_budgets(top)
    if not names or not np.array_equal(result.budgets, usual) or len(counts) > 1:
        return ""
    try:
        told = named_policies(result.problem, result.labels)
    except (BadParameter, NotCovered):
        return ""
    if any(told.get(label) != policy for label, policy in result.policies.items()):
        return ""
    parts = [f"outlay compare {names[0]} --budget {top:g} --runs {result.runs} --seed {result.seed}"]
    parts += [f"--requests {count}" for count in counts] + ["--mode hard"] * (result.mode == "hard")
    lines = [" ".join(parts), " ".join(f"--policy {label}" for label in result.labels)]
    return " \\\n    ".join(lines)


def _problem_code(problem: Problem) -> str:
    for name in catalogue.names():
        if catalogue.load(name) == problem:
            return f"arms.catalogue.load({name!r})"
    many = len(problem) > _MOST_ARMS_IN_CODE
    try:
        text = (Problem({type(law): law for law in problem.arms}.values()) if many else problem).to_toml()
    except BadFile:
        return "...  # its laws cannot be written down: make it as you did"
    laws = [short_name(reference) for reference in _own_laws(problem)]
    handed = f", laws=[{', '.join(laws)}]" if laws else ""
    if many or len(text) > _LONGEST_PROBLEM:
        return f'outlay.Problem.load("problem.toml"{handed})  # where problem.save("problem.toml") put it'
    quoted = repr(text) if "\\" in text or "'''" in text else f"'''\n{text}'''"
    return f"outlay.Problem.from_toml({quoted}{handed})"


def _imports(result: Result) -> list[str]:
    """Where the user's laws and policies come from, a line for each."""
    references = [*_own_laws(result.problem), *map(reference_of, own_classes(*result.policies.values()))]
    lines = []
    for reference in dict.fromkeys(references):
        module, _, name = reference.rpartition(":")
        here = module == "__main__" or "." in name
        lines.append(f"# {short_name(reference)} is yours: define it here" if here else f"from {module} import {name}")
    return lines


def _own_laws(problem: Problem) -> list[str]:
    """What the user's laws are called, whether their code is here or not."""
    absent = [law.reference for law in absent_laws(*problem.arms)]
    return list(dict.fromkeys([*map(reference_of, own_classes(*problem.arms)), *absent]))


def _policy_code(policy: object) -> str:
    """The call that makes a policy; one that is not outlay's is loaded as its repr."""
    if isinstance(policy, str):
        return policy
    name = type(policy).__name__
    if policies.BY_NAME.get(name) is not type(policy) or not isinstance(policy, Parameters):
        return repr(policy)
    return f"policies.{'' if name in policies.BUILT_IN else 'baselines.'}{policy.call()}"
