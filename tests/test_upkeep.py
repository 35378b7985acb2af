"""What keeps the project in shape: versions, the lock, the checks before a commit, the container, the notes."""

import re
import shlex
import sys
import tomllib
import warnings
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked() -> dict[str, str]:
    """Return version by name, as the lock pins them."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==(\S+)", text("requirements.lock"), re.MULTILINE)
    return {name.lower().replace("_", "-"): pinned for name, pinned in found}


def required() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    return [Requirement(line) for line in [*PROJECT["project"]["dependencies"], *extras["dev"]]]


def test_every_dependency_is_locked_within_its_bounds() -> None:
    pins = locked()
    for requirement in required():
        pinned = pins.get(requirement.name.lower().replace("_", "-"))
        assert pinned is not None, f"{requirement.name} is not in requirements.lock"
        assert requirement.specifier.contains(pinned), f"{requirement} against {pinned}"


def test_what_is_installed_satisfies_the_declared_bounds() -> None:
    for requirement in required():
        installed = version(requirement.name)
        assert requirement.specifier.contains(installed), f"{requirement} against {installed}"


def test_this_python_is_a_supported_one() -> None:
    wanted = PROJECT["project"]["requires-python"]
    assert SpecifierSet(wanted).contains(".".join(map(str, sys.version_info[:3])))
    least = SpecifierSet(wanted).filter(["3.10", "3.11", "3.12", "3.13"])
    assert next(iter(least)) == PROJECT["tool"]["mypy"]["python_version"]
    assert (
        PROJECT["tool"]["ruff"]["target-version"] == f"py{PROJECT['tool']['mypy']['python_version'].replace('.', '')}"
    )


def test_warnings_are_errors() -> None:
    assert PROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"][0] == "error"
    with pytest.raises(UserWarning, match="on purpose"):
        warnings.warn("on purpose", UserWarning, stacklevel=1)


def test_a_commit_is_checked_by_what_make_lint_runs() -> None:
    entries = re.findall(r"entry: (.+)", text(".pre-commit-config.yaml"))
    assert "http" not in text(".pre-commit-config.yaml"), "a hook would be fetched"
    lint = re.search(r"^lint:.*\n((?:\t.+\n)+)", text("Makefile"), re.MULTILINE)
    assert lint is not None
    for line in lint.group(1).splitlines():
        tool, *words = shlex.split(line.strip().replace("$(BIN)", ".venv/bin"))
        wanted = " ".join([tool, *(word for word in words if word != ".")])
        assert wanted in entries
    for entry in entries:
        for word in shlex.split(entry):
            assert "/" not in word or word.startswith(".venv/") or (ROOT / word).exists(), f"{word} is not there"


def test_the_container_runs_the_locked_app() -> None:
    recipe = text("Containerfile")
    base = re.search(r"^FROM \S+/python:(\d+\.\d+)", recipe, re.MULTILINE)
    assert base is not None
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(base.group(1) + ".0")
    assert "-r requirements.lock" in recipe
    assert re.search(r"^USER (?!root)\w+", recipe, re.MULTILINE), "the app would run as root"
    assert '"streamlit", "run", "app.py"' in recipe
    assert ".venv" in text(".containerignore").split()


def test_the_changelog_and_the_guide_are_up_to_date() -> None:
    changes = text("docs/CHANGELOG.md")
    headings = re.findall(r"^## (.+)", changes, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert any(heading.startswith(PROJECT["project"]["version"]) for heading in headings)
    guide = text("docs/CONTRIBUTING.md")
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", guide)) <= targets
    for name in re.findall(r"`((?:core|tests|pages|docs)/[\w./]+)`", guide):
        assert (ROOT / name).exists(), f"{name} is named in the guide and is not there"
    for name in re.findall(r"\]\((?!http)([^)#]+)", guide):
        assert (ROOT / "docs" / name).exists(), f"{name} is linked in the guide and is not there"


def test_the_stylesheet_has_no_opening_bracket() -> None:
    """The browser would drop the whole style with it."""
    assert "<" not in text("pages/_ui/style.css")
