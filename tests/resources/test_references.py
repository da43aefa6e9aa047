"""References to entities and facts say all that is needed to show them and to ask about them again."""

from __future__ import annotations

from relatum import Run
from relatum.resources.references import EntityRef, entity_ref, fact_ref
from relatum.runs.answers import parse_question


def test_an_entity_of_a_table_has_a_label_and_its_longest_type_and_one_of_facts_a_name_alone(
    tables: Run, example: Run
) -> None:
    assert entity_ref(tables, "customers:7") == EntityRef("customers:7", "customer 7", "customers")
    assert entity_ref(tables, "customers.city:Paris").type == "customers.city"
    assert entity_ref(example, "drew") == EntityRef("drew", None, None)


def test_the_text_of_a_fact_can_be_read_back_and_a_known_fact_is_certain(example: Run) -> None:
    ref = fact_ref(example, "sold", ['a "b", (c)', "?", "x=y"], probability=0.5)
    assert parse_question(ref.text, example.schema).arguments == ('a "b", (c)', "?", "x=y")
    assert (ref.known, ref.probability, ref.roles) == (False, 0.5, ("seller", "buyer", "item"))
    ref = fact_ref(example, "sold", ["drew", "alex", "book"], probability=0.5, source="train")
    assert (ref.known, ref.probability, ref.source) == (True, 1.0, "train")
