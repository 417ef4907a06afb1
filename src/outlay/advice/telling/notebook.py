"""Advice in a notebook: the answer, a table of the arms, what to watch out for, and the code."""

from html import escape

from outlay.advice.records import Findings
from outlay.advice.telling import serving
from outlay.advice.telling.answer import answer
from outlay.advice.telling.tables import ARMS, arm_notes, arm_rows, heading
from outlay.tables import Table


def _tables(advice: Findings) -> list[str]:
    """The arms with their rates; with requests, the arms of the hull and the mixes."""
    if (found := advice.serving) is not None:
        hull = Table(serving.ARMS, serving.arm_rows(found), heading(advice)).html()
        return [hull, Table(serving.MIXES, serving.mix_rows(found)).html()]
    notes = f"<p><small>{escape('; '.join(arm_notes(advice).values()))}</small></p>"
    return [Table(ARMS, arm_rows(advice), heading(advice)).html(), notes]


def html_of(advice: Findings) -> str:
    """HTML in the notebook's own colours; everything from the log is escaped."""
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in answer(advice))
    minded = "".join(f"<li><b>{escape(kind)}</b>: {escape(why)}.</li>" for kind, why in advice.cautions)
    return "\n".join(
        [
            f"<ul>{said}</ul>",
            *_tables(advice),
            f"<details><summary>What to watch out for ({len(advice.cautions)})</summary><ul>{minded}</ul></details>",
            f"<details><summary>Python</summary><pre>{escape(advice.code)}</pre></details>",
        ]
    )
