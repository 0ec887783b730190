"""The shop with kept traces and days: 30 fast and 10 slow traces, 3 and 4 of them kept."""

from __future__ import annotations

import pyarrow as pa

from tests.report.conftest import drawn, table

Marts = dict[str, pa.Table]

# Per request, in ms, on both days:   first   second
#   shop::buy                           2.4     3.33
#     cart::get                         3.6
#       db::read                        8       13.3
#     price::quote                      4
# mean latency                         18       16.7
DRAWINGS = {
    "groups": """
        kind  label       traces  latency_us
        day   2026-01-02  15      250000
        day   2026-01-01  25      450000
        """,
    "group_paths": """
        kind  label       path_id               traces  exclusive_us
        day   2026-01-01  11                    25      60000
        day   2026-01-01  12                    25      90000
        day   2026-01-01  -9223372036854775803  25      200000
        day   2026-01-01  14                    5       100000
        day   2026-01-02  11                    15      50000
        day   2026-01-02  -9223372036854775803  15      200000
        """,
}
_DAYS_US = 1_767_225_600_000_000, 1_767_312_000_000_000
# tree, band, day and latency; slow traces take 50 ms with price::quote, 30 ms without it
KEPT = (
    (1, 0, 0, 10_000),
    (2, 0, 0, 10_000),
    (3, 0, 1, 10_000),
    (4, 1, 0, 30_000),
    (5, 1, 0, 50_000),
    (6, 1, 1, 30_000),
    (7, 1, 1, 50_000),
)
FAST = ((11, 2_000), (12, 3_000), (-9223372036854775803, 5_000))
SLOW = ((11, 5_000), (-9223372036854775803, 25_000))
QUOTE = (14, 20_000)


def with_changes(shop: Marts) -> Marts:
    """The marts of the shop with what is compared in them."""
    cells = [(tree, cell) for tree in (1, 2, 3) for cell in FAST]
    cells += [(tree, cell) for tree in (4, 5, 6, 7) for cell in SLOW]
    cells += [(tree, QUOTE) for tree in (5, 7)]
    lines = [f"{tree} {path} h {us} {us}" for tree, (path, us) in cells]
    head = "tree_id path_id host exclusive_us inclusive_us"
    kept = [
        {
            "tree_id": tree,
            "band": band,
            "trace_id": f"t{tree}",
            "start_us": _DAYS_US[day],
            "latency_us": latency,
            "error": False,
        }
        for tree, band, day, latency in KEPT
    ]
    drawings = {name: drawn(name, text) for name, text in DRAWINGS.items()}
    drawings["kept"] = table("kept", *({"endpoint_id": 1, **row} for row in kept))
    return shop | drawings | {"kept_paths": drawn("kept_paths", "\n".join([head, *lines]))}
