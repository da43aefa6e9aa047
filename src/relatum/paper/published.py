"""What the paper reports: Table 1, REL-ER, nonlinear functions, window sizes and datasets; None where it reports nothing."""

from __future__ import annotations

Hits = tuple[float, float, float, float]  # MRR, Hit@1, Hit@3, Hit@10

TABLE_1: dict[str, dict[str, Hits]] = {
    "jf17k": {
        "m-distmult": (0.463, 0.372, 0.510, 0.634),
        "m-cp": (0.392, 0.303, 0.441, 0.560),
        "m-transh": (0.444, 0.370, 0.475, 0.581),
        "rae": (0.310, 0.219, 0.334, 0.504),
        "nalp": (0.366, 0.290, 0.391, 0.516),
        "getd": (0.151, 0.104, 0.151, 0.258),
        "hsimple": (0.472, 0.378, 0.520, 0.645),
        "hype": (0.494, 0.408, 0.538, 0.656),
        "g-mpnn": (0.501, 0.425, 0.537, 0.660),
        "reale": (0.530, 0.454, 0.563, 0.677),
    },
    "fb-auto": {
        "m-distmult": (0.784, 0.745, 0.815, 0.845),
        "m-cp": (0.752, 0.704, 0.785, 0.837),
        "m-transh": (0.728, 0.727, 0.728, 0.728),
        "getd": (0.367, 0.254, 0.422, 0.601),
        "hsimple": (0.798, 0.766, 0.821, 0.855),
        "hype": (0.804, 0.774, 0.823, 0.856),
        "reale": (0.861, 0.836, 0.877, 0.908),
    },
    "m-fb15k": {
        "m-distmult": (0.705, 0.633, 0.740, 0.844),
        "m-cp": (0.680, 0.605, 0.715, 0.828),
        "m-transh": (0.623, 0.531, 0.669, 0.809),
        "hsimple": (0.730, 0.664, 0.763, 0.859),
        "hype": (0.777, 0.725, 0.800, 0.881),
        "g-mpnn": (0.779, 0.732, 0.805, 0.894),
        "reale": (0.801, 0.755, 0.823, 0.901),
    },
}

_PARTS = ("all", "elementary", "rename", "project", "union", "difference", "1", "2", "3", "4")

REL_ER: dict[str, dict[str, float]] = {
    model: dict(zip(_PARTS, values, strict=True))
    for model, values in {
        "m-transh": (0.387, 0.166, 0.447, 0.652, 0.459, 0.464, 0.531, 0.499, 0.352, 0.03),
        "hype": (0.689, 0.335, 0.877, 0.856, 0.888, 0.894, 0.881, 0.872, 0.897, 0.976),
        "reale": (0.709, 0.336, 0.882, 0.877, 0.932, 0.923, 0.887, 0.950, 0.945, 0.938),
    }.items()
}

REL_ER_FACTS = dict(zip(_PARTS, (5378, 1833, 458, 762, 1676, 649, 2075, 1204, 245, 21), strict=True))  # of its test

SIGMA: dict[str, Hits] = {  # of ReAlE, on JF17K
    "exp": (0.394, 0.311, 0.428, 0.548),
    "tanh": (0.512, 0.430, 0.548, 0.667),
    "sigmoid": (0.530, 0.454, 0.563, 0.677),
}

WINDOWS = (1, 2, 4, 5, 8)  # of ReAlE on JF17K: a figure of which no number is printed, only where it is highest
BEST_WINDOWS = (2, 4)

_COUNTS = ("entities", "relations", "train", "valid", "test", "arity 2", "arity 3", "arity 4", "arity 5", "arity 6")

DATASETS: dict[str, dict[str, int | None]] = {
    name: dict(zip(_COUNTS, counts, strict=True))
    for name, counts in {
        "jf17k": (29177, 327, 77733, None, 24915, 56322, 34550, 9509, 2230, 37),
        "fb-auto": (3410, 8, 6778, 2255, 2180, 3786, 0, 215, 7212, 0),
        "m-fb15k": (10314, 71, 415375, 39348, 38797, 82247, 400027, 26, 11220, 0),
        "rel-er": (None, None, None, None, 5378, None, None, None, None, None),
    }.items()
}
