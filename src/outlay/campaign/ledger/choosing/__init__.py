"""The policy of a campaign at work: what it has learned, and which arm it names, knowing what is under way."""
