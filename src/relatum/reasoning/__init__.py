"""Relational algebra on a trained model: closed forms with their bounds, plans, queries and explanations."""
