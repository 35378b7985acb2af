"""Metric differential privacy by hand: small worlds, computed with the same parts as real designs."""

from core.concepts.budgets import BudgetPair, weigh_budgets
from core.concepts.dice import TwoDice, throw_dice
from core.concepts.exercises import EXERCISES, Exercise, Reply, build_exercise, build_exercises, check_answer
from core.concepts.line import LineComparison, Remapping, compare_line, remap_line
from core.concepts.settings import PRESETS, Preset, Settings
from core.concepts.three_levels import ChannelCheck, check_channel, find_moved, mend, set_entry
from core.concepts.two_points import TwoPoints, compare_points
from core.concepts.worksheet import write_worksheet

__all__ = [
    "EXERCISES",
    "PRESETS",
    "BudgetPair",
    "ChannelCheck",
    "Exercise",
    "LineComparison",
    "Preset",
    "Remapping",
    "Reply",
    "Settings",
    "TwoDice",
    "TwoPoints",
    "build_exercise",
    "build_exercises",
    "check_answer",
    "check_channel",
    "compare_line",
    "compare_points",
    "find_moved",
    "mend",
    "remap_line",
    "set_entry",
    "throw_dice",
    "weigh_budgets",
    "write_worksheet",
]
