"""The sql room: queries of SQL as relational algebra, and back."""
