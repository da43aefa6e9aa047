"""The imports room: tables of files and databases become facts: a table is a relation, a row a tuple, a column a role."""

from relatum.imports.options import ImportOptions
from relatum.imports.reading import read
from relatum.imports.record import RECORD, ColumnRecord, Imported, TableRecord

__all__ = ["RECORD", "ColumnRecord", "ImportOptions", "Imported", "TableRecord", "read"]
