"""Who may do what: keys with scopes, kept as hashes in the campaigns' own database, and a log of what admins did."""
