"""The tables room: other people's databases, frames and files of tables: rows become facts, and facts become rows."""

from relatum.tables.importer import read
from relatum.tables.options import ImportOptions
from relatum.tables.summary import RECORD, ColumnRecord, Imported, TableRecord
from relatum.tables.table import Column, Table
from relatum.tables.targets import write

__all__ = ["RECORD", "Column", "ColumnRecord", "ImportOptions", "Imported", "Table", "TableRecord", "read", "write"]
