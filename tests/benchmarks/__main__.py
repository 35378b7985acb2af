"""Run every benchmark and keep the results with a description of the machine: python -m tests.benchmarks [--quick]."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import solver, stages

RESULTS = Path(__file__).with_name("results.json")
LIBRARIES = ("numpy", "scipy", "highspy", "scikit-learn", "pandas")


def machine() -> dict[str, object]:
    """Return what the figures depend on: processor, cores, Python, libraries, threads of the linear algebra."""
    described = [line for line in cpu_lines() if line.startswith("model name")]
    return {
        "processor": described[0].partition(":")[2].strip() if described else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        "load_at_start": os.getloadavg()[0],
        "date": datetime.now(UTC).date().isoformat(),
    }


def cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Run all; quick runs are shown but not kept."""
    quick = "--quick" in sys.argv[1:]
    results = {"machine": machine(), "quick": quick, "stages": stages.run(quick), "solver": solver.run(quick)}
    if not quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        solver.say(f"written to {RESULTS.name}")
    missed = [record["goal"] for record in results["solver"]["goals"] if not record["met"]]
    solver.say(f"{len(missed)} goals missed: {'; '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
