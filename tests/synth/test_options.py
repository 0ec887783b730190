from __future__ import annotations

from datetime import date

import pytest

from crisp.errors import ConfigError
from crisp.synth import DefectRates, Fault, SynthOptions, parse_fault

DAY = date(2026, 3, 9)


def test_all_problems_of_the_options_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        SynthOptions(
            day=DAY,
            traces=0,
            services=1,
            spans=2.0,
            layout="tar",  # type: ignore[arg-type]  # what a command line may hand over
            defects=DefectRates(orphan=1.5),
            faults=(Fault(kind="slow", entry=30, fraction=0.0),),
        )
    message = str(caught.value)
    for word in ("traces", "services", "spans", "'tar'", "defects.orphan", "fraction", "entry 30"):
        assert word in message


def test_files_cannot_be_counted_where_every_trace_is_a_file() -> None:
    with pytest.raises(ConfigError, match="one file for each trace"):
        SynthOptions(day=DAY, layout="files", files=3)


def test_a_clean_day_has_no_defects_whatever_the_rates() -> None:
    rates = SynthOptions(day=DAY, clean=True, defects=DefectRates(orphan=0.7)).rates
    assert rates.orphan == rates.clock == rates.asynchronous == 0


def test_a_fault_is_read_from_its_text() -> None:
    assert parse_fault("slow:entry=2, factor=3.5,fraction=0.25") == Fault(
        kind="slow", entry=2, factor=3.5, fraction=0.25
    )
    assert parse_fault("retry-storm:attempts=6").attempts == 6
    assert parse_fault("cold-cache") == Fault(kind="cold-cache")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sluggish:entry=1", ["'sluggish'", "slow", "cold-cache"]),
        ("slow:entry=x,speed=2,factor", ["entry", "'x'", "'speed'", "'factor'"]),
        ("slow:factor=1,fraction=2", ["factor", "fraction"]),
        ("slow:factor=nan", ["factor"]),
        ("serialise:factor=2", ["'factor'"]),
        ("retry-storm:attempts=1", ["attempts"]),
        ("slow:entry=1,entry=2", ["twice"]),
    ],
)
def test_a_wrong_fault_text_is_refused_with_every_reason(text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_fault(text)
    assert all(word in str(caught.value) for word in [*words, repr(text)])
