"""Requests beside money: what both are worth, what a pull is due, and which arms share what is left."""
