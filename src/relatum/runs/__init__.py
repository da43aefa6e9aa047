"""Runs: where a person's work lives. A spec goes in; a directory comes out that answers questions by itself."""
