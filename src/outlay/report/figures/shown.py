"""A figure that notebooks show by themselves: without pyplot, nobody else tells them how."""

from matplotlib.figure import Figure

_DOTS = 100  # of a screen, per inch; the picture has more, for screens that show them


class ShownFigure(Figure):
    """A matplotlib figure with a picture for notebooks."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        from outlay.report.figures.files import as_bytes  # which looks up the colours of the style, which is above this

        return as_bytes(self, "png"), {"width": round(self.get_figwidth() * _DOTS)}
