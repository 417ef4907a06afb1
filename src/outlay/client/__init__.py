"""Programs that call the service: `Client` and `AsyncClient`, with the verbs of `Campaign`."""
