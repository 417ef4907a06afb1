"""One run, pull by pull, as plain Python that is also compiled: the loop, how it chooses, what a run starts from."""
