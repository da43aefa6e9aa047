"""The paper: its published numbers, claims and theorems, beside tables and figures of results."""
