"""Evidence: known facts that speak for an answer, by soft rules found in the training facts, beside the embedding."""
