"""The best answers to each of many questions that differ in some entities: in one pass, block by block."""

from __future__ import annotations

from collections.abc import Iterator

from relatum.models.ops import one_torch_thread
from relatum.progress import progress
from relatum.runs.answerer import AnswerBlock, Answerer
from relatum.runs.answers import Suggestion, Suggestions, field_names
from relatum.runs.each_question import Combinations, EachQuestion
from relatum.runs.trained import Trained
from relatum.settings import whole_number

_CELLS = 1 << 22  # candidates of all questions of a block
_QUESTIONS = 1 << 11  # of a block at most


def answer_blocks(
    run: Trained,
    question: EachQuestion,
    combinations: Combinations,
    k: int = 10,
    *,
    new_only: bool = False,
    most: int | None = None,
) -> Iterator[AnswerBlock]:
    """Yield the answers that `complete` gives to each question: the k best that are known, and the k best that are not.

    How questions are cut into blocks follows from how many candidates there are alone, and what torch adds up it adds up in
    one thread: the same questions get the same bits. Memory does not grow with their number.

    Args:
        run: the run that is asked.
        question: what the questions have in common.
        combinations: the entities at the positions that vary.
        k: how many known answers, and how many new ones.
        new_only: leave out those that are known already.
        most: answer the first questions only, at most so many.
    """
    k = whole_number("k", k)
    answerer = Answerer.of(run, question.relation.name, question.position)
    size = max(1, min(_QUESTIONS, _CELLS // max(answerer.width(k), answerer.scorer.count(question.position))))
    total = len(combinations) if most is None else min(len(combinations), most)
    with progress("answering questions", total) as advance:
        for questions in combinations.parts(size, most):
            with one_torch_thread():
                block = answerer.answered(questions, k, new_only=new_only)
            advance(block.questions)
            yield block


def complete_each(
    run: Trained, question: EachQuestion, combinations: Combinations, k: int = 10, *, new_only: bool = False
) -> Suggestions:
    """Return the answers to each question as records; all of them are held in memory."""
    found = answer_blocks(run, question, combinations, k, new_only=new_only)
    records = (one for block in found for one in suggestions_of(run, question, block))
    return Suggestions(records, str(question), field_names(question.relation, columns_of(question)))


def suggestions_of(run: Trained, question: EachQuestion, block: AnswerBlock) -> Iterator[Suggestion]:
    """Yield the answers of a block as records."""
    names, parts, positions = run.entities, list(run.split.parts), columns_of(question)
    roles = field_names(question.relation, positions)
    likely = [None] * len(block.ranks) if block.probabilities is None else block.probabilities.tolist()
    rows = zip(
        block.facts[positions].T.tolist(),
        block.ranks.tolist(),
        block.scores.tolist(),
        likely,
        block.sources.tolist(),
        strict=True,
    )
    for entities, rank, score, probability, part in rows:
        source = None if part < 0 else parts[part]
        yield Suggestion(tuple(names[one] for one in entities), rank, score, probability, source, roles)


def columns_of(question: EachQuestion) -> list[int]:
    """Return the positions that answers are written with: those that vary, and behind them the open one."""
    return [*question.varying, question.position]
