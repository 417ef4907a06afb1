"""The door: a socket, what every request passes first, the way from a path to its route."""
