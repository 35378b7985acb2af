"""Ordinary and hostile bad tables, made in code, each with the right reading or the sentence that it must give.

``python -m tests.core.reading.fixtures`` prints the table with what happens: reading, coding and a whole design.
"""

import csv
import functools
import gzip
import io
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import CoreError
from core.pipeline import Stages
from core.scenario import Scenario
from core.table import read_table

MISSING = None


@dataclass(frozen=True)
class Fixture:
    """One bad table.

    Parameters
    ----------
    make : callable () -> bytes
        Its content.
    sentence : str
        Part of the sentence that refuses it, or of the finding that its reading carries; empty for none.
    columns : dict of str to list
        The right reading: the first values of some columns, missing cells as None; empty where it is refused.
    shape : tuple of int or None
        Rows and columns where they are worth stating.
    coded : str
        Part of the sentence that refuses to code the table that was read; empty where coding must work.
    slow : bool
        Whether a whole design of it takes too long for a test.
    """

    make: Callable[[], bytes]
    sentence: str = ""
    columns: dict[str, list[object]] = field(default_factory=dict)
    shape: tuple[int, int] | None = None
    coded: str = ""
    slow: bool = False

    @property
    def refused(self) -> bool:
        """Whether the file is refused."""
        return not self.columns and self.shape is None


def text(content: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    return lambda: content.encode(encoding)


def rows(header: str, line: Callable[[int], str], count: int = 24) -> Callable[[], bytes]:
    return lambda: "\n".join([header, *map(line, range(count)), ""]).encode()


def book(*sheets: tuple[str, list[list[object]]], merge: str | None = None) -> bytes:
    out = openpyxl.Workbook()
    out.remove(out.active)
    for title, content in sheets:
        sheet = out.create_sheet(title)
        for row in content:
            sheet.append(row)
        if merge:
            sheet.merge_cells(merge)
    stream = io.BytesIO()
    out.save(stream)
    return stream.getvalue()


def parquet(data: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(data), stream)
    return stream.getvalue()


def archive(name: str, content: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, content)
    return stream.getvalue()


def wide(count: int) -> bytes:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3, (60, count))
    head = ",".join(f"c{i}" for i in range(count))
    return "\n".join([head, *(",".join(map(str, r)) for r in values)]).encode()


def many_values(count: int) -> bytes:
    out = io.BytesIO()
    out.write(b"key,group\n")
    for i in range(count):
        out.write(b"k%07d,%d\n" % (i, i % 3))
    return out.getvalue()


def quoted(data: list[list[str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows(data)
    return stream.getvalue().encode()


AB = ["p", "q"] * 12
HTML = "<img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("http://x.test","y")'

FIXTURES: dict[str, Fixture] = {
    # how a text is written
    "byte-order mark": Fixture(rows("\ufeffa,b", lambda i: f"{i % 3},{i % 2}"), columns={"a": [0, 1, 2], "b": [0, 1]}),
    "semicolons and decimal commas": Fixture(
        rows("n;x", lambda i: f"{AB[i]};{i},5"), columns={"n": ["p", "q"], "x": [0.5, 1.5]}
    ),
    "tabs": Fixture(rows("n\tx", lambda i: f"{AB[i]}, or\t{i}.25"), columns={"n": ["p, or", "q, or"], "x": [0.25]}),
    "pipes": Fixture(rows("n|x", lambda i: f"{AB[i]}|{i % 5}"), columns={"n": ["p", "q"], "x": [0, 1, 2]}),
    "quoted line ends": Fixture(
        rows("n,x", lambda i: f'"{AB[i]}\nnext",{i % 4}'), columns={"n": ["p\nnext", "q\nnext"], "x": [0, 1]}
    ),
    "quoted quotes": Fixture(rows("n,x", lambda i: f'"{AB[i]} ""q""",{i % 4}'), columns={"n": ['p "q"', 'q "q"']}),
    "an open quote": Fixture(text('a,b\n1,"2\n3,4\n'), "Line 2 opens a quote that is never closed"),
    "trailing commas": Fixture(rows("a,b,", lambda i: f"{i % 3},{i % 2},"), columns={"a": [0, 1], "b": [0, 1]}),
    "trailing commas in the rows only": Fixture(
        rows("a,b", lambda i: f"{i % 3},{i % 2}," + "," * (i % 2)), columns={"a": [0, 1], "b": [0, 1]}
    ),
    "a long row": Fixture(text("a,b\n1,2\n3,4,5\n"), "Line 3 has 3 fields where the first has 2"),
    "a short row": Fixture(text("a,b,c\n1,2,3\n3,4\n"), "Line 3 has 2 fields where the first has 3"),
    "old Mac line ends": Fixture(
        lambda: b"a,b\r" + b"1,x\r2,y\r" * 12, columns={"a": [1, 2], "b": ["x", "y"]}, shape=(24, 2)
    ),
    "mixed line ends": Fixture(lambda: b"a,b\r\n1,x\n2,y\r\n" * 1 + b"1,x\n2,y\r\n" * 9, columns={"a": [1, 2]}),
    "comments above the names": Fixture(text("# made by x\na,b\n1,2\n"), "Line 2 has 2 fields where the first has 1"),
    "Excel's separator line": Fixture(text("sep=;\na;b\n1;2\n3;4\n"), columns={"a": [1, 3], "b": [2, 4]}),
    # names
    "repeated names": Fixture(
        rows("x,x", lambda i: f"{i % 3},{i % 2}"), "Column 2 repeats the name 'x'", {"x": [0, 1], "x (2)": [0, 1]}
    ),
    "empty names": Fixture(
        rows("x,,y", lambda i: f"{i % 3},{i % 2},{i % 4}"), "Column 2 has no name", {"column 2": [0, 1]}
    ),
    "no names": Fixture(
        rows("1,a", lambda i: f"{i % 3},{AB[i]}"), "the columns are numbered", {"column 1": [1, 0, 1, 2]}
    ),
    "a name of 5,000 characters": Fixture(
        rows("x" * 5000 + ",b", lambda i: f"{i % 3},{i % 2}"), "cut to 100 characters", {"x" * 100: [0, 1]}
    ),
    "names with HTML": Fixture(rows(f"{HTML},b", lambda i: f"{i % 3},{HTML}{i % 2}"), columns={HTML: [0, 1]}),
    "names and values with formulas": Fixture(
        lambda: quoted([[FORMULA, "@b"], *([f"=1+{i}", f"+{c}"] for i, c in enumerate(AB))]),
        columns={FORMULA: ["=1+0", "=1+1"], "@b": ["+p", "+q"]},
    ),
    "names with emoji": Fixture(
        rows("😀,👩‍👩‍👧", lambda i: f"{i % 3},🇫🇷{i % 2}"), columns={"😀": [0, 1], "👩‍👩‍👧": ["🇫🇷0"]}
    ),
    "right-to-left text": Fixture(
        rows("اسم,x", lambda i: f"{'محمد' if i % 2 else 'דוד'},{i % 3}"), columns={"اسم": ["דוד", "محمد"]}
    ),
    "marks that turn the direction of text": Fixture(
        rows("\u202eevil\u202c,b", lambda i: f"{i % 3},{i % 2}"), columns={"evil": [0, 1], "b": [0, 1]}
    ),
    "control characters in names": Fixture(
        rows("\x1b[31mred,b\x07", lambda i: f"{i % 3},{i % 2}"), columns={"[31mred": [0, 1], "b": [0, 1]}
    ),
    "line separators in names": Fixture(rows("a\u2028b,c", lambda i: f"{i % 3},{i % 2}"), columns={"a b": [0, 1]}),
    # shapes
    "nothing": Fixture(lambda: b"", "The file is empty"),
    "blank lines only": Fixture(lambda: b"\n \n\t\n", "The file is empty"),
    "a byte-order mark only": Fixture(lambda: b"\xef\xbb\xbf", "The file is empty"),
    "a UTF-16 mark only": Fixture(lambda: b"\xff\xfe", "The file is empty"),
    "separators only": Fixture(lambda: b",,,\n,,,\n,,,\n", shape=(2, 1), coded="No column takes part"),
    "only names": Fixture(lambda: b"a,b,c\n", "holds only a header"),
    "one row": Fixture(text("a,b\n1,x\n"), columns={"a": [1], "b": ["x"]}, coded="No column takes part"),
    "one column": Fixture(rows("a", lambda i: str(i % 3)), "Only one column was found", {"a": [0, 1, 2]}),
    "all missing": Fixture(
        rows("a,b", lambda _: ","), "Column 'a' has no values at all", {"a": [None]}, coded="No column takes part"
    ),
    "one column all missing": Fixture(rows("a,b", lambda i: f",{i % 3}"), columns={"a": [None], "b": [0, 1, 2]}),
    "constant columns": Fixture(
        rows("a,b", lambda _: "7,x"), columns={"a": [7, 7], "b": ["x"]}, coded="No column takes part"
    ),
    "an id column": Fixture(rows("id,b", lambda i: f"u{i:03d},{i % 3}"), columns={"id": ["u000", "u001"]}),
    "only id columns": Fixture(
        rows("id,nr", lambda i: f"u{i:03d},{i + 1}"), columns={"nr": [1, 2]}, coded="No column takes part"
    ),
    "200 columns": Fixture(lambda: wide(200), shape=(60, 200), slow=True),
    "501 columns": Fixture(lambda: wide(501), "has 501 columns; at most 500"),
    "a million distinct values": Fixture(
        lambda: many_values(1_000_000),
        columns={"key": ["k0000000"], "group": [0, 1, 2]},
        shape=(1_000_000, 2),
        slow=True,
    ),
    # cells
    "mixed types": Fixture(
        rows("a,b", lambda i: f"{'abc' if i == 2 else i % 3},{i % 2}"),
        "first 'abc' in line 4",
        {"a": ["0", "1", "abc"]},
    ),
    "thousands with commas": Fixture(
        rows("x,n", lambda i: f'"{i + 1},234.5",{AB[i]}'), "thousands separators", {"x": [1234.5, 2234.5]}
    ),
    "thousands with points": Fixture(rows("x;n", lambda i: f"{i + 1}.234,5;{AB[i]}"), columns={"x": [1234.5]}),
    "thousands with narrow spaces": Fixture(rows("x;n", lambda i: f"{i + 1}\u202f234;{AB[i]}"), columns={"x": [1234]}),
    "thousands with apostrophes": Fixture(rows("x;n", lambda i: f"{i + 1}'234.5;{AB[i]}"), columns={"x": [1234.5]}),
    "Indian thousands": Fixture(rows("x;n", lambda i: f"{i + 1},23,456;{AB[i]}"), columns={"x": ["1,23,456"]}),
    "percent signs": Fixture(rows("x,n", lambda i: f"{i}%,{AB[i]}"), "holds percentages", {"x": [0, 1, 2]}),
    "currency signs": Fixture(rows("x,n", lambda i: f"€ {i}.50,{AB[i]}"), columns={"x": ["€ 0.50"]}),
    "ISO dates": Fixture(
        rows("d,n", lambda i: f"2020-01-{i + 1:02d},{AB[i]}"),
        "read as dates, year-month-day",
        {"d": [pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 1, 2)]},
    ),
    "doubtful dates": Fixture(
        rows("d,n", lambda i: f"{i % 9 + 1}/{i % 7 + 1}/2020,{AB[i]}"),
        "though month/day/year would fit too",
        {"d": [pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 2, 2)]},
    ),
    "impossible dates": Fixture(rows("d,n", lambda i: f"2020-02-{i + 10},{AB[i]}"), columns={"d": ["2020-02-10"]}),
    "dates before and after all calendars": Fixture(
        rows("d,n", lambda i: f"{['0001-01-01', '9999-12-31', '1582-10-10'][i % 3]},{AB[i]}"), shape=(24, 2)
    ),
    "booleans in five spellings": Fixture(
        rows("b,n", lambda i: f"{['yes', 'No', 'TRUE', '0', 'f'][i % 5]},{AB[i]}"),
        "spells yes and no in 5 ways",
        {"b": ["true", "false", "true", "false", "false"]},
    ),
    "infinities": Fixture(
        rows("x,n", lambda i: f"{['1', 'inf', '-Infinity', '1e400', '2.5', '∞'][i % 6]},{AB[i]}"),
        "infinite or too large numbers (16) count as missing",
        {"x": [1, None, None, None, 2.5, None]},
    ),
    "spellings of missing": Fixture(
        rows("x,n", lambda i: f"{['NaN', 'null', 'N/A', '1.5', '?', '#DIV/0!', 'None', '-nan'][i % 8]},{AB[i]}"),
        "count as missing",
        {"x": [None, None, None, 1.5, None, None, None, None]},
    ),
    "numbers of 400 digits": Fixture(rows("x,n", lambda i: f"{'9' * 400 if i % 2 else 3},{AB[i]}"), shape=(24, 2)),
    "numbers beyond 64 bits": Fixture(
        rows("x,n", lambda i: f"{10**25 + i % 3},{AB[i]}"), columns={"x": [1e25]}, shape=(24, 2)
    ),
    "the smallest and largest floats": Fixture(
        rows("x,n", lambda i: f"{['5e-324', '1.7e308', '-1.7e308'][i % 3]},{AB[i]}"),
        columns={"x": [5e-324, 1.7e308]},
        coded="too far to measure",
    ),
    "numbers a rounding apart": Fixture(
        rows("x,n", lambda i: f"{1 + (i % 3) * 2**-52:.17g},{AB[i]}"), columns={"x": [1.0]}
    ),
    "digits of other scripts": Fixture(rows("x,n", lambda i: f"٣{i % 3},{AB[i]}"), shape=(24, 2)),
    "superscript digits": Fixture(rows("x,n", lambda i: f"²{i % 3},{AB[i]}"), columns={"x": ["²0", "²1"]}),
    "underscored numbers": Fixture(rows("x,n", lambda i: f"1_00{i % 3},{AB[i]}"), columns={"x": ["1_000", "1_001"]}),
    "codes with leading zeros": Fixture(rows("x,n", lambda i: f"00{i % 3},{AB[i]}"), columns={"x": ["000", "001"]}),
    "values that read 'missing'": Fixture(
        rows("x,n", lambda i: f"{['missing', '', 'c'][i % 3]},{AB[i]}"), columns={"x": ["missing", None, "c"]}
    ),
    "lone surrogates": Fixture(lambda: b"a,b\n" + b"\xed\xa0\x80,1\ny,2\n" * 12, "guessed to be", shape=(24, 2)),
    "a cell of 200,000 characters": Fixture(
        rows("x,n", lambda i: f"{'y' * (200_000 if i == 3 else 2)},{AB[i]}", 6), "more than 131,072 characters"
    ),
    "a cell of 100,000 characters": Fixture(
        rows("x,n", lambda i: f"{'y' * (100_000 if i % 2 else 2)},{AB[i]}", 6), shape=(6, 2)
    ),
    # encodings
    "Latin-1": Fixture(
        text("n,s\n" + "Müller,Köln\nGröße,Bär\n" * 6, "latin-1"), "guessed to be", {"n": ["Müller", "Größe"]}
    ),
    "cp1252": Fixture(text("n,s\n" + "d’Or,€5\nMüller,“x”\n" * 6, "cp1252"), "guessed to be", {"s": ["€5", "“x”"]}),
    "UTF-16": Fixture(text("n,x\n" + "Müller,1\nMeier,2\n" * 6, "utf-16"), columns={"n": ["Müller", "Meier"]}),
    "UTF-16 without a mark": Fixture(text("n,x\n" + "Müller,1\nMeier,2\n" * 6, "utf-16-le"), columns={"x": [1, 2]}),
    "UTF-16 cut in a character": Fixture(lambda: "n,x\nab,1\n".encode("utf-16")[:-1], "not valid utf-16 text"),
    "NUL bytes": Fixture(lambda: b"a,b\n1,2\n\0,3\n", "Line 3 holds a zero byte"),
    "random bytes": Fixture(lambda: random.Random(5).randbytes(4000), "zero byte"),
    # other files under the name of a table
    "a ZIP renamed .csv": Fixture(lambda: archive("a.csv", "a,b\n1,2\n"), "This is a ZIP archive"),
    "a Word file": Fixture(lambda: archive("word/document.xml", "<x/>"), "This is a ZIP archive"),
    "a PDF renamed .csv": Fixture(lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "This is a PDF document"),
    "a web page": Fixture(lambda: b"<!DOCTYPE html>\n<html><table></table></html>", "This is a web page"),
    "a picture": Fixture(lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "This is a picture"),
    "a JSON file": Fixture(lambda: b'{"a": [1, 2]}', "This is a JSON file"),
    "a gzip that is cut": Fixture(lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 999)[:30], "gzip file is damaged"),
    "a gzip of a gzip": Fixture(
        lambda: gzip.compress(gzip.compress(b"a,b\n1,2\n")), "gzip file holds another gzip file"
    ),
    # workbooks and Parquet
    "a workbook of several sheets": Fixture(
        lambda: book(("one", [["a", "b"], *([i % 3, c] for i, c in enumerate(AB))]), ("two", [["c"], [1]])),
        "the workbook also has 'two'",
        {"a": [0, 1, 2], "b": ["p", "q"]},
    ),
    "merged cells": Fixture(
        lambda: book(("one", [["a", "b"], *([i % 3, None if i == 0 else c] for i, c in enumerate(AB))]), merge="A2:B2"),
        "has merged cells",
        {"a": [0, 1, 2], "b": [None, "q"]},
    ),
    "an empty workbook": Fixture(lambda: book(("s", [])), "The sheet 's' is empty"),
    "a workbook that is cut": Fixture(lambda: book(("s", [["a"], [1]]))[:-40], "workbook is damaged"),
    "formulas in a workbook": Fixture(
        lambda: book(("s", [["a", "b"], *(["=1+1", c] for c in AB)])), columns={"a": [None], "b": ["p", "q"]}
    ),
    "Parquet with nested columns": Fixture(
        lambda: parquet({"x": [[1], [2]], "y": [1, 2]}), "Column 'x' of the Parquet file holds list"
    ),
    "Parquet with repeated names": Fixture(
        lambda: _repeated_names(),  # noqa: PLW0108 - defined below
        "repeats the name 'x'",
        {"x": [0, 1], "x (2)": ["p", "q"]},
    ),
    "Parquet that is cut": Fixture(lambda: parquet({"x": [1, 2]})[:-9], "Parquet file is damaged"),
    "an empty Parquet": Fixture(lambda: parquet({"x": pa.array([], pa.int64())}), "has no rows"),
}


def _repeated_names() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table([pa.array([i % 3 for i in range(24)]), pa.array(AB)], names=["x", "x"]), stream)
    return stream.getvalue()


@functools.lru_cache(maxsize=4)
def content(name: str) -> bytes:
    return FIXTURES[name].make()


def outcomes(names: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield every fixture's name, what its reading gives, and what a whole design of it gives."""
    for name in names:
        fixture = FIXTURES[name]
        try:
            table = read_table(content(name))
        except CoreError as error:
            yield name, f"refused: {error}", ""
            continue
        read = f"{table.frame.shape[0]} x {table.frame.shape[1]}; {' '.join(table.findings)[:160]}"
        if fixture.slow:
            yield name, read, "not designed"
            continue
        try:
            design = Stages(table, Scenario(contexts=20)).design
            yield name, read, f"certified {design.certified_epsilon:.6g}"
        except CoreError as error:
            yield name, read, f"refused: {error}"


if __name__ == "__main__":
    for outcome in outcomes(list(FIXTURES)):
        sys.stdout.write(" | ".join(outcome) + "\n")
        sys.stdout.flush()
