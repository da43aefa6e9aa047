"""The experiments room: what is made of finished runs: reports, tables and figures."""
