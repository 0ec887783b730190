"""Errors travel: from worker processes and from executors to whoever waits for them."""

from __future__ import annotations

import pickle

import pytest

from crisp.errors import CrispError, InputError, SchemaError


@pytest.mark.parametrize("error", [InputError("a.json: gone"), SchemaError("calls", ["no id"])])
def test_an_error_stays_the_same_on_its_way(error: CrispError) -> None:
    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301  # made here
    assert type(arrived) is type(error)
    assert (str(arrived), vars(arrived)) == (str(error), vars(error))
