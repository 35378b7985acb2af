"""Eight guided exercises: their answers, their typical wrong answers and the replies, all computed."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from core import limits
from core.adequacy import choose
from core.channel import merge_outputs
from core.concepts.dice import epsilon_of, throw_dice
from core.concepts.line import compare_line, line_problem, remap_line
from core.concepts.settings import FACES, STATES, Settings
from core.concepts.three_levels import LEVELS, check_channel
from core.concepts.two_points import compare_points
from core.concepts.words import say
from core.mechanisms.constant import zero_information_loss
from core.metric import dual_exponent, uniform_split

RELATIVE_TOLERANCE: Final = 0.01
"""An answer may be off by this part: three digits read off a picture are enough."""
ABSOLUTE_TOLERANCE: Final = 6e-4
"""Or by this much: the third decimal of a field."""
SHARED_BY: Final = 4
"""Groups that share a budget in the exercise on budgets."""
TAU_DPN: Final = limits.TAU_DPN.default
TAU_DIM: Final = int(limits.TAU_DIM.default)
_CLEARLY, _SAME = "OPT loses clearly less", "Both lose the same"
_CHOICES: Final = {"OPT": "OPT, a channel of its own", "DPN": "DPN, predefined noise"}


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer.

    Parameters
    ----------
    value : float or str
        The answer.
    reply : str
        What was probably thought, and what to think instead.
    """

    value: float | str
    reply: str


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Parameters
    ----------
    key, concept, title : str
        Its name, the concept beside which it stands, and its heading.
    question, hint : str
        What is asked, and the first step.
    answer : float or str
        The right answer, computed.
    reason : str
        Why it is right.
    mistakes : tuple of Mistake
        Typical wrong answers, none equal to the right one.
    options : tuple of str
        What one may choose from; empty where a number is asked.
    """

    key: str
    concept: str
    title: str
    question: str
    hint: str
    answer: float | str
    reason: str
    mistakes: tuple[Mistake, ...]
    options: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The answer as words."""
        return self.answer if isinstance(self.answer, str) else say(self.answer)


@dataclass(frozen=True)
class Reply:
    """What is said to an answer.

    Parameters
    ----------
    right : bool
        Whether the answer is right.
    sentence : str
        What is said.
    """

    right: bool
    sentence: str


def check_answer(exercise: Exercise, given: float | str) -> Reply:
    """Compare an answer with the computed one and, where it is wrong, with the typical wrong ones.

    Parameters
    ----------
    exercise : Exercise
        What was asked.
    given : float or str
        What was answered.
    """
    if _same(given, exercise.answer):
        return Reply(True, f"Right: {exercise.spoken}. {exercise.reason}")
    for mistake in exercise.mistakes:
        if _same(given, mistake.value):
            return Reply(False, mistake.reply)
    return Reply(False, f"Not yet. {exercise.hint}")


def _same(given: float | str, wanted: float | str) -> bool:
    if isinstance(given, str) or isinstance(wanted, str):
        return given == wanted
    return abs(given - wanted) <= max(RELATIVE_TOLERANCE * abs(wanted), ABSOLUTE_TOLERANCE)


def _told_apart(answer: float | str, mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes that are told from the answer and from each other."""
    kept: list[Mistake] = []
    for mistake in mistakes:
        if not any(_same(mistake.value, other) for other in (answer, *(m.value for m in kept))):
            kept.append(mistake)
    return tuple(kept)


def _twice_as_far(settings: Settings) -> Exercise:
    points = compare_points(settings)
    epsilon, distance, exponent = settings.point_epsilon, points.distance, 2 * points.exponent
    answer = math.exp(exponent)
    return Exercise(
        "twice", "points", "Twice as far",
        f"Now let A and B stand {2 * distance} steps apart, twice as far as in the picture, at epsilon "
        f"{say(epsilon)} per step. By which factor may an output be likelier from A than from B, at most?",
        f"The factor is e to the power epsilon times distance; the distance is {2 * distance}.",
        answer,
        f"e^({say(epsilon)} × {2 * distance}) = e^{say(exponent)}: twice the distance squares the factor.",
        _told_apart(answer, (
            Mistake(2 * points.bound, f"You doubled the factor {say(points.bound)}. Distance stands in the exponent: "
                    f"twice the distance squares the factor."),
            Mistake(points.bound, f"That is the factor at {distance} steps. Farther points may be told apart more."),
            Mistake(exponent, f"That is the exponent, epsilon times distance. The factor is e^{say(exponent)}."),
            Mistake(math.exp(epsilon), "That is the factor at one step: the distance is missing."),
        )),
    )  # fmt: skip


def _largest_entry(settings: Settings) -> Exercise:
    check = check_channel(settings)
    epsilon = settings.channel_epsilon
    near, far = check.matrix[1:, 0].tolist()
    steps_near, steps_far = check.distance[0, 1:].tolist()
    by_near, by_far = near * math.exp(epsilon * steps_near), far * math.exp(epsilon * steps_far)
    answer = check.allowed(0, 0)[1]
    a, b, c = LEVELS
    return Exercise(
        "entry", "channel", "As large as it may be",
        f"Leave the rows of {b} and {c} alone: {a} is released with probability {say(near)} when the truth is {b} "
        f"(distance {say(steps_near)}) and {say(far)} when it is {c} (distance {say(steps_far)}). At epsilon "
        f"{say(epsilon)}, how large may its probability be when the truth is {a}?",
        f"{b} and {c} each give a limit: their probability times e^(epsilon × distance).",
        answer,
        f"{b} allows {say(by_near)}, {c} allows {say(by_far)}, and no probability is above 1; the smallest counts.",
        _told_apart(answer, (
            Mistake(by_near, f"You compared with {b} only. {c} allows {say(by_far)}."),
            Mistake(by_far, f"You compared with {c} only. {b} allows {say(by_near)}."),
            Mistake(min(near, far) * math.exp(epsilon), f"The distance is missing: {a} and {c} are {say(steps_far)} "
                    "apart, and the distance multiplies epsilon."),
            Mistake(min(by_near, by_far), "A probability is never above 1."),
        )),
    )  # fmt: skip


def _say_nothing(_settings: Settings) -> Exercise:
    problem = line_problem(0.0, 0.0)
    answer = zero_information_loss(problem.prior, problem.loss)
    at_the_end = float((problem.prior @ problem.loss)[0])
    at_random = float((problem.prior @ problem.loss).mean())
    return Exercise(
        "nothing", "line", "What saying nothing costs",
        f"All {STATES} states are equally likely and the loss is the number of steps. You always release the same "
        "state, whatever the truth. How much do you lose on average, at best?",
        "Choose the state that is closest to all others, then average the steps to it.",
        answer,
        "That is the middle state. A mechanism that loses more than this zero-information line is worse than silence.",
        _told_apart(answer, (
            Mistake(at_the_end, "That is the loss of always releasing an end; the middle is closer to all."),
            Mistake(at_random, "That is the loss of a state drawn at random. A constant in the middle loses less."),
            Mistake(0.0, "A constant reveals nothing, but it is wrong for most records."),
        )),
    )  # fmt: skip


def _does_it_win(settings: Settings) -> Exercise:
    plain = compare_line(settings.line_epsilon, settings.peak, 0.0)
    other = compare_line(settings.line_epsilon, settings.peak, 1.0)
    losses = (say(plain.loss("geometric remapped")), say(plain.loss("OPT")))
    answer = _SAME if plain.saving == 0 else _CLEARLY
    return Exercise(
        "wins", "line", "Does OPT win?",
        f"Set the loss to the distance (mismatch 0) at epsilon {say(settings.line_epsilon)} and the prior's peak to "
        f"{say(settings.peak)}. Does OPT lose less than the remapped geometric noise?",
        "Set the mismatch to 0 and compare the two lowest lines of the picture.",
        answer,
        f"The remapped geometric loses {losses[0]} and OPT {losses[1]}. Where the task asks for even or odd "
        f"(mismatch 1), OPT saves {say(100 * other.saving)} % of the best noise's loss.",
        (Mistake(_CLEARLY if answer == _SAME else _SAME,
                 f"Computed: the remapped geometric loses {losses[0]}, OPT {losses[1]}. On a line whose loss grows "
                 "with distance, remapped geometric noise is hard to beat."),),
        (_CLEARLY, _SAME),
    )  # fmt: skip


def _spent_twice(settings: Settings) -> Exercise:
    remapping = remap_line(settings.remapped, settings.line_epsilon, settings.peak, settings.mismatch)
    problem = remapping.problem
    coarse = [state - state % 2 for state in range(STATES)]
    rounded = merge_outputs(remapping.after, coarse, problem.distance, problem.loss_weights, mechanism="rounded")
    answer = settings.line_epsilon
    return Exercise(
        "free", "remap", "Spent once",
        f"Noise at epsilon {say(answer)} is remapped, then rounded down to state 1, 3, 5 or 7 by somebody who "
        "never saw the truth. For which epsilon does the result certainly still keep its promise?",
        "Neither step looks at the truth: does it say more about the truth than its input did?",
        answer,
        f"Post-processing is free. The integers of the result satisfy {say(rounded.certified_epsilon)}, never more "
        f"than {say(answer)}.",
        _told_apart(answer, (
            Mistake(2 * answer, "You counted the budget once more for a step. Only a look at the truth costs budget."),
            Mistake(3 * answer, "You counted the budget for every step. Only the noise looked at the truth."),
            Mistake(0.0, "The result still depends on the truth, through the noise."),
        )),
    )  # fmt: skip


def _equal_share(settings: Settings) -> Exercise:
    total, p = settings.total, settings.p
    answer = uniform_split(total, SHARED_BY, p)
    others = [own for own in (1.0, 2.0, math.inf) if own != p]
    return Exercise(
        "share", "budgets", "Four equal shares",
        f"{SHARED_BY} groups share epsilon {say(total)} equally under p = {say(p)}. How much does each get?",
        f"The shares' norm with exponent q = {say(dual_exponent(p))} must not be above {say(total)}.",
        answer,
        f"{SHARED_BY} such shares have the norm {say(total)} for q = {say(dual_exponent(p))}, since 1/p + 1/q = 1.",
        _told_apart(answer, (
            Mistake(uniform_split(total, SHARED_BY, own),
                    f"That is the share under p = {say(own)}. Under p = {say(p)} the norm is the one with "
                    f"q = {say(dual_exponent(p))}.")
            for own in others
        )),
    )  # fmt: skip


def _together(settings: Settings) -> Exercise:
    first = 2 * FACES - 3 - settings.first_faces
    dice = throw_dice(first, settings.second_faces)
    answer = epsilon_of(dice.chained_odds)
    alone = epsilon_of(dice.second_odds)
    return Exercise(
        "together", "dice", "Both answers together",
        f"The first die keeps the answer on {first} of {FACES} faces; the second, thrown on the first answer, on "
        f"{settings.second_faces}. Both recipients put their answers together. Which epsilon do they hold?",
        "What does the second answer tell somebody who already has the first?",
        answer,
        f"The second answer is made from the first alone, so together they hold ln {say(float(dice.first_odds))}, "
        "what the first recipient held anyway.",
        _told_apart(answer, (
            Mistake(answer + alone, f"You added the budgets. That is what two looks at the truth would cost, "
                    f"ln {say(float(dice.apart_odds))}; here the second die never sees it."),
            Mistake(alone, f"That is what the second recipient holds alone, ln {say(float(dice.second_odds))}. The "
                    "first answer is better."),
            Mistake(float(dice.chained_odds), "That is the likelihood ratio; epsilon is its logarithm."),
        )),
    )  # fmt: skip


def _stage_three(settings: Settings) -> Exercise:
    line = compare_line(settings.line_epsilon, settings.peak, 1.0)
    word = choose([STATES], [line.score], tau_dim=TAU_DIM, tau_dpn=TAU_DPN)[0]
    answer, wrong = _CHOICES[word], next(text for key, text in _CHOICES.items() if key != word)
    return Exercise(
        "stage", "stages", "What stage 3 decides",
        f"The line of {STATES} with the even-or-odd loss has the score {say(line.score)}: so much of the loss does "
        f"distance alone explain. At most {TAU_DIM} states and a score of at most {say(TAU_DPN)} are optimised. What "
        "does stage 3 choose?",
        "Compare both numbers with their thresholds.",
        answer,
        f"{STATES} states are at most {TAU_DIM}, and {say(line.score)} against {say(TAU_DPN)} decides. At epsilon "
        f"{say(settings.line_epsilon)} OPT saves {say(100 * line.saving)} % here.",
        (Mistake(wrong, f"{STATES} states against {TAU_DIM}, score {say(line.score)} against {say(TAU_DPN)}: noise "
                 "that follows distance fits only a loss that distance explains."),),
        tuple(_CHOICES.values()),
    )  # fmt: skip


_BUILDERS: Final[dict[str, tuple[str, Callable[[Settings], Exercise]]]] = {
    "twice": ("points", _twice_as_far),
    "entry": ("channel", _largest_entry),
    "nothing": ("line", _say_nothing),
    "wins": ("line", _does_it_win),
    "free": ("remap", _spent_twice),
    "share": ("budgets", _equal_share),
    "together": ("dice", _together),
    "stage": ("stages", _stage_three),
}
EXERCISES: Final = {key: concept for key, (concept, _) in _BUILDERS.items()}
"""The concept beside which every exercise stands, by key, in order."""


def build_exercise(key: str, settings: Settings) -> Exercise:
    """Return one exercise for what the concepts are set to.

    Parameters
    ----------
    key : str
        Of `EXERCISES`.
    settings : Settings
        What everything is set to.
    """
    return _BUILDERS[key][1](settings)


def build_exercises(settings: Settings) -> tuple[Exercise, ...]:
    """Return the eight exercises for what the concepts are set to, in the order of the concepts."""
    return tuple(build_exercise(key, settings) for key in EXERCISES)
