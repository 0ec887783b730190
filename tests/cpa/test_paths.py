"""Ids of call paths, which must never change, and sums over them."""

from __future__ import annotations

from hashlib import blake2b

from crisp.options import IngestOptions, PathOptions
from crisp.stable import text_id
from tests.drawing import Analysed, analysed

ALL = (1 << 64) - 1


def text_id_again(*parts: str) -> int:
    """Another implementation: the eight bytes as an unsigned number."""
    digest = blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return sum(byte << (8 * place) for place, byte in enumerate(digest))


def path_id_again(*endpoints: tuple[str, str]) -> int:
    """splitmix64's finaliser over (path above · golden ratio + endpoint), unsigned."""
    path = 0
    for endpoint in endpoints:
        x = (path * 0x9E3779B97F4A7C15 + text_id_again(*endpoint)) & ALL
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & ALL
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & ALL
        path = x ^ (x >> 31)
    return path


def path_id_by_span(found: Analysed) -> dict[str, int]:
    forest = found.planted.forest
    return {forest.span_id(row): path for row, path in enumerate(found.analysis.path_id.tolist())}


SHOP_ID = 306794487358236446
CART_ID = 7958502978599088114
REDIS_ID = -4784266176981696377
SHORT_ID = -5638934941267368188

SHOP = """
shop         0 100 op=checkout
  cart      10  40 op=get
    redis   20  30 op=read
  redis     50  60 op=read id=redis2
  cart      60  90 op=get  id=cart2
"""


def test_path_ids_are_the_same_for_ever() -> None:
    """These numbers are stored in lakes: they must never change."""
    assert path_id_by_span(analysed(SHOP)) == {
        "shop": SHOP_ID,
        "cart": CART_ID,
        "cart2": CART_ID,
        "redis": REDIS_ID,
        "redis2": SHORT_ID,
    }


def test_text_ids_are_the_same_for_ever() -> None:
    """These numbers are stored in lakes: they must never change."""
    assert text_id("shop", "checkout") == -8282876534034656375
    assert text_id("cart", "get") == 6249173397185799145
    assert text_id("") == -5426141060434712860
    assert text_id("ü", "名") == -7694955780779412105


def test_text_ids_tell_where_one_text_ends() -> None:
    assert len({text_id("ab", "c"), text_id("a", "bc"), text_id("abc"), text_id("abc", "")}) == 4


def test_text_ids_are_signed_and_agree_with_another_implementation() -> None:
    for number in range(200):
        assert text_id("a", str(number)) % (1 << 64) == text_id_again("a", str(number))
        assert -(1 << 63) <= text_id("a", str(number)) < 1 << 63


def test_path_ids_agree_with_another_implementation() -> None:
    lines = [
        f"{' ' * depth}s{depth % 5} 0 {100 - depth} id={depth} op=o{depth % 3}"
        for depth in range(60)
    ]
    chain = [(f"s{depth % 5}", f"o{depth % 3}") for depth in range(60)]
    assert {
        int(span): path % (1 << 64)
        for span, path in path_id_by_span(analysed("\n".join(lines))).items()
    } == {depth: path_id_again(*chain[: depth + 1]) for depth in range(60)}


def test_path_id_does_not_depend_on_what_else_is_in_the_batch() -> None:
    other = "x 0 9 op=y\n  shop 1 2 op=checkout\n    cart 1 2 op=get"
    ids = [
        path_id_by_span(analysed(SHOP))["redis"],
        path_id_by_span(analysed(other, SHOP))["redis"],
    ]
    assert ids == [REDIS_ID, REDIS_ID]


def test_path_begins_at_the_analysis_root() -> None:
    cart = IngestOptions(roots="endpoint", service="cart")
    assert path_id_by_span(analysed(SHOP, ingest=cart))["redis"] % (1 << 64) == path_id_again(
        ("cart", "get"), ("redis", "read")
    )


def test_paths_are_summed_by_host() -> None:
    paths = analysed(
        """
        A      0 100 host=a
          B   10  20 host=x id=1
          B   30  50 host=y id=2
          B   60  90 host=x id=3
        """
    )
    rows = paths.analysis.paths
    hosts = [paths.planted.forest.hosts[host] for host in rows.host.tolist()]
    columns = (rows.spans.tolist(), rows.exclusive_us.tolist(), rows.inclusive_us.tolist())
    found = sorted(zip(hosts, *columns, strict=True))
    assert found == [("a", 1, 40000, 100000), ("x", 2, 40000, 40000), ("y", 1, 20000, 20000)]


def longest(drawing: str) -> dict[str, str]:
    """Example span of each call path."""
    found = analysed(drawing)
    forest = found.planted.forest
    return {
        found.endpoint(row): forest.span_id(row) for row in found.analysis.paths.longest.tolist()
    }


def test_example_span_is_the_one_that_holds_the_path_longest() -> None:
    assert longest("A 0 100\n  B 10 20 id=1\n  B 30 50 id=2\n  B 60 75 id=3")["B"] == "2"


def test_example_span_is_judged_by_its_own_time_not_by_what_is_below_it() -> None:
    assert longest("A 0 100\n  B 10 20 id=1\n  B 30 50 id=2\n    C 31 49")["B"] == "1"


def test_example_spans_that_hold_equally_long_are_tied_by_id() -> None:
    assert longest("A 0 100\n  B 10 20 id=2\n  B 30 40 id=1\n  B 50 60 id=3")["B"] == "1"
    assert longest("A 0 100\n  B 10 20 id=1\n  B 30 40 id=2\n  B 50 55 id=0")["B"] == "1"


def test_a_path_has_an_error_when_one_of_its_spans_on_the_path_failed() -> None:
    found = analysed("A 0 100\n  B 10 20 id=1\n  B 30 40 id=2 error\n  C 50 90\n  D 60 80 error")
    names = [found.endpoint(row) for row in found.analysis.paths.longest.tolist()]
    errors = dict(zip(names, found.analysis.paths.error.tolist(), strict=True))
    assert errors == {"A": False, "B": True, "C": False}


def test_rows_are_ordered_by_tree_path_and_host() -> None:
    rows = analysed(SHOP, SHOP, "x 0 9").analysis.paths
    keys = list(zip(rows.tree.tolist(), rows.path_id.tolist(), rows.host.tolist(), strict=True))
    assert keys == sorted(keys)


def test_default_options_are_those_of_policy_crisp() -> None:
    assert PathOptions() == PathOptions(
        async_rule="both", skew="none", overlap_us=1000, overlap_ratio=0.1
    )
