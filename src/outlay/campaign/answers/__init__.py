"""What users of a campaign read: replies, pulls, history, as records and as tables."""
