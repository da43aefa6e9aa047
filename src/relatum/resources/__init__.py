"""What a page, its JSON twin and a planner's tool show of a run: frozen dataclasses of plain values, one function each."""
