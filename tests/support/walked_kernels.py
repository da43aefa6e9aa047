"""Calls every kernel with nothing, with one, and with sizes around a tile; run by itself, with bounds checked.

Each walk names the kernels that it calls. What is called by nobody is listed, and so is what was named but never compiled.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator

import numpy as np
import reference_kernels as reference
from kernels_known import bonus_of
from numba.core.dispatcher import Dispatcher

from relatum import Hypergraph, RelationSchema, Schema, Vocabulary, kernels
from relatum.data.hypergraph import Block
from relatum.evidence.facts import FactStore
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule
from relatum.kernels import (
    answer_loss,
    byte_words,
    compact_side,
    evidence,
    field_scan,
    filters,
    jit,
    loss_per_fact,
    loss_shared,
    mean_log_odds,
    nalp_scores,
    name_order,
    name_table,
    neighbours,
    parallel,
    qualifier_scores,
    question_loss,
    radix_sort,
    ranking,
    rows,
    soft_rules,
    windowed_sigmoid,
    windowed_sigmoid_loops,
    windows,
)
from relatum.kernels.jit import TILE
from relatum.kernels.ranking import count_rows, first_at_least, insert, top_rows
from relatum.tables import mysql_packets

SIZES = (0, 1, TILE - 1, TILE, TILE + 1)
QUERIES = (0, 1, 3)
PLAIN = ("jit", "kernel_cache", "parallel")  # take no arrays

Walk = Callable[[], None]
WALKS: dict[str, list[Walk]] = {}


def walks(*functions: Callable[..., object]) -> Callable[[Walk], Walk]:
    def note(walk: Walk) -> Walk:
        for function in functions:
            WALKS.setdefault(f"{function.__module__}.{function.__name__}", []).append(walk)
        return walk

    return note


def drawn(*shape: int, spread: float = 1.0) -> np.ndarray:
    return (spread * np.random.default_rng(sum(shape)).normal(size=shape)).astype(np.float32)


def all_known(queries: int, candidates: int) -> Iterator[tuple[filters.Excluded, list[np.ndarray]]]:
    """Yield what can be known of each query: nothing, all of the candidates, or the last."""
    for places in ([], range(candidates), range(max(0, candidates - 1), candidates)):
        lists = [np.array(places, np.int64)] * queries
        pairs = [np.repeat(np.arange(queries), len(places)), np.tile(np.array(places, np.int64), queries)]
        yield filters.excluded_pairs(*pairs, queries), lists


def numbers(candidates: int) -> set[int]:
    return {1, max(1, candidates - 1), max(1, candidates), candidates + 3, ranking.FEW, ranking.FEW + 1}


def check_top(found: tuple[np.ndarray, np.ndarray], scores: np.ndarray, k: int, lists: list[np.ndarray]) -> None:
    ids, best = found
    assert ids.shape == best.shape == (len(scores), k)
    for row, expected in enumerate(reference.top(scores, k, lists)):
        assert ids[row].tolist() == expected.tolist() + [-1] * (k - len(expected))
        assert best[row].tolist() == scores[row, expected].tolist() + [-np.inf] * (k - len(expected))


@walks(filters.excluded_pairs, filters.excluded_part, filters.nothing_excluded, filters.bonus_part, filters.no_bonus)
def know() -> None:
    for queries, candidates in itertools.product(QUERIES, (0, 1, 5)):
        assert not len(filters.nothing_excluded(queries).pool)
        assert not len(filters.no_bonus(queries).values)
        bonus, more = bonus_of(np.random.default_rng(0), queries, candidates)
        assert filters.bonus_part(bonus, slice(1, 9)).counts.sum() >= np.count_nonzero(more[1:9])
        for whole, lists in all_known(queries, candidates):
            assert len(filters.excluded_part(whole, slice(1, 9)).counts) == len(lists[1:9])


@walks(ranking.top, ranking.check_k, top_rows, first_at_least, insert)
def pick() -> None:
    for queries, candidates in itertools.product(QUERIES, SIZES):
        scores = drawn(queries, candidates).round(1)
        for excluded, lists in all_known(queries, candidates):
            for k in numbers(candidates):
                check_top(ranking.top(scores, k, excluded), scores, k, lists)
            none = np.empty((queries, 0), np.float32), np.empty((queries, 0), np.int64)
            top_rows(scores, excluded.pool, excluded.starts, excluded.counts, 0, queries, *none)


@walks(ranking.count_better, count_rows, ranking.add_bonus, ranking.add_bonus_rows)
def count() -> None:
    for queries, candidates in [(0, 0), *itertools.product(QUERIES, SIZES[1:])]:
        scores, targets = drawn(queries, candidates).round(1), np.full(queries, candidates - 1)
        for excluded, lists in all_known(queries, candidates):
            found = ranking.count_better(scores, targets, excluded)
            assert np.array_equal(found, reference.count_better(scores, targets, lists))
            bonus, more = bonus_of(np.random.default_rng(0), queries, candidates)
            raised = scores.copy()
            ranking.add_bonus(raised, bonus)
            assert np.array_equal(raised, scores + more)


@walks(
    windowed_sigmoid.plan,
    windowed_sigmoid.plan_between,
    windowed_sigmoid.extremes,
    windowed_sigmoid.target_sums,
    windowed_sigmoid.count_above,
    windowed_sigmoid.forward,
    windowed_sigmoid.backward,
    windowed_sigmoid.count_better,
    windowed_sigmoid.top,
    windowed_sigmoid_loops.forward,
    windowed_sigmoid_loops.backward,
    windowed_sigmoid_loops.target_scores,
    windowed_sigmoid_loops.count,
    windowed_sigmoid_loops.add_bonus,
    windowed_sigmoid_loops.add_bonus_of_targets,
    windowed_sigmoid_loops.top,
    windowed_sigmoid_loops.extremes,
    windowed_sigmoid_loops.score_tile,
)
def sum_sigmoids() -> None:
    # Values near 0, and far apart: windows that share a division, that have one of their own, and that have none.
    sides = itertools.product(
        QUERIES, (*SIZES, 4 * TILE * parallel.PARTS + 1), (0, 1, 2, 7), (1.0, 8.0, 40.0), (False, True)
    )
    for queries, candidates, width, spread, tanh in sides:
        if candidates > TILE + 1 and (queries, width) != (1, 7):
            continue
        a, c = drawn(queries, width), drawn(candidates, width, spread=spread)
        plan = windowed_sigmoid.plan(c, tanh=tanh)
        sums = windowed_sigmoid.forward(plan, a, c)
        assert np.allclose(sums, reference.sigma_sums(a.astype(np.float64), c, tanh), atol=1e-4)
        of_queries, of_candidates = windowed_sigmoid.backward(plan, a, c, sums)
        assert (of_queries.shape, of_candidates.shape) == (a.shape, c.shape)
        for excluded, lists in all_known(queries, candidates):
            for k in numbers(candidates):
                check_top(windowed_sigmoid.top(plan, a, c, k, excluded), sums, k, lists)
            start = (*plan.arguments(c), plan.offset(), plan.query_side(a), excluded.pool, excluded.starts, excluded.counts)
            bonus, more = bonus_of(np.random.default_rng(0), queries, candidates)
            none = np.empty((queries, 0), np.float32), np.empty((queries, 0), np.int64)
            windowed_sigmoid_loops.top(*start, tuple(bonus), 0, -(-candidates // TILE), *none)
            if candidates or not queries:
                targets = np.full(queries, candidates - 1)
                found = windowed_sigmoid.count_better(plan, a, c, targets, excluded)
                assert np.array_equal(found, reference.count_better(sums, targets, lists))
                bars = windowed_sigmoid.target_sums(plan, a, c, targets)  # of targets that are elsewhere
                better, _ = windowed_sigmoid.count_above(plan, a, c, bars, np.full(queries, -1), excluded)
                assert np.array_equal(better, found[0])
                if not len(excluded.pool):
                    found = windowed_sigmoid.count_better(plan, a, c, targets, excluded, bonus)
                    assert np.array_equal(found, reference.count_better(sums + more, targets, lists))


@walks(evidence.count_right)
def hear_evidence() -> None:
    for queries, candidates in itertools.product(QUERIES, (0, 1, 5)):
        for found, lists in all_known(queries, candidates):
            answers = np.full(queries, max(0, candidates - 1), np.int32)
            for own in (answers, np.full(queries, -1, np.int32)):
                right, named = evidence.count_right(found, answers, filters.nothing_excluded(queries), own)
                assert right.sum() <= named.sum() <= sum(map(len, lists))


@walks(compact_side.compact, compact_side.top)
def pack_candidates() -> None:
    for queries, candidates, width in itertools.product(QUERIES, (*SIZES, 16 * TILE + 1), (0, 1, 2, 7)):
        a, c = drawn(queries, width), drawn(candidates, width)
        side = compact_side.compact(c)
        assert (side is None) == (not candidates or not width)
        if side is not None:
            sums = windowed_sigmoid.forward(side.plan, a, c)
            for excluded, lists in all_known(queries, candidates):
                for k in (1, candidates, candidates + 3):
                    check_top(compact_side.top(side, c.__getitem__, a, k, excluded, None), sums, k, lists)


@walks(soft_rules.fire)
def fire_rules() -> None:
    for size, facts in itertools.product((1, 5), (0, 1, 30)):
        values = np.random.default_rng(facts).integers(0, size, (2, facts)).astype(np.int32)
        graph = Hypergraph(Vocabulary([f"e{one}" for one in range(size)]), Schema([RelationSchema("r", 2)]), [])
        if facts:
            graph = Hypergraph(graph.entities, graph.schema, [Block(np.zeros(facts, np.int32), values)])
        store = FactStore(graph)
        rules = [
            SoftRule(0, 1, (Atom(0, (1, 0)),), 1),
            SoftRule(0, 1, (Atom(0, (0, ANY)),), 0),
            SoftRule(0, 1, (Atom(0, (0, JOINED)), Atom(0, (JOINED, 1))), 1),
        ]
        for count, widest in itertools.product(QUERIES, (1, 300)):
            questions = np.array([range(-1, count - 1), [0] * count], np.int32).reshape(2, count)
            for some in (rules, []):
                named = soft_rules.fire(store.program(some), store.pool.arrays, questions, size, 1, widest, [])
                assert len({len(one) for one in named}) == 1


@walks(evidence.count_shares)
def count_shares() -> None:
    for queries, candidates in itertools.product(QUERIES, (0, 1, 5)):
        for found, lists in all_known(queries, candidates):
            answers = np.full(queries, max(0, candidates - 1), np.int32)
            nothing = filters.nothing_excluded(queries)
            own, total = evidence.count_shares(found, answers, nothing, np.full(queries, -1, np.int32))
            assert total.tolist() == [len(each) for each in lists]
            rest, _ = evidence.count_shares(found, answers, found, answers)
            assert not rest.any()
            assert own.max(initial=0) <= 1


@walks(neighbours.neighbour_shares)
def hear_neighbours() -> None:
    # Everybody has everything, one or nothing; one answer has more holders than are looked at, and others have more
    # answers together than steps are made.
    sides = [(0, 0), (1, 1), (3, 5), (neighbours.HOLDERS + 1, 1), (3, neighbours.STEPS // 2 + 1)]
    for (users, items), share in itertools.product(sides, (0, 1, 2)):
        has = np.zeros((users, items), bool)
        has[:, : items if share == 2 else share] = True
        starts = [np.concatenate([[0], np.cumsum(table.sum(1))]).astype(np.int64) for table in (has, has.T)]
        listed = [np.nonzero(table)[1].astype(np.int64) for table in (has, has.T)]
        links = neighbours.Links(starts[0], listed[0], starts[1], listed[1])
        for left_out in (-1, 0, items - 1):
            given = np.unique([-1, 0, users - 1][: 3 if users else 1])
            rows, answers, shares_of = neighbours.neighbour_shares(links, given, np.full(len(given), left_out), 1)
            assert len(rows) == len(answers) == len(shares_of)
            assert ((shares_of > 0) & (shares_of <= 1)).all()


@walks(
    nalp_scores.pack,
    nalp_scores.forward,
    nalp_scores.backward,
    nalp_scores.forward_tiles,
    nalp_scores.backward_tiles,
    qualifier_scores.in_tiles,
    qualifier_scores.pack_tiles,
)
def take_minima() -> None:
    for queries, candidates, hidden in itertools.product(QUERIES, SIZES, (0, 1, 5)):
        q, c, bias = drawn(queries, 2 * hidden), drawn(candidates, 2 * hidden), drawn(hidden)
        packed = nalp_scores.pack(c)
        scores = nalp_scores.forward(q, packed, candidates, bias, bias, 0.5)
        assert np.allclose(scores, reference.minimum_scores(q, c, bias, bias, 0.5), atol=1e-4)
        gradients = nalp_scores.backward(q, packed, candidates, bias, bias, scores)
        assert [one.shape for one in gradients] == [q.shape, c.shape, bias.shape, bias.shape]


@walks(
    qualifier_scores.pack,
    qualifier_scores.forward,
    qualifier_scores.backward,
    qualifier_scores.forward_tiles,
    qualifier_scores.backward_tiles,
)
def take_minima_of_sums() -> None:
    for queries, candidates, hidden, halves in itertools.product(QUERIES, SIZES, (0, 1, 5), (1, 2)):
        q, c, weights = drawn(queries, 2 * hidden), drawn(candidates, halves * hidden), drawn(hidden)
        packed = qualifier_scores.pack(c)
        sums = qualifier_scores.forward(q, packed, candidates, weights)
        assert np.allclose(sums, reference.qualifier_scores(q, c, weights), atol=1e-4)
        gradients = qualifier_scores.backward(q, packed, candidates, weights, sums)
        assert [one.shape for one in gradients] == [q.shape, c.shape, weights.shape]


@walks(mean_log_odds.mean_log_odds, mean_log_odds.odds_tiles)
def mean_odds() -> None:
    for count, sloped in itertools.product((*SIZES, 70 * TILE + 1), (False, True)):
        left, right = drawn(count, 1), drawn(count, 1)[::-1].copy()
        odds, *slopes = mean_log_odds.mean_log_odds(left, right, 0.3, sloped=sloped)
        assert np.allclose(odds, reference.mean_log_odds(left, right, 0.3), atol=1e-4)
        assert [one.shape for one in slopes] == [left.shape if sloped else (0,)] * 2


@walks(windows.window_sums, windows.window_gradients, windows.sum_row, windows.spread_row)
def sum_windows() -> None:
    for count, groups, width, window in itertools.product((0, 1, 2, 2050), (1, 2), (1, 5), (1, 2, 3)):
        if count % groups:
            continue
        values, weights = drawn(count, width * window), drawn(groups, width * window)
        sums = windows.window_sums(values, weights, window)
        expected = values * np.repeat(weights, count // groups, axis=0)
        assert np.allclose(sums, expected.reshape(count, width, window).sum(-1), atol=1e-4)
        gradients = windows.window_gradients(values, weights, window, sums)
        assert [one.shape for one in gradients] == [values.shape, weights.shape]
    none = np.empty((0, 4), np.float32)
    assert windows.window_sums(none, none, 2).shape == (0, 2)


@walks(jit.exponentials)
def exponentiate() -> None:
    for count in SIZES:
        values, expected = drawn(count), np.exp(drawn(count))
        jit.exponentials(values, np.empty(count, np.int32))
        assert np.allclose(values, expected)


@walks(rows.adagrad)
def step() -> None:
    for count, width, columns in itertools.product((0, 1, 600), (0, 1, 5, 16), (None, 0, 1, 5, 8, 16)):
        if columns is not None and columns > width:
            continue
        table, history = drawn(count + 1, width), np.abs(drawn(count + 1, width))
        chosen = None if columns is None else np.arange(width)[width - columns :]
        gradient = drawn(count, width if columns is None else columns)
        rows.adagrad(table, history, np.arange(count), gradient, 0.1, columns=chosen)
        rows.adagrad(table, history, np.arange(count), gradient, 0.1, columns=chosen, among=(1, count + 1))
        assert np.isfinite(table).all()


@walks(rows.block, rows.gather, rows.runs_of)
def cut() -> None:
    table = drawn(4, 18)
    for chosen, columns in itertools.product(
        ([], [3], [3, 0, 3]), ([], [5], [0, 5], range(10, 18), [*range(8), *range(10, 18)])
    ):
        found = rows.block(table, np.array(chosen, np.int64), np.array(columns, np.int64))
        assert np.array_equal(found, table[np.ix_(np.array(chosen, np.int64), np.array(columns, np.int64))])


@walks(loss_per_fact.softmax_per_fact)
def lose_against_own() -> None:
    for arity, count, each, width, window in itertools.product((1, 3), (0, 1, 4), (0, 1, 5), (1, 7), (1, 2, 3)):
        sides = drawn(5, width * window), drawn(arity, width * window), drawn(2, width)
        places = np.repeat(np.arange(arity)[:, None], count, axis=1)
        facts, replacements = np.full((arity, count), 4), np.full((arity, count, each), 4)
        loss, *gradients = loss_per_fact.softmax_per_fact(*sides, np.ones(count, np.int64), places, facts, replacements, 1.0)
        assert np.isfinite(loss)
        assert [one.shape for one in gradients] == [one.shape for one in sides]


@walks(loss_shared.softmax_shared, loss_shared.plan_windows, loss_shared.query_sides)
def lose_against_shared() -> None:
    for arity, count, size, width, spread in itertools.product((1, 3), QUERIES, SIZES, (1, 7), (1.0, 9.0)):
        if count and not size:
            continue
        sides = drawn(size, 2 * width, spread=spread), drawn(arity, 2 * width), drawn(width)
        facts = np.full((arity, count), size - 1)
        for hidden, _ in itertools.islice(all_known(count, max(0, size - 1)), 2):
            loss, *gradients = loss_shared.softmax_shared(*sides, facts, [hidden] * arity, 1.0)
            assert np.isfinite(loss)
            assert [one.shape for one in gradients] == [one.shape for one in sides]


@walks(question_loss.question_gradients)
def lose_by_question() -> None:
    for arity, count, size, window, everything in itertools.product((1, 3), (0, 1, 33), SIZES, (1, 2, 3), (False, True)):
        if count and not size:
            continue
        answers, starts = np.tile(np.arange(max(0, size - 2), size, dtype=np.int32), 33), min(2, size) * np.arange(34)
        questions = np.full((33, arity - 1), size - 1, np.int32), answers, starts
        pool = None if everything else np.arange(size)
        for kept, spread, joint in (([0], 1.0, False), ([0, 6], 9.0, True), (range(7), 40.0, False)):
            tables = drawn(size, 7 * window), drawn(arity + 1, 7 * window, spread=spread), drawn(2, 7)
            numbers = np.array(kept), 1.0, (joint, 0.5, 0.1)
            chosen = np.arange(33)[33 - count :]
            found = question_loss.question_gradients(
                tables, (1, 1), arity - 1, questions, chosen, pool, *numbers, mapped=not joint
            )
            width, moved = len(kept) * window, len(found.rows)
            assert np.isfinite(found.loss)
            assert moved <= size
            assert [one.shape for one in found[3:]] == [(moved, width), (arity, width), (len(kept),)]


@walks(answer_loss.answer_slopes, answer_loss.slopes_of)
def slope_of_answers() -> None:
    for count, size, joint in itertools.product(QUERIES, SIZES, (False, True)):
        if count and not size:
            continue
        scores, chosen = drawn(count, size), np.arange(3)[3 - count :]
        for lists in ([np.arange(size)] * 3, [np.array([size - 1])] * 3):
            questions = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
            expected = reference.answer_loss(scores, lists[:count], joint, 0.5, 0.1)
            slopes = scores.copy()
            found = answer_loss.answer_slopes(slopes, np.arange(size), questions, chosen, (joint, 0.5, 0.1))
            assert np.allclose(found, expected[:2], atol=1e-4)
            assert np.allclose(slopes, expected[2], atol=1e-4)


@walks(
    byte_words.new_keys,
    byte_words.control_bytes,
    byte_words.first_byte,
    byte_words.low_bytes,
    byte_words.same_bytes,
    name_table.add_missed,
    name_table.any_blank,
    name_table.find,
    name_table.grow_slots,
    name_table.hash_names,
    name_table.is_blank,
    name_table.look_up,
    name_order.are_ascending,
    name_order.copy_names,
    name_order.name_order,
)
def number_names() -> None:
    for size in (*SIZES, 5000):
        names = [b"%d" % (number * 7 % 4999) for number in range(size)]
        names += [b"m" * 80 + name for name in names[:50]]
        known: dict[bytes, int] = {}
        table = name_table.NameTable()
        assert table.number_all(names).tolist() == [known.setdefault(name, len(known)) for name in names]
        starts = table.starts[: len(table) + 1]
        order = name_order.name_order(table.text, starts)
        text, copied = name_order.copy_names(table.text, starts, order)
        assert text.tobytes() == b"\n".join(sorted(known))
        assert not name_table.any_blank(text, copied)
        if len(known) > 1:
            padded = np.concatenate([text, np.zeros(byte_words.PADDING, np.uint8)])
            assert name_order.are_ascending(padded, copied, 0, len(known))


@walks(field_scan.scan_lines, field_scan.same_arities, field_scan.columns_of)
def scan_fields() -> None:
    kinds = np.array([field_scan.RELATION], np.uint8)
    for size in SIZES[1:]:
        for arities in ([2], [3, 1, 2]):
            lines = [(n % 3, [f"e{n * k % 50}" for k in range(1, 1 + arities[n % len(arities)])]) for n in range(size)]
            relations, entities = name_table.NameTable(), name_table.NameTable()
            text = "".join("\t".join([f"r{number}", *names]) + "\n" for number, names in lines).encode()
            padded = np.frombuffer(text + bytes(byte_words.PADDING), np.uint8)
            found = field_scan.FieldScan(relations, entities).scan(padded, len(text), kinds)
            assert found is not None
            assert field_scan.same_arities(found[0], found[1], np.zeros(3, np.int32))
            pieces = field_scan.columns_of(*found)
            assert sorted(columns.shape[0] for _, columns in pieces) == sorted({len(names) for _, names in lines})
            assert sum(columns.size for _, columns in pieces) == sum(len(names) for _, names in lines)


@walks(mysql_packets.packets_as_csv, mysql_packets.write_rows)
def read_packets() -> None:
    for size in SIZES:
        packets = b"".join(
            bytes([5 + len(str(n)), 0, 0, n % 256, 0xFB, 2]) + b'"b' + bytes([len(str(n))]) + str(n).encode()
            for n in range(size)
        )
        lines = "".join(f',"""b","{n}"\n' for n in range(size)).encode()
        longest = max(map(len, lines.splitlines(keepends=True)), default=0)
        assert mysql_packets.packets_as_csv(packets, 3, 0) == (lines, size, len(packets), longest)


@walks(radix_sort.sorted_order, radix_sort.take)
def sort_rows() -> None:
    for size in (*SIZES, 70_000):
        words = [
            np.random.default_rng(size + n).integers(0, 1 << 40, size).astype(np.uint64) >> np.uint64(9 * n)
            for n in range(2)
        ]
        order = radix_sort.sorted_order(words)
        assert np.array_equal(order, np.lexsort(words[::-1]))
        assert np.array_equal(radix_sort.take(words[1], order), words[1][order])


def main() -> None:
    modules = [importlib.import_module(f"{kernels.__name__}.{one.name}") for one in pkgutil.iter_modules(kernels.__path__)]
    modules.append(mysql_packets)
    every = {f"{module.__name__}.{name}": value for module in modules for name, value in vars(module).items()}
    public = {
        f"{module.__name__}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if module.__name__.rpartition(".")[2] not in PLAIN and not name.startswith("_")
        if (inspect.isfunction(value) or isinstance(value, Dispatcher)) and value.__module__ == module.__name__
    }
    for walk in dict.fromkeys(walk for listed in WALKS.values() for walk in listed):
        walk()
    compiled = {f"{one.__module__}.{one.__name__}": one for one in every.values() if isinstance(one, Dispatcher)}
    never = {name for name, one in compiled.items() if not one.signatures}
    missing = sorted((public - WALKS.keys()) | never)
    sys.exit(f"not walked: {', '.join(missing)}" if missing else 0)


if __name__ == "__main__":
    main()
