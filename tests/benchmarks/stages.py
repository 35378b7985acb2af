"""Measure every stage against what one would write otherwise, and how it grows; both answers must agree.

Seconds are processor seconds on one thread, the least of a few runs. A ratio above 1 says how much
quicker the stage is.
"""

import io
import itertools
import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from core.certificate import certify
from core.contextual_tasks import EntropyTask
from core.dependence import build_staircase, compute_nmi
from core.domain import GroupDomain, Records, build_group_domain, build_records
from core.losses import compute_group_loss
from core.mechanisms import Problem, build_channel
from core.sampling import draw
from core.table import SAMPLE_DIRECTORY, load_sample, read_table, sample_scenario

Record = dict[str, Any]
ENOUGH = 0.5
"""Seconds of repetitions after which the least is taken."""
EPSILON = 2.0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def timed(compute: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least processor seconds of up to seven runs, and the answer."""
    runs: list[float] = []
    answer = None
    while len(runs) < 7 and (not runs or sum(runs) < ENOUGH):
        start = time.process_time()
        answer = compute()
        runs.append(time.process_time() - start)
    return min(runs), answer


def against(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], *, what: str) -> Record:
    """Measure two ways to one answer; they must agree."""
    (quick, mine), (slow, other) = timed(ours), timed(theirs)
    assert np.allclose(mine, other, rtol=1e-9, atol=1e-9), f"{name}: the answers differ"
    say(f"  {name}: {quick * 1000:.2f} ms, {what} {slow * 1000:.1f} ms, ratio {slow / quick:.1f}")
    return {"seconds": quick, "otherwise": what, "seconds_otherwise": slow, "ratio": slow / quick}


# --- what one would write otherwise ----------------------------------------------------------------------------------


def nmi_per_pair(codes: NDArray[np.int32]) -> NDArray[np.float64]:
    count = codes.shape[1]
    matrix = np.eye(count)
    for i, j in itertools.combinations(range(count), 2):
        matrix[i, j] = matrix[j, i] = normalized_mutual_info_score(codes[:, i], codes[:, j])
    return matrix


def groups_per_threshold(nmi: NDArray[np.float64]) -> list[int]:
    """Return the number of groups from 0 and from every threshold on at which a pair falls apart."""
    size = len(nmi)
    counts = []
    for tau in [0.0, *np.unique(nmi[np.triu_indices(size, 1)]).tolist()]:
        graph = nx.Graph()
        graph.add_nodes_from(range(size))
        graph.add_edges_from((i, j) for i, j in itertools.combinations(range(size), 2) if nmi[i, j] > tau)
        counts.append(nx.number_connected_components(graph))
    return [count for i, count in enumerate(counts) if i == 0 or count != counts[i - 1]]


def losses_per_record(task: EntropyTask, records: Records, domain: GroupDomain) -> NDArray[np.float64]:
    """Return the mean loss of every pair of states by a loop over the rows of a data frame."""

    def utility(levels: list[int]) -> list[float]:
        marginal = [float(task.surprisals[i][v]) for i, v in enumerate(levels)]
        joint = sum(
            float(task.conditionals[i][levels[p] if p >= 0 else 0, levels[i]]) for i, p in enumerate(task.parents)
        )
        return [*marginal, joint, sum(marginal) - joint]

    frame = pd.DataFrame(records.codes)
    total, times = np.zeros((domain.size, domain.size)), np.zeros(domain.size)
    for row, x in zip(frame.itertuples(index=False), domain.state_of.tolist(), strict=True):
        before = utility(list(row))
        times[x] += 1
        for y, state in enumerate(domain.states.tolist()):
            changed = list(row)
            for member, level in zip(domain.members, state, strict=True):
                changed[member] = level
            total[x, y] += sum(abs(a - b) for a, b in zip(before, utility(changed), strict=True))
    return total / times[:, None]


def largest_ratio(weights: NDArray[np.int64], distance: NDArray[np.float64]) -> float:
    """Return the certificate in floats, pair by pair: not rounded to the safe side."""
    logs = np.log(weights)
    pairs = itertools.permutations(range(len(distance)), 2)
    return max(float((logs[x] - logs[z]).max()) / float(distance[x, z]) for x, z in pairs)


class Bits:
    """Bits of a seeded generator, so that both samplers draw from the same kind of source."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(5)

    def bits(self, count: int) -> int:
        return int.from_bytes(self._rng.bytes((count + 7) // 8), "big") >> (-count % 8)


# --- ratios ----------------------------------------------------------------------------------------------------------


def heart_group() -> tuple[Records, EntropyTask, GroupDomain]:
    """Return Heart's records, its task, and three attributes as one group."""
    records = build_records(load_sample("heart"), sample_scenario("heart"))
    return records, EntropyTask.fit(records), build_group_domain(records, (1, 2, 8), p=2.0)


def ratios() -> Record:
    adult = build_records(load_sample("adult"), sample_scenario("adult"))
    content = (SAMPLE_DIRECTORY / "heart.csv").read_bytes()
    wide = random_nmi(40)
    records, task, domain = heart_group()
    problem = Problem(domain.distance, domain.prior, domain.distance)
    channel = build_channel("EM", problem, EPSILON)
    rows = domain.state_of.tolist()
    rng = np.random.default_rng(1)
    return {
        "reading": against(
            "reading Heart", lambda: read_table(content).frame.shape, lambda: pd.read_csv(io.BytesIO(content)).shape,
            what="pandas.read_csv, which detects and judges nothing",
        ),
        "dependence": against(
            "NMI of Adult's 15 attributes", lambda: compute_nmi(adult.codes), lambda: nmi_per_pair(adult.codes),
            what="sklearn per pair",
        ),
        "groups": against(
            "staircase of 40 attributes", lambda: build_staircase(wide).counts, lambda: groups_per_threshold(wide),
            what="networkx per threshold",
        ),
        "losses": against(
            f"entropy losses of {domain.size} states",
            lambda: compute_group_loss(task, records, domain).matrix,
            lambda: losses_per_record(task, records, domain), what="a loop over the rows",
        ),
        "certificate": against(
            f"certificate of {domain.size} states", lambda: certify(channel.weights, domain.distance),
            lambda: largest_ratio(channel.weights, domain.distance), what="numpy per pair, in floats",
        ),
        "sampling": against(
            "303 exact draws", lambda: len(draw(channel.weights, rows, Bits())),
            lambda: len([rng.choice(domain.size, p=channel.matrix[x]) for x in rows]),
            what="numpy.random.choice per record, in floats",
        ),
    }  # fmt: skip


# --- growth ----------------------------------------------------------------------------------------------------------


def random_nmi(size: int) -> NDArray[np.float64]:
    upper = np.triu(np.random.default_rng(size).random((size, size)), 1)
    return upper + upper.T + np.eye(size)


def random_codes(rows: int, columns: int) -> NDArray[np.int32]:
    return np.random.default_rng(rows).integers(0, 6, (rows, columns), dtype=np.int32)


def random_file(rows: int) -> bytes:
    rng = np.random.default_rng(rows)
    frame = pd.DataFrame({"a": rng.integers(0, 9, rows), "b": rng.normal(size=rows), "c": rng.choice(["x", "y"], rows)})
    return frame.to_csv(index=False).encode()


def certified(size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    points = np.random.default_rng(size).random((size, 2))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    prior = np.full(size, 1 / size)
    return build_channel("EM", Problem(distance, prior, distance), EPSILON).weights, distance


def grow(name: str, sizes: tuple[int, ...], make: Callable[[int], Any], run: Callable[[Any], Any]) -> Record:
    """Return seconds by size, and the exponent of the growth over the larger half of the sizes."""
    seconds = []
    for size in sizes:
        given = make(size)
        seconds.append(timed(lambda given=given: run(given))[0])  # type: ignore[misc]
    upper = slice(len(sizes) // 2 - 1, None)
    exponent = float(np.polyfit(np.log(sizes[upper]), np.log(seconds[upper]), 1)[0])
    listed = ", ".join(f"{n}: {s * 1000:.1f} ms" for n, s in zip(sizes, seconds, strict=True))
    say(f"  {name}: {listed}; exponent {exponent:.2f}")
    return {"sizes": sizes, "seconds": seconds, "exponent": exponent}


def growth(quick: bool) -> Record:
    heart, task, _ = heart_group()

    def repeated(times: int) -> tuple[Records, GroupDomain]:
        codes = np.tile(heart.codes, (times, 1))
        records = Records(heart.attributes, codes, np.arange(len(codes)))
        return records, build_group_domain(records, (1, 2, 8), p=2.0)

    less = 1 if quick else 0
    return {
        "reading, rows": grow("reading, rows", (4_000, 16_000, 64_000, 256_000)[: 4 - less], random_file, read_table),
        "dependence, rows": grow(
            "dependence of 15 attributes, rows", (2_000, 8_000, 32_000, 128_000)[: 4 - less],
            lambda n: random_codes(n, 15), compute_nmi,
        ),
        "dependence, L": grow(
            "dependence of 4,000 rows, L", (10, 20, 40, 80, 160)[: 5 - less],
            lambda n: random_codes(4000, n), compute_nmi,
        ),
        "groups, L": grow(
            "staircase, L", (50, 100, 200, 400), random_nmi, lambda nmi: build_staircase(nmi).groups(0.5)
        ),
        "losses, rows": grow(
            "entropy losses, times 303 rows", (4, 16, 64, 128)[: 4 - less], repeated,
            lambda given: compute_group_loss(task, *given),
        ),
        "noise, n": grow(
            "EM to certified integers, n", (50, 100, 200, 400)[: 4 - less], lambda n: certified(n)[1],
            lambda d: build_channel("EM", Problem(d, np.full(len(d), 1 / len(d)), d), EPSILON),
        ),
        "certificate, n": grow(
            "certificate, n", (50, 100, 200, 400)[: 4 - less], certified, lambda given: certify(*given)
        ),
    }  # fmt: skip


def run(quick: bool) -> Record:
    """Return ratios and growth of every stage before the solver, which has a benchmark of its own."""
    record = {"ratios": ratios(), "growth": growth(quick)}
    slow = [name for name, found in record["ratios"].items() if found["ratio"] < 1]
    say(f"slower than otherwise: {', '.join(slow) or 'none'}")
    assert all(math.isfinite(found["exponent"]) for found in record["growth"].values())
    return record


if __name__ == "__main__":
    say(json.dumps(run("--quick" in sys.argv[1:]), indent=1))
