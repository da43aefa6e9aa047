"""What an empty cell most probably holds: counts over the rows of tables, weighed for each column, and simple ways beside."""
