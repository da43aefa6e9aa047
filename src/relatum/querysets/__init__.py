"""The room of query sets: shapes of queries, queries drawn from facts, and how hard their answers are."""

from relatum.querysets.query_set import SHAPES, GradedQuery, QuerySet, load_queries, save_queries
from relatum.querysets.sampling import sample_queries

__all__ = ["SHAPES", "GradedQuery", "QuerySet", "load_queries", "sample_queries", "save_queries"]
