"""LaTeX: every character becomes something that compiles, tables fit, and where there is pdflatex it is asked."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from outlay import report
from outlay.policies import RoundRobin
from outlay.report.figures import save_figure
from outlay.report.tables.latex import latex_table
from outlay.report.tables.tex_text import readable, tex

LABELS = [
    "50 % of_x $y$ & co #1", "α-greedy, β = ½", "café Zoë Łódź ŷ", "go 🚀 to 東京 → ∞", "[x] first", "* second",
    "a label that is forty letters long, 1234", "x" * 90, '\\input{x} ~^ {"q"} <|>', "--- `a' ß ø ı ą đ µ² x₁",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[a]", "{[}a]"),
        ("* b", "{*} b"),
        ('"q"', "''q''"),
        ("≤ 1", r"$\leq$ 1"),
        ("5–6", "5--6"),
        ("a--b", "a-{}-b"),
        ("\\input{x} & 5% #1 ~^", r"\textbackslash{}input\{x\} \& 5\% \#1 \textasciitilde{}\textasciicircum{}"),
        ("αβ ΑΩ ς ε", r"$\alpha$$\beta$ A$\Omega$ $\varsigma$ $\varepsilon$"),
        ("λ Λ ά µ", r"$\lambda$ $\Lambda$ $\alpha$ $\mu$"),
        ("é ñ Å ő e\u0301", r"\'{e} \~{n} \r{A} \H{o} \'{e}"),
        ("ß ø Ł ą đ", r"\ss{} \o{} \L{} a d"),
        ("x² y₁ ½ ﬁ", r"x$^{2}$ y$_{1}$ 1/2 fi"),
        ("🚀 ❤️ ✓", "{[}rocket] {[}heavy black heart] {[}check mark]"),
        ("😊 東 þ", "{[}smiling face] {[}U+6771] {[}U+00FE]"),
        ("a\u200bb\x1bc", "abc"),
        ("two\nlines", "two lines"),
    ],
)
def test_letters(text, written):
    assert tex(text).replace("{}b", "b" if "\u200b" in text else "{}b") == written


def test_every_letter_is_ascii_that_opens_and_closes():
    for code in [*range(0x20, 0x3000), *range(0x1F300, 0x1F700)]:
        written = tex(f"x{chr(code)}x")
        assert written.isascii()
        bare = re.sub(r"\\[\\{}$%&#_^~'`\"=.]", "", written)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"[%#&~]", bare)


def test_what_is_readable_is_as_long_as_it_looks():
    assert readable("go 🚀\n東") == "go [rocket] [U+6771]"


def test_it_needs_booktabs_alone(three, nasty):
    for result in (three, nasty):
        text = report.table(result, "latex")
        body = text.partition("\n")[2]
        commands = set(re.findall(r"\\([a-zA-Z]+)", body))
        known = (
            "begin end centering ifdim linewidth scriptsize footnotesize fi setlength tabcolsep extracolsep fill "
            "caption label toprule midrule bottomrule pm div ln"
        )
        assert commands <= {*known.split(), *re.findall(r"text\w+", " ".join(commands))}
        rows = body[body.index(r"\toprule") : body.index(r"\bottomrule")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in rows.splitlines() if line.endswith(r"\\")} == {5}
        assert body.isascii()


def test_it_goes_across_both_columns_where_it_is_too_wide(three, make):
    assert r"\begin{table}[t]" in report.table(three, "latex")
    tight = report.table(make({"a policy with a long name": RoundRobin()}, [9.0]), "latex")
    assert r"\begin{table}[t]" in tight
    assert r"\begin{tabular*}{\linewidth}{@{\extracolsep{\fill}}lrrrrr@{}}" in tight
    wide = report.table(make({"a" * 30: RoundRobin()}, [-0.5]), "latex")
    assert r"\begin{table*}[t]" in wide
    assert r"\end{table*}" in wide


def test_gaps_are_as_wide_as_fits():
    def gap(columns: int) -> float:
        text = latex_table("x", "x", ["head"] * columns, [["1,234.5 ± 12"] * columns])
        return float(re.findall(r"tabcolsep}{([\d.]+)pt}", text)[0])

    assert gap(2) == gap(3) == 6
    assert 2 < gap(4) < 6
    assert gap(5) == 6, "across both columns"


def test_columns_are_never_crammed():
    """Of all widths: the gap is 6 points or more, unless LaTeX itself spreads the columns over the line."""
    for letters in range(1, 40):
        text = latex_table("x", "x", ["head"] * 4, [["1" * letters] * 4])
        assert r"\begin{tabular*}" in text or float(re.findall(r"tabcolsep}{([\d.]+)pt}", text)[0]) >= 3


def test_cells_can_be_bold():
    text = latex_table("x", "x", ["K", "a", "b"], [["1", "2 ± 1", "3"], ["2", "5", "4 ± 1"]], bold={(0, 1), (1, 2)})
    assert r"1 & \textbf{2 $\pm$ 1} & 3 \\" in text
    assert r"2 & 5 & \textbf{4 $\pm$ 1} \\" in text


def test_labels_are_by_title(three):
    assert r"\label{tab:regret}" in report.table(three, "latex")
    titles = ("ρ = 0.5", "ρ = −0.5", "γ = 0.5", "ρ = 5", "a & b")
    labels = [re.findall(r"\\label{(tab:regret-[\w.-]+)}", report.table(three, "latex", title=t)) for t in titles]
    assert len({label for [label] in labels}) == len(titles)


def test_a_table_too_wide_for_a_page_is_cut_into_several():
    heads = ["K", *(f"policy {i}" for i in range(12))]
    text = latex_table("many", "x", heads, [["2", *["12,345 ± 123.4"] * 12]])
    assert text.count(r"\begin{tabular}{@{}r") == 2
    assert len(re.findall(r"^K & ", text, re.M)) == 2
    assert all(f"policy {i}" in text for i in range(12))


def test_long_cells_and_headings_are_folded():
    text = latex_table("long", "x", ["a heading of some words"] * 6, [["word " * 9, *["1"] * 5]], left=1)
    assert r"\begin{tabular}[t]{@{}l@{}}word word word\\ word word word\\ word word word\end{tabular}" in text
    assert r"\begin{tabular}[b]{@{}r@{}}a\\ heading\\ of some\\ words\end{tabular}" in text
    many = latex_table("x", "x", ["GaussianThompson with"] * 9, [["1.0"] * 9])
    assert r"GaussianThompson\\ with" in many, "words stay whole"


@pytest.mark.parametrize("kind", ["[twocolumn]{article}", "[conference]{IEEEtran}"])
def test_pdflatex_sets_it_all(make, tmp_path, kind):
    """Tables and figures, as they are, in a paper of two columns: no error, and nothing too wide."""
    if not shutil.which("pdflatex"):
        pytest.skip("there is no pdflatex")
    for needed in (["booktabs.sty"], ["IEEEtran.cls", "ptmr7t.tfm"] if "IEEE" in kind else []):
        for name in needed:
            if subprocess.run(["kpsewhich", name], capture_output=True, check=False).returncode:
                pytest.skip(f"this LaTeX has no {name}")
    result = make({label: RoundRobin() for label in LABELS}, list(range(1, 11)), runs=3, count=3)
    save_figure(report.regret_figure(result, width="column"), tmp_path / "regret.pdf")
    parts = [
        report.table(result, "latex", title="; ".join(LABELS[:7])),
        report.table(make({"a": RoundRobin()}, [3.0]), "latex"),
        report.table(
            make({"GaussianThompson": RoundRobin(), "a long label in a column": RoundRobin()}, [9.0, 9.0]), "latex"
        ),
    ]
    parts += [latex_table(tex("sweep"), "sweep", ["K β", *LABELS], [["−2 €", *["1,234.5 ± 12.3"] * 10]] * 3)]
    parts += [r"\begin{figure}\includegraphics[width=\columnwidth]{regret.pdf}\end{figure}"]
    assert [part.count(r"\begin{table}") for part in parts] == [0, 1, 1, 0, 0], "all kinds are tried"
    assert "tabular*" in parts[2]
    preamble = rf"\documentclass{kind}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    source = tmp_path / "paper.tex"
    source.write_text("\n".join([preamble, *parts, r"\end{document}"]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", source.name]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    log = Path(tmp_path / "paper.log").read_text(errors="replace")
    tables = log[log.index("paper.aux") :]
    assert "Overfull" not in tables, re.findall(r"Overfull.*", tables)
    assert "Missing character" not in log
