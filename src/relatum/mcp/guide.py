"""What a planner is told about the tools."""

from __future__ import annotations

__all__ = ["GUIDE"]

GUIDE = """\
These tools answer questions about a knowledge hypergraph: facts of any arity, some known, others predicted by a trained
model. They only read.

1. Call `schema` first: it names every relation, its roles, an example and a question to copy.
2. Names are exact. Look one up with `find_entity` before you use it; an error names the nearest spelling.
3. `facts_of` lists what is known. `complete` fills the gaps of one fact: `sold(drew, ?, book)`. `query` joins several
   relations, in SQL or algebra, and says which facts each row rests on. `score` judges one whole fact.
4. `known` true means that it is stored or follows from what is stored. Otherwise it is a prediction: look at its
   `probability`, and treat one below 0.5 as a guess. `score` values compare within one question only.
5. Before you act on a prediction, `explain` it: rules with high confidence and known facts are good reasons, an objection is
   a bad sign.
6. `what_if` answers with facts or definitions taken as true for that call only: compare `before` and `after`.
7. Results are capped: `truncated` says that there may be more. Ask for more with `k`, or for the next page with `after`.
   `proven` false says that the search ended early."""
