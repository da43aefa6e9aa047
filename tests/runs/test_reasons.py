"""What speaks for a fact and against it, and the known facts that are most like it."""

from __future__ import annotations

from pathlib import Path

from relatum import Run, fit, read
from relatum.runs.reasons import without_prefixes, without_prefixes_in
from support.mistakes import mistake


def test_what_speaks_against_a_fact_and_what_is_like_it_is_known(example: Run) -> None:
    (said,) = example.objections("sold(drew, drew, book)")
    assert "has the same seller and buyer" in said
    assert not example.objections("sold(drew, alex, book)")
    found = example.similar_facts("sold(drew, alex, tea)", k=5)
    assert found
    likes = [one.similarity for one in found]
    assert likes == sorted(likes, reverse=True)
    known = {f"sold({', '.join(fact)})" for fact in example.table("sold")}
    for one in found:
        assert one.fact in known
        parts = one.fact[5:-1].split(", ")
        assert sum(a != b for a, b in zip(parts, ("drew", "alex", "tea"), strict=True)) == 1
        assert one.to_dict()["fact"] == one.fact
    for ask in (example.objections, example.similar_facts, example.why):
        with mistake("gap-in-fact"):
            ask("sold(drew, ?, book)")


def test_reasons_are_shown_without_the_prefixes_of_entity_types(tmp_path: Path) -> None:
    towns = ["Old Town", "Bath", "Cork", "Derby", "Ely", "Fife"]
    pairs = [(a, b) for at, a in enumerate(towns) for b in (towns[at - 1], towns[(at + 1) % 6])]
    lines = ["town,other", *(f"{a},{b}" for a, b in pairs)]
    (tmp_path / "roads.csv").write_text("\n".join(lines) + "\n")
    example = fit(read(tmp_path / "roads.csv", links={"other": "town", "town": "town"}, valid=0, test=0), dim=8, epochs=2)
    reasons = example.why("roads(Bath, Derby)") or example.why("roads(Bath, Cork)")
    assert reasons
    for one in reasons:
        shown = without_prefixes(example, one)
        assert "town:" in " ".join((one.rule, *one.facts))
        assert "town:" not in " ".join((shown.rule, *shown.facts))
        assert (shown.confidence, len(shown.facts)) == (one.confidence, len(one.facts))
    assert without_prefixes_in(example, 'roads("town:Old Town", town:Ely)') == 'roads("Old Town", Ely)'
    assert without_prefixes_in(example, "roads(downtown:Ely)") == "roads(downtown:Ely)"
