"""The room of query sets: shapes of queries, queries drawn from facts, and how hard their answers are."""

from relatum.querysets.difficulty import GradedFacts, Grades, grade
from relatum.querysets.query_set import GradedQuery, QuerySet, ShapeCounts, load_queries, save_queries
from relatum.querysets.sampling import sample_queries
from relatum.querysets.shapes import SHAPES, Shape

__all__ = [
    "SHAPES",
    "GradedFacts",
    "GradedQuery",
    "Grades",
    "QuerySet",
    "Shape",
    "ShapeCounts",
    "grade",
    "load_queries",
    "sample_queries",
    "save_queries",
]
