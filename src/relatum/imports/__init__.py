"""The imports room: tables of files and databases become facts: a table is a relation, a row a tuple, a column a role."""
