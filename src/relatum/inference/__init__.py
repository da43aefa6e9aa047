"""Evaluation: ranks of held-out facts among all entities, and what follows from them."""
