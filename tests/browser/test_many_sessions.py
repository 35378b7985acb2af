"""Twenty people at once, each with an own table, over the app's own connection: nobody receives another's data.

No browser: twenty would take the machine. The messages are those that a browser sends and receives.
"""

import asyncio
import gc
import os
import time
import uuid
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse
from tornado.websocket import WebSocketClientConnection, websocket_connect

from core.pipeline import Stages
from core.scenario import AttributeSpec, Scenario
from core.table import read_table
from pages._ui import cache, source
from tests.browser.conftest import ROOT, running

PEOPLE = 20
SECONDS = 300.0
WORDS = [f"{a}{b}" for a in ("alder", "birch", "cedar", "hazel", "maple") for b in ("fox", "owl", "elk", "jay")]
"""A word per person that occurs in nobody else's table."""


def own_table(word: str) -> bytes:
    rows = "".join(f"{word}{i % 3},{word}{'pq'[i % 2]},{i * 7 % 11 % 4}\n" for i in range(60))
    return f"{word}_name,{word}_kind,number\n{rows}".encode()


class Person:
    """One session at the app, as a browser would hold it."""

    def __init__(self, address: str, word: str) -> None:
        self.address, self.word = address, word
        self.received: list[bytes] = []
        self.session = self.uploader = self.token = ""
        self.pages: dict[str, str] = {}
        self.uploads: list[Any] = []
        self._states: dict[str, Any] = {}
        self._connection: WebSocketClientConnection | None = None

    async def arrive(self) -> None:
        answer = await AsyncHTTPClient().fetch(f"{self.address}/_stcore/health")
        cookies = answer.headers.get_list("Set-Cookie")
        self.token = next((c.split(";")[0].split("=", 1)[1] for c in cookies if c.startswith("_streamlit_xsrf=")), "")
        url = self.address.replace("http", "ws") + "/_stcore/stream"
        self._connection = await websocket_connect(url, max_message_size=1 << 28)
        await self.run(query="data=upload")

    async def run(self, *, page: str = "", query: str = "") -> None:
        """Run a page and take in everything until it has ended, with all runs that it asks for itself."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_script_hash = self.pages.get(page, "")
        for name, files in self._states.items():
            state = message.rerun_script.widget_states.widgets.add(id=name)
            state.file_uploader_state_value.CopyFrom(files)
        await self.send(message)
        while True:
            forward = await self.receive()
            if forward.WhichOneof("type") == "script_finished":
                if forward.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return
                assert forward.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN

    async def send(self, message: BackMsg) -> None:
        assert self._connection is not None
        await self._connection.write_message(message.SerializeToString(), binary=True)

    async def receive(self) -> ForwardMsg:
        assert self._connection is not None
        raw = await asyncio.wait_for(self._connection.read_message(), SECONDS)
        assert isinstance(raw, bytes), "the connection was closed"
        self.received.append(raw)
        forward = ForwardMsg.FromString(raw)
        kind = forward.WhichOneof("type")
        if kind == "new_session":
            self.session = forward.new_session.initialize.session_id or self.session
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in forward.navigation.app_pages}
        elif kind == "delta" and forward.delta.new_element.WhichOneof("type") == "file_uploader":
            if "your own table" in forward.delta.new_element.file_uploader.label.lower():
                self.uploader = forward.delta.new_element.file_uploader.id
        elif kind == "file_urls_response":
            self.uploads = list(forward.file_urls_response.file_urls)
        return forward

    async def put(self, url: str, token: str) -> HTTPResponse:
        """Send the table to where the app said."""
        edge = uuid.uuid4().hex
        name = f"{self.word}.csv"
        body = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        body += own_table(self.word) + f"\r\n--{edge}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Cookie": f"_streamlit_xsrf={self.token}"}
        headers |= {"X-Xsrftoken": token} if token else {}
        request = HTTPRequest(self.address + url, method="PUT", headers=headers, body=body)
        return await AsyncHTTPClient().fetch(request, raise_error=False)

    async def upload(self) -> None:
        message = BackMsg()
        message.file_urls_request.request_id = "1"
        message.file_urls_request.session_id = self.session
        message.file_urls_request.file_names.append(f"{self.word}.csv")
        await self.send(message)
        while not self.uploads:
            await self.receive()
        place = self.uploads[0]
        refused = await self.put(place.upload_url, token="")
        assert refused.code == 403, "an upload without the token that keeps other sites out"
        assert (await self.put(place.upload_url, self.token)).code == 204
        files = BackMsg().rerun_script.widget_states.widgets.add().file_uploader_state_value
        files.uploaded_file_info.add(
            file_id=place.file_id, name=f"{self.word}.csv", size=len(own_table(self.word)), file_urls=place
        )
        self._states[self.uploader] = files
        await self.run(query="data=upload")

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.close()


async def everybody(people: list[Person]) -> None:
    try:
        await visit(people)
    finally:
        for person in people:
            person.leave()
        await asyncio.sleep(1)  # until the connections have closed


async def visit(people: list[Person]) -> None:
    """Arrive, upload and look around, all at the same time."""
    await asyncio.gather(*(person.arrive() for person in people))
    await asyncio.gather(*(person.upload() for person in people))
    for person in people:
        person._states.clear()
    for page in ("dependencies", "budget", "losses"):
        await asyncio.gather(*(person.run(page=page, query="data=upload") for person in people))


def finish(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end in a thread of its own: a browser of another test keeps a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@pytest.mark.slow
def test_twenty_sessions_receive_their_own_tables_only(serve: Callable[[str], str]) -> None:
    address = serve("app.py")
    people = [Person(address, word) for word in WORDS[:PEOPLE]]
    finish(everybody(people))
    assert len({person.session for person in people}) == PEOPLE
    for person in people:
        everything = b"".join(person.received)
        assert everything.count(f"{person.word}_name".encode()) > 3
        assert everything.count(f"{person.word}_kind".encode()) > 3
        assert not [word for word in WORDS if word != person.word and word.encode() in everything]


def test_results_never_collide_across_schemas_or_tables() -> None:
    """One store, many scenarios and tables whose bytes differ in a cell: each gets what it gets on its own."""
    store = cache._Store()
    tables = [read_table(own_table("alder")), read_table(own_table("alder").replace(b"alderp,0", b"alderq,0"))]
    schemas: list[tuple[AttributeSpec, ...]] = [
        (),
        (AttributeSpec(2, kind="nominal"),),
        (AttributeSpec(2, kind="ordinal", weight=2.0),),
        (AttributeSpec(2, kind="numeric", bins=2),),
        (AttributeSpec(0, include=False),),
        (AttributeSpec(0, levels=("alder2", "alder1", "alder0"), kind="ordinal"),),
    ]
    plain = Scenario(contexts=10, refine=False)
    changes: list[dict[str, Any]] = [{"p": 1.0}, {"task": "entropy"}, {"domain": "product"}, {"noise": "line noise"}]
    cases = [(t, plain.replace(attributes=s, rule="DPN")) for t in tables for s in schemas]
    cases += [(t, plain.replace(**c)) for t in tables for c in changes]
    wanted = [Stages(table, scenario).design for table, scenario in cases]
    for _ in range(2):  # the second time everything comes from the store
        for (table, scenario), alone in zip(cases, wanted, strict=True):
            kept = Stages(table, scenario, remember=cache._remember(store)).design
            assert kept.allocation == alone.allocation
            assert kept.losses == alone.losses
            assert kept.certified_epsilon == alone.certified_epsilon
            for a, b in zip(kept.channels, alone.channels, strict=True):
                assert (a.weights == b.weights).all()  # type: ignore[union-attr]


def test_memory_returns_when_a_session_leaves() -> None:
    """A session's store is all that holds the results of its upload: with it go its table and its stages."""
    store = cache._Store()
    table = read_table(own_table("birch"))
    stages = Stages(table, Scenario(contexts=10, refine=False), remember=cache._remember(store))
    held = [stages.design, table, table.frame, stages.records, *stages.profiles, stages.surrogate]
    ghosts = [weakref.ref(thing) for thing in held]
    del held, stages, table
    gc.collect()
    assert any(ghost() is not None for ghost in ghosts), "nothing was remembered"
    del store
    gc.collect()
    assert [ghost() for ghost in ghosts] == [None] * len(ghosts)


@pytest.mark.slow
def test_memory_returns_when_the_last_sessions_have_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the server: once nobody can come back, nothing of an upload is alive, and nobody else came."""
    log = tmp_path / "counts.txt"
    monkeypatch.setenv("COUNTED_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL", "1")

    def counts() -> list[list[int]]:
        """Numbers of tables, stages and files, look by look."""
        return [[int(n) for n in line.split()] for line in log.read_text(encoding="utf-8").splitlines()]

    with running(ROOT / "tests/browser/counted_app.py", tmp_path / "server.txt") as address:
        finish(everybody([Person(address, word) for word in WORDS[:3]]))
        end = time.monotonic() + 60
        while any(counts()[-1]) and time.monotonic() < end:
            time.sleep(0.2)
    assert max(tables for tables, _, _ in counts()) == 3
    assert max(stages for _, stages, _ in counts()) >= 3
    assert max(files for _, _, files in counts()) == 3
    assert counts()[-1] == [0, 0, 0]
    assert "Traceback" not in (tmp_path / "server.txt").read_text()


def test_a_large_upload_is_not_put_into_a_temporary_file() -> None:
    """Five megabytes as the web server takes them apart: what it holds them in has not gone to the disk."""
    assert MultiPartParser.spool_max_size > source.limits.UPLOAD_LIMIT_MB << 20
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n' + b"1,2\n" * 1_300_000
    body += b"\r\n--x--\r\n"
    headers = [(b"content-type", b"multipart/form-data; boundary=x")]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def rolled() -> bool:
        async with Request({"type": "http", "method": "PUT", "headers": headers}, receive).form() as form:
            file = form["file"]
            assert isinstance(file, UploadFile)
            assert file.size == 5_200_000
            return bool(file.file._rolled)  # type: ignore[attr-defined]

    assert finish(rolled()) is False
