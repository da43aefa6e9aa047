"""What an empty cell most probably holds: counts over the rows of tables, weighed column by column; simple ways beside."""
