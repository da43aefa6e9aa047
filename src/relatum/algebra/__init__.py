"""The algebra room: expressions over relations, their text both ways, and what they are on tuples, exactly."""

from relatum.algebra.datalog import datalog, parse_datalog
from relatum.algebra.evaluation import evaluate
from relatum.algebra.expression import (
    Difference,
    Expression,
    Filter,
    Intersection,
    Join,
    Product,
    Project,
    Relation,
    Rename,
    SelectConstant,
    SelectEqual,
    Union,
    expanded,
)
from relatum.algebra.text import parse

__all__ = [
    "Difference",
    "Expression",
    "Filter",
    "Intersection",
    "Join",
    "Product",
    "Project",
    "Relation",
    "Rename",
    "SelectConstant",
    "SelectEqual",
    "Union",
    "datalog",
    "evaluate",
    "expanded",
    "parse",
    "parse_datalog",
]
