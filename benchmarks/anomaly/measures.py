"""What is counted of decisions and scores."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.anomaly.services import Flags, Floats


def auc(scores: Floats, abnormal: Flags) -> float:
    """Chance that an abnormal trace scores above a normal one, ties by half; NaN without both."""
    from scipy.stats import rankdata

    wrong, right = int(abnormal.sum()), int((~abnormal).sum())
    if not wrong or not right:
        return math.nan
    ranks = rankdata(scores)
    return float((ranks[abnormal].sum() - wrong * (wrong + 1) / 2) / (wrong * right))


def precision(called: Flags, abnormal: Flags) -> float:
    """TP / (TP + FP): of those called abnormal, how many are; NaN when none is called so."""
    return float(abnormal[called].mean()) if called.any() else math.nan


def recall(called: Flags, abnormal: Flags) -> float:
    """TP / (TP + FN): of the abnormal, how many are called so."""
    return float(called[abnormal].mean()) if abnormal.any() else math.nan


def false_positive_rate(called: Flags, abnormal: Flags) -> float:
    """FP / (FP + TN): of the normal, how many are called abnormal."""
    return float(called[~abnormal].mean()) if (~abnormal).any() else math.nan


def mean(values: list[float]) -> float:
    """Mean of those that are numbers; NaN when none is."""
    numbers = [value for value in values if not math.isnan(value)]
    return float(np.mean(numbers)) if numbers else math.nan
