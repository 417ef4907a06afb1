"""Code of the user's: named in files and commands, recognised by what it does, and tried before it is compiled."""
