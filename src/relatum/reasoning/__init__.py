"""The reasoning room: relational algebra asked of an embedding, the rules between relations, and the theory as code."""
