"""Where ledgers live: in memory, or in a database."""
