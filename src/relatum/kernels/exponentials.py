"""exp of many numbers at once, in a form that vectorises."""

from __future__ import annotations

import numpy as np

from relatum.kernels.jit import exact_part

__all__ = ["exponentials"]

_F = np.float32


@exact_part
def exponentials(values, bits):  # type: ignore[no-untyped-def]
    """Replace values[n], each within +-87, by their exponentials, to the last two bits; `bits` is int32[n] of scratch.

    A polynomial over [-ln 2 / 2, ln 2 / 2] times a power of two that is put together from its bits.
    """
    power = bits.view(np.float32)
    for i in range(len(values)):
        n = np.floor(values[i] * _F(1.4426950408889634) + _F(0.5))
        bits[i] = (np.int32(n) + np.int32(127)) << np.int32(23)
        # ln 2 is taken in two parts, so that nothing is lost
        r = values[i] - n * _F(0.693145751953125) - n * _F(1.428606765330187e-06)
        p = _F(1.3888889e-3)
        p = p * r + _F(8.3333333e-3)
        p = p * r + _F(4.1666668e-2)
        p = p * r + _F(0.16666667)
        p = p * r + _F(0.5)
        p = p * r + _F(1)
        values[i] = p * r + _F(1)
    for i in range(len(values)):
        values[i] *= power[i]
