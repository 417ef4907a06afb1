r"""Any text as LaTeX that plain pdflatex can set, whatever the document's fonts: its own commands, in ASCII.

Greek letters become mathematics, accents commands. What plain LaTeX cannot set is said in words: a symbol by its
Unicode name, an emoji's too (`[rocket]`), a letter by its number (`[U+4E1C]`). Accents that it does not have, and
second ones, are left out, as is what cannot be seen.
"""

import re
import unicodedata

_COMMANDS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": "{`}", "[": "{[}", "*": "{*}", "–": "--", "—": "---", "…": r"\ldots{}",
    "‘": "`", "’": "'", "“": "``", "”": "''", "†": r"\dag{}", "§": r"\S{}", "¶": r"\P{}", "£": r"\pounds{}",
    "©": r"\copyright{}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}",
    "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "⁄": "/", "‐": "-", "‑": "-", "ο": "o",
    "€": "EUR", "®": "(R)", "\u200b": "{}",
}  # fmt: skip
_MATHEMATICS = {
    "≤": r"\leq", "≥": r"\geq", "×": r"\times", "±": r"\pm", "−": "-", "÷": r"\div", "·": r"\cdot", "∞": r"\infty",
    "≈": r"\approx", "≠": r"\neq", "→": r"\to", "←": r"\gets", "⇒": r"\Rightarrow", "√": r"\surd", "∑": r"\sum",
    "∏": r"\prod", "∫": r"\int", "∂": r"\partial", "∇": r"\nabla", "∈": r"\in", "°": r"^\circ", "•": r"\bullet",
    "¬": r"\neg", "∀": r"\forall", "∃": r"\exists", "∅": r"\emptyset", "∩": r"\cap", "∪": r"\cup", "′": r"\prime",
    "ς": r"\varsigma", "ϵ": r"\epsilon", "ε": r"\varepsilon", "ϕ": r"\phi", "φ": r"\varphi", "ϑ": r"\vartheta",
    "ℓ": r"\ell",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
_GREEK = {
    "SMALL": "alpha beta gamma delta zeta eta theta iota kappa lamda mu nu xi pi rho sigma tau upsilon chi psi omega",
    "CAPITAL": "Gamma Delta Theta Lamda Xi Pi Sigma Upsilon Phi Psi Omega",
}
_LIKE_LATIN = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True))
_MATHEMATICS |= {
    unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}"): "\\" + name.replace("amda", "ambda")
    for size, names in _GREEK.items()
    for name in names.split()
}


def tex(text: str) -> str:
    r"""Text with nothing in it that LaTeX would take for a command, nor, after a row's end, for its argument.

    >>> print(tex("50% of $x_1$ ± 2, β = é"))
    50\% of \$x\_1\$ $\pm$ 2, $\beta$ = \'{e}
    """
    apart = re.sub("-(?=-)", "-\u200b", readable(text))  # two hyphens would be a dash
    return "".join(map(_letter, re.findall(r".[\u0300-\u036f]*", apart)))


def readable(text: str) -> str:
    """Text on one line with words for what plain LaTeX cannot set, as long as it will look.

    >>> readable("go 🚀 to 東京"), readable("Zoë, ½ of ﬁve")
    ('go [rocket] to [U+6771][U+4EAC]', 'Zoë, 1⁄2 of five')
    """
    parts = re.findall(r".[\u0300-\u036f]*", unicodedata.normalize("NFC", " ".join(text.split())))
    return "".join(part if _settable(part) else "".join(map(_words, _plain(part))) for part in parts)


def _plain(part: str) -> str:
    """What is the same but for its form: ligatures, wide letters, fractions."""
    return unicodedata.normalize("NFKC", part)


def _settable(part: str) -> bool:
    first, *accents = list(unicodedata.normalize("NFD", part))
    if unicodedata.decomposition(part[0]).startswith(("<super>", "<sub>")):
        return _plain(part).isascii()
    return (first.isascii() and first.isprintable() and all(accent in _ACCENTS for accent in accents)) or (
        part in _COMMANDS or part in _MATHEMATICS or part in _LIKE_LATIN
    )


def _words(letter: str) -> str:
    if _settable(letter):
        return letter
    base = unicodedata.normalize("NFD", letter)[0]
    if base != letter and _settable(base):
        return base
    kind, name = unicodedata.category(letter), unicodedata.name(letter, "")
    if latin := re.fullmatch(r"LATIN (SMALL|CAPITAL) LETTER (\w) WITH .*", name):
        return latin[2].lower() if latin[1] == "SMALL" else latin[2]
    if kind in ("Cc", "Cf", "Mn", "Me", "Sk"):
        return ""
    if kind.startswith(("S", "P")) and name:
        return f"[{name.partition(' WITH ')[0].lower()}]"
    return f"[U+{ord(letter):04X}]"


def _letter(part: str) -> str:
    """One character that plain LaTeX can set, as it is written there."""
    form = unicodedata.decomposition(part[0])
    if form.startswith(("<super>", "<sub>")):
        return f"${'^' if form.startswith('<super>') else '_'}{{{_plain(part)}}}$"
    if part in _MATHEMATICS:
        return f"${_MATHEMATICS[part]}$"
    if part in _COMMANDS or part in _LIKE_LATIN:
        return _COMMANDS.get(part) or _LIKE_LATIN[part]
    letter, *accents = list(unicodedata.normalize("NFD", part))
    return rf"\{_ACCENTS[accents[0]]}{{{letter}}}" if accents else letter
