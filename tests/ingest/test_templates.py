"""Operation names with ids in them (DESIGN rule 5.7)."""

from __future__ import annotations

import pytest

from crisp.errors import ConfigError
from crisp.ingest.templates import UNBOUNDED, templater, unbounded
from crisp.options import IngestOptions, Template
from tests.drawing import analysed


def test_templates_make_names_with_ids_one_endpoint() -> None:
    found = analysed(
        "A 0 9\n  B 1 2 id=1 op=/user/12\n  B 3 4 id=2 op=/user/7\n  B 5 6 id=3 op=/users",
        ingest=IngestOptions(templates=(Template(r"/\d+", "/{id}"),)),
    )
    assert found.call_paths == {
        "A": (1, "6", "9"),
        "A>B:/user/{id}": (2, "2", "2"),
        "A>B:/users": (1, "1", "1"),
    }


def test_templates_decide_which_endpoint_a_selection_means() -> None:
    options = IngestOptions(
        templates=(Template(r"\d+", "{id}"),), roots="endpoint", operation="/user/{id}"
    )
    assert analysed("A 0 9\n  B 1 2 op=/user/12", ingest=options).trees == "B"


def test_rules_apply_in_order_each_to_what_the_one_before_made() -> None:
    apply = templater([Template("a", "b"), Template("b+", "c"), Template(r"(c)(\d)", r"\2\1")])
    assert apply("aab7") == "7c"


def test_without_rules_names_stay() -> None:
    assert templater([])("/user/12") == "/user/12"


@pytest.mark.parametrize(("pattern", "replacement"), [("(", ""), ("a", r"\1"), ("a", r"\g<x>")])
def test_a_broken_rule_is_a_clear_error(pattern: str, replacement: str) -> None:
    with pytest.raises(ConfigError, match="template"):
        Template(pattern, replacement)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param("/user/{}", id="number"),
        pytest.param("/user/{}/cart", id="number inside"),
        pytest.param("GET /a1b2c3d4e5f6a7b8c9d0{:04d}", id="hexadecimal"),
        pytest.param("{:08x}-0000-1111-2222-ffffffffffff", id="uuid"),
    ],
)
def test_names_that_differ_only_in_ids_are_warned_about(shape: str) -> None:
    names = [("shop", shape.format(number)) for number in range(UNBOUNDED)]
    (sentence,) = unbounded(names)
    assert sentence.startswith(f"shop: {UNBOUNDED} operations look like ")
    assert repr(min(name for _, name in names)) in sentence
    assert unbounded(names[1:]) == []


def test_names_are_counted_by_service_and_shape() -> None:
    half = UNBOUNDED // 2
    assert not unbounded(
        [("a", f"/user/{n}") for n in range(half)]
        + [("b", f"/user/{n}") for n in range(half)]
        + [("a", f"/cart/{n}") for n in range(half)]
        + [("a", f"/word{chr(97 + n // 26)}{chr(97 + n % 26)}") for n in range(2 * UNBOUNDED)]
    )


def test_warnings_are_in_order_of_service_and_shape() -> None:
    names = [(service, f"/{n}") for service in "zya" for n in range(UNBOUNDED)]
    assert [sentence[0] for sentence in unbounded(names)] == ["a", "y", "z"]
