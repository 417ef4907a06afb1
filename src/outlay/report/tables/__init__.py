"""Tables as text, Markdown, CSV and LaTeX."""
