"""The commands of the record, by run; `{data}`, `{out}` and RUN stand for folders. All but those that train print JSON."""

from __future__ import annotations

SMALL = "--set model.dim=16 --set training.epochs=12 --seed 0"

MAKE = (
    f"train --data example --out {{out}}/example {SMALL}",
    "import {data}/shop.db --out {out}/tables --json",
    f"train --data {{out}}/tables --out {{out}}/shop {SMALL}",
    "synth --preset small --seed 1 --out {out}/made --json",
    f"train --data {{out}}/made --out {{out}}/rel-er {SMALL}",
)

EXAMPLE = (
    "evaluate RUN --by arity,relation",
    "evaluate RUN --split valid",
    "schema RUN",
    "find RUN coff",
    "similar RUN drew -k 3",
    "complete RUN 'sold(drew, ?, book)' -k 3 --why",
    "complete RUN 'sold(drew, ?, ?)' -k 3",
    "complete RUN 'sold(drew, ?, book)' --coverage 0.6",
    "score RUN 'sold(drew, alex, book)' 'sold(drew, alex, tv)'",
    "explain RUN 'sold(drew, alex, book)'",
    "doubt RUN -k 5",
    "predict RUN --relation sold --top 5",
    "query RUN 'project[0](select[2 = coffee](sold))'",
    "query RUN 'project[0](select[2 = coffee](sold))' --mode closed",
    "query RUN 'difference(project[0](sold), project[1](sold))' --new",
    "sql RUN \"SELECT buyer FROM sold WHERE seller = 'drew'\"",
    "rules RUN",
    "rules RUN --soft 5 --examples",
    "data info example",
    "data check example",
)

SHOP = (
    "schema RUN",
    "find RUN Paris",
    "fill RUN",
    "fill RUN --column customers.country",
    "fill RUN --from {data}/shop.db --table items",
    "evaluate RUN",
    "evaluate RUN --by column",
    "doubt RUN -k 4",
    "complete RUN 'customers.country(3, ?)' -k 3 --why",
    "complete RUN 'sales(customer_id=1, item_id=?)' -k 3",
    "score RUN 'customers.city(1, Paris)'",
    "explain RUN 'customers.city(1, Paris)'",
    "predict RUN --relation customers.segment --top 3",
    "sql RUN \"SELECT c.id FROM customers c JOIN sales s ON s.customer_id = c.id WHERE c.city = 'Rome'\"",
    "sql RUN \"SELECT id FROM customers WHERE country = 'Italy' AND NOT known\" --why",
    "data info {out}/tables",
)

REL_ER = (
    "evaluate RUN --by arity,operation",
    "schema RUN",
    "rules RUN",
    "rules RUN --soft 5",
    "doubt RUN -k 3",
    "predict RUN --top 2",
    "data check {out}/made",
    "queries {out}/made --out {out}/queries --count 3",
)

ASKED = {"example": EXAMPLE, "shop": SHOP, "rel-er": REL_ER}
