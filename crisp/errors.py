"""The error tree, and the reasons for which a trace is left out.

A bad file or setting is a `CrispError`: one message a person can act on. A bad trace is
ordinary: it is one row of the table ``rejects`` with one of the reasons below.
"""

from __future__ import annotations

from enum import StrEnum


class CrispError(Exception):
    """What a person can put right; the command line shows it as one line and exits 1."""


class ConfigError(CrispError, ValueError):
    """A setting is out of range, unknown, or contradicts another; exits 2."""


class InputError(CrispError):
    """A source does not exist, cannot be opened, or holds no trace at all."""


class FetchError(CrispError):
    """A trace store refuses, is away for too long, or cannot give all traces of a day."""


class DeliveryError(CrispError):
    """A receiver of alerts is away or refuses, and what it did not take is kept for the next run,
    or what it was told is no longer known."""


class LakeError(CrispError):
    """A lake or mart is missing, empty for the asked days, or of another version."""


class SchemaError(CrispError, ValueError):
    """A table does not have the columns its stage was promised."""

    def __init__(self, table: str, problems: list[str]) -> None:
        super().__init__(f"table {table!r}: " + "; ".join(problems))
        self.table = table
        self.problems = problems

    def __reduce__(self) -> tuple[type[SchemaError], tuple[str, list[str]]]:
        """Workers send it to the process that waits for them."""
        return type(self), (self.table, self.problems)


class Reject(StrEnum):
    """Why a document or trace is not analysed (DESIGN section 5)."""

    NOT_JSON = "not-json"
    TRUNCATED = "truncated"
    DAMAGED = "damaged-compression"
    NOT_A_TRACE = "not-a-trace"
    WRONG_TYPE = "wrong-type"
    BAD_TIME = "bad-time"
    NO_SPANS = "no-spans"
    NO_ROOT = "no-root"
    CYCLE = "cycle"
    TOO_LARGE = "too-large"
    DUPLICATE = "duplicate-trace"

    @property
    def meaning(self) -> str:
        """The reason in words, for reports."""
        return _MEANINGS[self]


_MEANINGS = {
    Reject.NOT_JSON: "the document is not valid JSON",
    Reject.TRUNCATED: "the document ends in the middle",
    Reject.DAMAGED: "the compressed data is damaged or cut off",
    Reject.NOT_A_TRACE: "the JSON holds no Jaeger trace (no list of spans)",
    Reject.WRONG_TYPE: "a field that is needed has the wrong type or is missing",
    Reject.BAD_TIME: "a span starts before 1970 or after 2255, lasts less than 0 or over 407 days",
    Reject.NO_SPANS: "the trace has no spans",
    Reject.NO_ROOT: "no span of the trace is an analysis root",
    Reject.CYCLE: "every span is its own ancestor, so there is no root",
    Reject.TOO_LARGE: "the trace has more spans than the limit allows",
    Reject.DUPLICATE: "the same trace was already read from another document",
}
