"""Formulas between dollar signs as MathML, which browsers draw themselves: no script, no font, no request."""

import html
import re
from collections.abc import Iterable

from math_core import LatexToMathML
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

# What pymdownx.arithmatex leaves of $…$ and $$…$$; in the table of contents only the inner part is left of it.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)
INNER = re.compile(r"\\\((.*?)\\\)")
CONVERTER = LatexToMathML()


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Typeset the page and its table of contents; a formula with an error ends the build."""
    typeset_titles(page.toc)
    return FORMULA.sub(typeset, html)


def typeset(found: re.Match[str]) -> str:
    """One formula of a page."""
    element, latex = found.groups()
    return f'<{element} class="formula">{mathml(latex, display=element == "div")}</{element}>'


def typeset_titles(links: Iterable[AnchorLink]) -> None:
    """The formulas in headings."""
    for link in links:
        link.title = INNER.sub(lambda found: mathml(found.group(1), display=False), link.title)
        typeset_titles(link.children)


def mathml(latex: str, display: bool) -> str:
    r"""LaTeX, escaped for HTML, as MathML.

    >>> mathml(r"x &gt; \frac12", display=False)
    '<math><mi>x</mi><mo>&gt;</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>'
    """
    converted = CONVERTER.convert_with_local_state(html.unescape(latex).strip(), displaystyle=display)
    return converted.replace(' accent="true"', "")  # without a font for mathematics, accents would be drawn inside
