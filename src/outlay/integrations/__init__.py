"""Campaigns where people already are: LiteLLM's router, any OpenAI client, Optuna. Each is a file, and an extra."""
