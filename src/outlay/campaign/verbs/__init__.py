"""The verbs of a campaign, each written once for threads and for asyncio."""
