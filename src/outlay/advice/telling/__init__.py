"""An advice as text, JSON, figures and a page."""
