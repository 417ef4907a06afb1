"""What is shown of a campaign: its numbers now and before, forecasts, what if, tables."""
