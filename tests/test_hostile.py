"""Arguments that nobody should pass, and plans that travel: one clear error each, never a crash."""

import copy
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import imgops

X = np.arange(20.0).reshape(4, 5)
PLAN = imgops.ResamplePlan((4, 5), (8, 8))


class Unwilling:
    def __array__(self, *_args, **_options):
        raise OverflowError("no")


class UnwillingTensor:
    def __dlpack__(self, **_options):
        raise BufferError("not on the CPU")


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ValueError, lambda: imgops.resample(np.float32(3), ())),
        (ValueError, lambda: imgops.resample(np.float32(3), (), mode="nearest")),
        (ValueError, lambda: imgops.resample(X, [])),
        (ValueError, lambda: imgops.resample(X, scale=())),
        (ValueError, lambda: imgops.resample_shape((4, 5), scale=[])),
        (TypeError, lambda: imgops.resample(X, [[2], [3, 4]])),
        (TypeError, lambda: imgops.resample(X, scale=[[2], [3, 4]])),
        (ValueError, lambda: imgops.depth_to_space(X[None], 10**5000)),
        (ValueError, lambda: imgops.resample(X, scale=Fraction(1, 10**5000))),
        (ValueError, lambda: imgops.resample(X, scale=-(10**5000))),
        (TypeError, lambda: imgops.resample(X, (2, 2), mode="nearest", dtype="(2,3)f4")),
        (TypeError, lambda: imgops.resample(X, (2, 2), dtype=",")),
        (TypeError, lambda: imgops.resample(X, (2, 2), dtype={"names": ["a"]})),
        (TypeError, lambda: imgops.resample(np.array(["a"]), 1, mode="nearest", dtype="f4")),
        (TypeError, lambda: imgops.resample(X, scale=np.timedelta64(3, "s"))),
        (TypeError, lambda: imgops.resample(X.astype(complex), (2, 2), dtype="f4")),
        (TypeError, lambda: imgops.resample(Unwilling(), 2)),
        (TypeError, lambda: imgops.resample(UnwillingTensor(), 2)),
        (MemoryError, lambda: imgops.resample(np.zeros((0, 4)), 2**62, axes=1)),
        (MemoryError, lambda: imgops.depth_to_space(np.zeros((1, 1, 0)), 2**31 - 1)),
        (MemoryError, lambda: imgops.resample(np.zeros(4), 10**15)),
        (ValueError, lambda: imgops.ResamplePlan((10**30,), 2)),
        (ValueError, lambda: imgops.ResamplePlan((2**62, 4), 2, axes=1)),
        (TypeError, lambda: PLAN.window((slice(np.array([1, 2])), slice(None)))),
        (TypeError, lambda: PLAN.window((slice(True), slice(None)))),
    ],
)
def test_one_error_in_three_parts(kind, call):
    with pytest.raises(kind, match=r"^[a-zA-Z_.]+: [^;]+; .+; .+"):
        call()


def test_the_gradient_names_its_own_argument():
    with pytest.raises(ValueError, match="input_size must have one entry"):
        imgops.resample_grad(X, (2, 2, 2))


@pytest.mark.parametrize("convention", imgops.conventions())
def test_plans_travel(convention):
    if convention == "tf_crop_and_resize":
        convention = imgops.get_convention(convention).with_roi(0.1, 0.9)
        modes = ("linear",)
    else:
        modes = imgops.get_convention(convention).modes
    for mode in modes:
        plan = imgops.ResamplePlan((4, 5), (8, 3), mode=mode, convention=convention)
        expected = plan(X)
        window = plan.window((slice(1, 4), slice(0, 2)))
        travellers = [copy.copy, copy.deepcopy]
        if isinstance(convention, str):
            travellers.append(lambda plan: pickle.loads(pickle.dumps(plan)))
        for travel in travellers:
            assert travel(plan)(X).tobytes() == expected.tobytes()
            region = plan.input_region((slice(1, 4), slice(0, 2)))
            assert travel(window)(X[region]).tobytes() == expected[1:4, :2].tobytes()


def test_a_filter_as_wide_as_the_axis_stays_small_in_memory():
    """Outputs that each weigh every input: a table of gigabytes, made in parts of megabytes."""
    n = 4096
    plan = imgops.ResamplePlan((n,), n, scale=Fraction(1, n), antialias=True)
    x = np.ones(n, "f4")
    tracemalloc.start()
    result = plan(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(result, 1, rtol=1e-5)
    assert peak < 100e6
