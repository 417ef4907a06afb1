"""What came of an experiment: summary, verdict, tables, figure and page."""
