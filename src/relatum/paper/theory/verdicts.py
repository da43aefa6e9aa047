"""The verdict on each theorem and lemma of the paper, and on G-MPNN: its code, its test, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_THEORY = "relatum.paper.theory"
_CLOSED_FORM = "relatum.reasoning.closed_form.closed_form"
_TESTS = "tests/reasoning"


@dataclass(frozen=True)
class Verdict:
    """One claim.

    Attributes:
        where: the theorem or lemma of the paper, or that the paper does not state it.
        claim: the claim, in a few words.
        code: the function that makes it, or its opposite, happen.
        test: the file that shows it.
        verdict: whether it holds.
        why: one sentence.
    """

    where: str
    claim: str
    code: str
    test: str
    verdict: Literal["holds", "holds, corrected", "fails"]
    why: str


VERDICTS: tuple[Verdict, ...] = (
    Verdict(
        "Theorem 1 (Expressivity)",
        "ReAlE separates any ground truth",
        f"{_THEORY}.expressivity.separating_reale",
        "tests/paper/test_theory_expressivity.py",
        "holds, corrected",
        "A relation's block is a diagonal, false tuples score at most epsilon and not below it, and no true tuple at all "
        "takes one window.",
    ),
    Verdict(
        "Theorem 2",
        "m-TransH, RAE and NaLP are not fully expressive",
        f"{_THEORY}.translations.find_cycle",
        "tests/paper/test_theory_expressivity_nalp.py",
        "fails",
        "It is true of m-TransH and RAE (Lemma 2.1) and not of NaLP (Lemma 2.2), which separates what the other two cannot.",
    ),
    Verdict(
        "Lemma 2.1",
        "m-TransH and RAE are not fully expressive",
        f"{_THEORY}.translations.residual",
        "tests/paper/test_theory_translations.py",
        "holds, corrected",
        "The cited proof takes true facts to be at distance 0; for any threshold, a cycle of true tuples whose reverses are "
        "false has equal sums of true and of false distances.",
    ),
    Verdict(
        "Lemma 2.2",
        "NaLP is not fully expressive",
        f"{_THEORY}.expressivity.separating_nalp",
        "tests/paper/test_theory_expressivity_nalp.py",
        "fails",
        "The proof is about a linear form that is not NaLP's network; a minimum of indicators, one hidden unit for each "
        "true tuple, separates any ground truth.",
    ),
    Verdict(
        "Theorem (Renaming)",
        "a renaming has parameters with equal scores",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds",
        "The rows of a relation move with its positions.",
    ),
    Verdict(
        "Theorem (Projection)",
        "a projection has parameters with scores at least those of its tuples",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds, corrected",
        "The bias of window j takes the dropped weights of that window, and the bound needs entities in [0, 1].",
    ),
    Verdict(
        "Theorem (Selection 1)",
        "a selection of equal entities has parameters with equal scores",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds",
        "One entity at two positions meets the sum of their rows.",
    ),
    Verdict(
        "Theorem (Selection 2)",
        "a selection by a constant has parameters with equal scores",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds",
        "What the constant adds to a window goes into its bias.",
    ),
    Verdict(
        "Theorem (Set Union)",
        "a union has parameters with scores at least the larger one",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds, corrected",
        "The maximum is over all positions, the last one too, and the bound needs entities that are not negative.",
    ),
    Verdict(
        "Theorem (Set Difference)",
        "a difference has parameters with scores at most those of the left side and of the complement of the right one",
        _CLOSED_FORM,
        f"{_TESTS}/test_closed_form.py",
        "holds, corrected",
        "The minimum is over all positions, the last one too; the bound needs entities that are not negative and a sigma "
        "with a complement, sigmoid or tanh.",
    ),
    Verdict(
        "Theorem (HypE Selection 1 (a))",
        "for arbitrary embeddings HypE has no parameters for a selection of equal entities",
        f"{_THEORY}.hype.fit_selection",
        "tests/paper/test_theory_hype.py",
        "holds, corrected",
        "The condition is linear in t, not term by term: in general position there is a residual above zero when |E| > d, "
        "but a solution when |E| <= d.",
    ),
    Verdict(
        "Theorem (HypE Selection 1 (b))",
        "with d < |E| no parameters of HypE at all represent a selection, unless an entity vanishes",
        f"{_THEORY}.hype.separating_hype",
        "tests/paper/test_theory_hype.py",
        "fails",
        "Entities may share a coordinate in which they look the same at the second position: with d < |E| there are "
        "parameters that separate a ground truth, let no entity vanish, and represent every selection.",
    ),
    Verdict(
        "not in the paper",
        "G-MPNN is fully expressive",
        f"{_THEORY}.translations.order_residual",
        "tests/paper/test_theory_products.py",
        "fails",
        "Its decoder is a product, in which all orders of a fact's entities score alike, as in m-DistMult: no parameters "
        "separate a true tuple from an order of it that is false.",
    ),
)


def as_markdown() -> str:
    """Return the verdicts as a table in Markdown, as docs/theory.md shows it."""
    lines = ["| in the paper | claim | function | test | verdict | why |", "|---|---|---|---|---|---|"]
    for one in VERDICTS:
        lines.append(f"| {one.where} | {one.claim} | `{one.code}` | `{one.test}` | **{one.verdict}** | {one.why} |")
    return "\n".join(line.replace("|E|", r"\|E\|") for line in lines) + "\n"
