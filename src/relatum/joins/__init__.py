"""Joins on what was learned: conjunctions of facts, known and predicted, with their best answers and witnesses."""
