"""The exports room: what a run knows goes where people can use it: files, tables of databases, arrays."""

from relatum.exports.embeddings import save_embeddings
from relatum.exports.predictions import predictions_table
from relatum.exports.table import Column, Table
from relatum.exports.targets import write

__all__ = ["Column", "Table", "predictions_table", "save_embeddings", "write"]
