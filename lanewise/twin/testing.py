"""cupy.testing on the simulator: NumPy's assertions, which take device arrays and NumPy arrays alike."""

from __future__ import annotations

import numpy as np

from lanewise.twin.creation import asnumpy


def assert_allclose(actual, desired, rtol=1e-7, atol=0, err_msg="", verbose=True) -> None:
    np.testing.assert_allclose(asnumpy(actual), asnumpy(desired), rtol=rtol, atol=atol, err_msg=err_msg, verbose=verbose)


def assert_array_equal(x, y, err_msg="", verbose=True, strides_check=False) -> None:
    np.testing.assert_array_equal(asnumpy(x), asnumpy(y), err_msg=err_msg, verbose=verbose)


def assert_array_almost_equal(x, y, decimal=6, err_msg="", verbose=True) -> None:
    np.testing.assert_array_almost_equal(asnumpy(x), asnumpy(y), decimal=decimal, err_msg=err_msg, verbose=verbose)


def assert_array_less(x, y, err_msg="", verbose=True) -> None:
    np.testing.assert_array_less(asnumpy(x), asnumpy(y), err_msg=err_msg, verbose=verbose)
