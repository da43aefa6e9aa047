"""Training: from facts to parameters (Algorithm 1 of the paper), step by step, the same bits from the same seed."""
