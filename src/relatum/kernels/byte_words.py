"""Text eight bytes at a time: loaded from any index, searched for control characters, and hashed with a key.

A word holds the first byte in its lowest bits on every machine. Loading one reads seven bytes past the index, so that arrays
of text end in `PADDING` bytes that mean nothing.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from relatum.kernels.jit import strict_inline

PADDING = 8

_U = np.uint64
_ONES, _HIGH = _U(0x0101010101010101), _U(0x8080808080808080)


def new_keys() -> npt.NDArray[np.uint64]:
    """Return the keys of a hash, drawn afresh: who writes a file cannot know which of its names collide."""
    return np.frombuffer(secrets.token_bytes(24), np.uint64) | _U(1)


# What it makes of a function stands for a few instructions wherever a kernel calls it.
_instruction: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic


@_instruction
def word_at(context: Any, text: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    """Return eight bytes of text uint8[n] from an index on, which need not be a multiple of eight."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.bitcast(builder.gep(array.data, [args[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(text, types.int64), generate


@_instruction
def fold(context: Any, left: Any, right: Any) -> tuple[Any, Callable[..., Any]]:
    """Return both halves of the 128 bits of a product, one laid over the other."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], whole), builder.zext(args[1], whole))
        upper = builder.lshr(product, ir.Constant(whole, 64))
        return builder.xor(builder.trunc(product, half), builder.trunc(upper, half))

    return types.uint64(types.uint64, types.uint64), generate


@_instruction
def reversed_bytes(context: Any, word: Any) -> tuple[Any, Callable[..., Any]]:
    """Return a word with its bytes the other way round: as numbers, such words compare as their bytes do."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bswap(args[0])

    return types.uint64(types.uint64), generate


@_instruction
def _zeros_below(context: Any, word: Any) -> tuple[Any, Callable[..., Any]]:
    """Return how many zeros stand below the lowest one of a word that has a one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@_instruction
def fetch_ahead(context: Any, array: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
    """Ask for the memory of array[index], which is wanted soon; nothing is read, and nothing happens if it is not there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        pointer = builder.bitcast(builder.gep(data, [args[1]]), byte)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@strict_inline
def control_bytes(word):  # type: ignore[no-untyped-def]
    """Return a word with the top bit of each byte below 14 set: NUL, tab, line ends; a few others may be set above one."""
    return (word - _ONES * _U(14)) & ~word & _HIGH


@strict_inline
def first_byte(marks):  # type: ignore[no-untyped-def]
    """Return which byte of a word, from 0, is the first to have its top bit set; at least one has."""
    return _zeros_below(marks) >> _U(3)


@strict_inline
def low_bytes(word, count):  # type: ignore[no-untyped-def]
    """Return the first `count` bytes of a word, at most 7, and zeros above."""
    return word & ((_U(1) << (_U(count) << _U(3))) - _U(1))


@strict_inline
def same_bytes(left, i, right, j, length):  # type: ignore[no-untyped-def]
    """Return whether left[i:i + length] equals right[j:j + length]; both are padded."""
    done = np.int64(0)
    while length - done >= 8:
        if word_at(left, i + done) != word_at(right, j + done):
            return False
        done += 8
    rest = length - done
    return rest == 0 or low_bytes(word_at(left, i + done) ^ word_at(right, j + done), rest) == 0
