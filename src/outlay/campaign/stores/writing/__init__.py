"""The one thread that writes for all campaigns of a database, and how others hand it their work."""
