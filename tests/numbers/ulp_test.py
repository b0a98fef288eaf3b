"""The short form of ulp.py: a few hundred arguments of each function, and how far it may be from mpmath's value."""

import numpy as np
import ulp
from jobs import environment

LIMIT = 2.0
COMPLEX = ("exp", "log", "sin", "sinh", "cosh", "tanh", "logistic", "pow", "div")
COMPOSED = ("ndtr", "log_ndtr", "ndtri", "logit", "gamma", "i0", "spence", "zeta", "polygamma", "gammainc", "gammaincc", "betaln")
LIMITS = {("pow", "c64"): 1.5, ("tanh", "c128"): 1.5, ("tan", "c128"): 1.5, ("pow", "c128"): 5.0}


def test_few_ulps():
    rows = ulp.table(("f32", "f64"), lambda name: name not in COMPOSED, count=60)
    rows |= ulp.table(("c64",), lambda name: name in COMPLEX, count=60)
    rows |= ulp.table(("c128",), lambda name: name in ("tan", "tanh", "pow"), count=60)
    got = ulp.evaluate({key: operands for key, operands, _ in rows.values()}, environment(1))
    wrong = []
    for case, (key, operands, truth) in rows.items():
        distance = ulp.ulps(got[key], truth, ulp.DTYPES[case[1]])
        if case[1] == "f64" and case[0] in ulp.WITH_ZEROS_BELOW_ZERO:
            distance = np.where(operands[0] > 0, distance, 0)
        i = int(np.argmax(distance))
        if not distance[i] <= LIMITS.get(case, LIMIT):
            wrong.append(f"{case}: {distance[i]:.3g} ulp at {[x[i] for x in operands]}, which gives {got[key][i]!r}")
    assert not wrong, "\n".join(wrong)
