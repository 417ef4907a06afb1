"""Advice in a notebook: the answer, a table of the arms, what to watch out for, and the code."""

from html import escape

from outlay.advice.records import Findings
from outlay.advice.telling.answer import answer
from outlay.advice.telling.tables import ARMS, arm_notes, arm_rows, heading
from outlay.markup import html_table


def html_of(advice: Findings) -> str:
    """HTML in the notebook's own colours; everything from the log is escaped."""
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in answer(advice))
    minded = "".join(f"<li><b>{escape(kind)}</b>: {escape(why)}.</li>" for kind, why in advice.cautions)
    return "\n".join(
        [
            f"<ul>{said}</ul>",
            html_table(ARMS, arm_rows(advice), heading(advice)),
            f"<p><small>{escape('; '.join(arm_notes(advice).values()))}</small></p>",
            f"<details><summary>What to watch out for ({len(advice.cautions)})</summary><ul>{minded}</ul></details>",
            f"<details><summary>Python</summary><pre>{escape(advice.code)}</pre></details>",
        ]
    )
