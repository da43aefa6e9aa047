"""The tools: each is one resource of a run, read-only, with typed arguments and results and its limits in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

from relatum.api import Run
from relatum.errors import RelatumError
from relatum.extras import optional
from relatum.formatting import visible
from relatum.resources import answers, facts, limits, names, overview, queries, rules, what_if
from relatum.resources.later import Later
from relatum.time_limit import Deadline
from relatum.version import __version__

with optional("mcp", extra="mcp"):
    import anyio
    from anyio import to_thread
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
    from pydantic import Field, RootModel

    from relatum.mcp.stdio import StdioServer

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

TOOLS = ("schema", "find_entity", "facts_of", "complete", "score", "query", "explain", "rules", "what_if")

_AT_WORK = 4  # calls that are worked on at the same time; others wait
_WAIT = 60.0  # seconds that one waits at most

T = TypeVar("T")


def _up_to(most: int, *, least: int = 1, what: str = "How many") -> Any:
    return Field(ge=least, le=most, description=f"{what}: {least} to {most:,}.")


Count = Annotated[int, _up_to(limits.MOST_ANSWERS)]
FewNames = Annotated[int, _up_to(limits.MOST_NAMES)]
FewRules = Annotated[int, _up_to(limits.MOST_RULES)]
FewReasons = Annotated[int, _up_to(limits.MOST_REASONS, least=0, what="Rules that speak for each new answer")]
Reasons = Annotated[int, _up_to(limits.MOST_REASONS, what="How many rules")]
PageSize = Annotated[int, _up_to(limits.MOST_FACTS, what="Facts of a page")]
Seconds = Annotated[
    float, Field(gt=0, le=limits.MOST_SECONDS, description=f"Stop with the best found: at most {limits.MOST_SECONDS:g} s.")
]
Text = Annotated[str, Field(max_length=limits.MOST_TEXT)]
NewOnly = Annotated[bool, Field(description="Leave out what is known or follows from it.")]


def server_of(run: Run, name: str) -> MCPServer:
    """Return a server with a tool for each thing that can be asked of a run, and a prompt that says how to use them."""
    server = StdioServer(
        "relatum", title=f"relatum: {visible(name)}", instructions=GUIDE, version=__version__, log_level="WARNING"
    )
    tools = _Tools(run)
    annotations = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in TOOLS:
        title = tool.replace("_", " ").capitalize()
        server.add_tool(getattr(tools, tool), name=tool, title=title, annotations=annotations, structured_output=True)

    @server.prompt(name="plan", title="Plan with a run", description="How to answer a goal step by step with these tools.")
    def plan(goal: str) -> str:
        return f"{GUIDE}\n\nThe relations are:\n{_relations(run)}\n\nThe goal: {goal}"

    return server


class _Tools:
    """The tools of one run; what they say of themselves is what a planner reads."""

    def __init__(self, run: Run) -> None:
        self._run = run
        run.later = run.later or Later()
        # Who waits takes no thread: reading and writing need some.
        self._free, self._threads = anyio.Semaphore(_AT_WORK), anyio.CapacityLimiter(_AT_WORK)

    async def schema(self) -> RootModel[overview.RunSchema]:
        """Relations with their columns, number of facts, an example and a question to ask. Call this first."""
        return await self._answer(lambda: overview.schema(self._run))

    async def find_entity(self, text: Text, k: FewNames = 10) -> RootModel[names.FoundEntities]:
        """Entities by a part of their name or label, or a similar spelling, and the columns they stand in."""
        return await self._answer(lambda: names.find(self._run, text, k))

    async def facts_of(
        self,
        entity: Text | None = None,
        relation: Text | None = None,
        role: Text | None = None,
        after: Text | None = None,
        limit: PageSize = 50,
    ) -> RootModel[facts.FactPage]:
        """Known facts of an entity, of a relation, of an entity at a role of a relation, or all; page by page.

        `next` is the token to give as `after` for the next page; it is null on the last one.
        """
        return await self._answer(lambda: facts.facts_of(self._run, entity, relation, role, after=after, limit=limit))

    async def complete(
        self, question: Text, k: Count = 10, new_only: NewOnly = False, reasons: FewReasons = 0, seconds: Seconds = 5.0
    ) -> RootModel[answers.QuestionAnswers]:
        """Answers to a fact with gaps, such as `sold(drew, ?, book)`: up to k that are known, then up to k predicted ones.

        By role, `sold(seller=drew, buyer=?)`, roles that are not named may be anything. Each answer says whether it is
        known, and how likely it is.
        """
        return await self._answer(
            lambda: answers.complete(self._run, question, k, new_only=new_only, reasons=reasons, seconds=seconds),
        )

    async def score(self, fact: Text) -> RootModel[answers.ScoredFact]:
        """How likely a whole fact is, such as `sold(drew, alex, book)`, and whether it is known."""
        return await self._answer(lambda: answers.score(self._run, fact))

    async def query(
        self, text: Text, k: Count = 10, new_only: NewOnly = False, seconds: Seconds = 5.0
    ) -> RootModel[queries.QueryAnswers]:
        """Rows that answer a query with joins, best first, each with the facts it rests on (its witness).

        SQL: `SELECT s.buyer FROM sold s JOIN likes l ON s.buyer = l.person WHERE l.thing = 'tea' AND NOT known`. Algebra:
        `project[buyer](select[item = tea](sold))`, join[2 = 0](a, b), union, difference, intersection. It only reads:
        CREATE VIEW is refused. `proven` says that there is surely no better row; `bound` is `at least` where the search
        was stopped early.
        """
        return await self._answer(lambda: queries.query(self._run, text, k, new_only=new_only, seconds=seconds))

    async def explain(self, fact: Text, k: Reasons = 5) -> RootModel[answers.ExplainedFact]:
        """What speaks for a fact and what against it: rules with the facts they rest on, objections, similar facts."""
        return await self._answer(lambda: answers.explain(self._run, fact, k))

    async def rules(self, relation: Text | None = None, k: FewRules = 20) -> RootModel[rules.RulesView]:
        """Rules that conclude a relation, or any: soft ones with their confidence, and exact ones between relations."""
        return await self._answer(lambda: rules.rules(self._run, relation, k))

    async def what_if(
        self,
        text: Text,
        facts: Annotated[
            list[Text], Field(max_length=limits.MOST_ASSUMED, description="Facts such as sold(drew, alex, book).")
        ] = [],  # noqa: B006  # it is never changed, and the schema shows it
        definitions: Annotated[
            dict[str, Text],
            Field(max_length=limits.MOST_DEFINITIONS, description="Expressions or SQL by the name of a new relation."),
        ] = {},  # noqa: B006
        k: Count = 10,
        new_only: NewOnly = False,
        seconds: Seconds = 5.0,
    ) -> RootModel[what_if.WhatIf]:
        """Answers to a question or query if the given facts were true and relations defined; for this call only.

        `before` has the answers as the run is, `after` those with what was assumed. Facts name relations and entities that
        the run knows.
        """
        return await self._answer(
            lambda: what_if.what_if(self._run, text, facts, definitions, k, new_only=new_only, seconds=seconds),
        )

    async def _answer(self, work_out: Callable[[], T]) -> RootModel[T]:
        """Return a resource as its model; a mistake of the caller is one sentence that says what to do, and its code."""

        def timed() -> T:
            with Deadline(limits.MOST_SECONDS):
                return work_out()

        try:
            with anyio.fail_after(_WAIT):
                await self._free.acquire()
        except TimeoutError:
            raise ToolError("the server is at work for others; try again in a moment [busy]") from None
        try:
            found, model = await to_thread.run_sync(timed, limiter=self._threads), cast(Any, RootModel)
        except RelatumError as error:
            raise ToolError(f"{visible(str(error))} [{error.code}]") from None
        finally:
            self._free.release()
        return cast(RootModel[T], model[type(found)](found))  # its schema is that of the dataclass


def _relations(run: Run) -> str:
    rows: list[Any] = list(overview.schema(run).relations[:100])
    return "\n".join(f"- {one.name}({', '.join(column.role for column in one.columns)}), {one.facts} facts" for one in rows)
