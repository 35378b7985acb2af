"""The Release page in a real browser: a table released twice, its download, and a pack that runs on its own."""

import csv
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Session

HEART = Path(__file__).resolve().parents[2] / "sample_data" / "heart.csv"


@pytest.fixture
def page(app: Session) -> Any:
    # Without optimisation and with equal shares the design is quick; the page is the same.
    page = app.open("/release?rule=DPN&allocation=uniform").page
    page.locator(".st-key-record .figure[data-ready]").wait_for(timeout=60_000)
    app.idle()
    return page


def press(app: Session, key: str) -> None:
    app.page.locator(f".st-key-{key} button").first.click()
    app.page.mouse.move(640, 4)  # its help would cover what comes next
    app.idle()


def test_the_table_leaves_twice_and_the_ledger_adds_up(page: Any, app: Session, tmp_path: Path) -> None:
    press(app, "perturb_record")
    page.get_by_text("came out true").wait_for()
    assert page.locator(".st-key-record .annotation-text", has_text="◆").count() == 8
    said = []
    for count in (2, 3):
        press(app, "release_table")
        page.get_by_text(f"Released {count} times").first.wait_for()
        said.append(float(page.locator(".st-key-release_row .remark b").first.inner_text()))
    assert said[1] == pytest.approx(2 * said[0], abs=0.016)
    with page.expect_download() as started:
        page.locator(".st-key-download_release button").first.click()
    started.value.save_as(tmp_path / "released.csv")
    rows = list(csv.reader((tmp_path / "released.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == HEART.read_text(encoding="utf-8").splitlines()[0].split(",")[:-1]
    assert len(rows) == 304


def test_the_pack_runs_on_its_own(page: Any, app: Session, tmp_path: Path) -> None:
    page.get_by_role("tab", name="Mechanism pack").click()
    page.locator(".st-key-download_pack button").first.wait_for()
    with page.expect_download() as started:
        page.locator(".st-key-download_pack button").first.click()
    started.value.save_as(tmp_path / "mechanism.zip")
    with zipfile.ZipFile(tmp_path / "mechanism.zip") as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "perturb.py", "--pack", "mechanism.json", str(HEART), "out.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 304
