"""Tables larger than memory, a chunk of rows at a time, with the same cells as when they are read at once."""

import gzip
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from core.errors import InputError
from core.reading.cells import cell_text, convert_text, unique_names
from core.reading.dialect import SEPARATOR_LINE, Dialect
from core.reading.parsing import read_rows
from core.table import Table, read_table

Progress = Callable[[float, str], None]

HEAD_BYTES: Final = 1 << 20
"""Bytes from the start of a text file that tell how it is written and what its columns are."""
BLOCK_BYTES: Final = 1 << 22
"""Bytes of a text file that are taken apart at a time."""
PLAIN_NUMBER: Final = r"^\s*-?[0-9]+(\.[0-9]+)?\s*$"
"""Numbers that mean the same in every notation with a decimal point, and are converted at once."""
TEXT_LIMIT: Final = 100_000
"""Different texts of a column that are held; a numeric column may have more, its chunks are then read one by one."""


class Source(Protocol):
    """A file that can be read again and again, a chunk of rows at a time."""

    names: tuple[str, ...]
    decimal: str

    def raw(self, columns: Sequence[int], rows: int) -> Iterator[tuple[float, dict[int, pd.Series]]]:
        """Yield the fraction read and the columns by position: text as written, or typed cells."""

    def head(self) -> Table:
        """Return the first rows as a table."""


def open_source(path: str | Path) -> Source:
    """Return the reader of a Parquet file, or of delimited text, also gzipped.

    Raises
    ------
    InputError
        If the file cannot be opened or holds no table.
    """
    try:
        with Path(path).open("rb") as stream:
            magic = stream.read(4)
        return ParquetSource(Path(path)) if magic == b"PAR1" else TextSource(Path(path))
    except OSError as error:
        raise InputError("file", "The file cannot be opened; check that it exists and may be read.") from error


class TextSource:
    """Delimited text in the dialect that its first megabyte shows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as stream:
            self._packed = stream.read(2) == b"\x1f\x8b"
        self._head = self._read_head()
        self._dialect: Dialect = self._head.dialect
        self.names = tuple(str(name) for name in self._head.frame.columns)
        self.decimal = self._dialect.decimal
        # names of no columns at the end are dropped from the table, but their cells are in the file
        self._width = self._count_fields()

    def _open(self, stream: BinaryIO) -> BinaryIO:
        return gzip.GzipFile(fileobj=stream) if self._packed else stream  # type: ignore[return-value]

    def _read_head(self) -> Table:
        with self._path.open("rb") as stream:
            content = self._open(stream).read(HEAD_BYTES)
        if len(content) == HEAD_BYTES:
            content = content[: content.rfind(b"\n") + 1] or content
        return read_table(content, name=self._path.name)

    def _count_fields(self) -> int:
        """Return the fields of the first record, and note the lines before the first row of values."""
        with self._lines() as lines:
            noted = SEPARATOR_LINE.fullmatch(lines.readline()) is not None
        self._skipped = int(self._dialect.header) + noted
        with self._lines() as lines:
            return max(len(next(read_rows(lines, self._dialect), (0, []))[1]), len(self.names))

    @contextmanager
    def _lines(self) -> Iterator[io.TextIOWrapper]:
        with (
            self._path.open("rb") as stream,
            io.TextIOWrapper(self._open(stream), encoding=self._dialect.encoding, newline="") as lines,
        ):
            yield lines

    def head(self) -> Table:
        """Return the table of the first megabyte."""
        return self._head

    def raw(self, columns: Sequence[int], rows: int) -> Iterator[tuple[float, dict[int, pd.Series]]]:
        """Yield the fraction read and the chosen columns as text."""
        size, done = max(os.path.getsize(self._path), 1), 0
        with self._path.open("rb") as stream:
            try:
                for batch in self._batches(self._open(stream), columns):
                    for start in range(0, batch.num_rows, rows):
                        part = batch.slice(start, rows)
                        index = pd.RangeIndex(done, done + part.num_rows)
                        done += part.num_rows
                        cells = {c: _text(part.column(i)).set_axis(index) for i, c in enumerate(columns)}
                        yield min(stream.tell() / size, 1.0), cells
            except (pa.ArrowException, UnicodeError, EOFError, OSError) as error:
                raise InputError(
                    "file", f"The file cannot be read to its end ({str(error).strip():.120}); correct it there."
                ) from error

    def _batches(self, stream: BinaryIO, columns: Sequence[int]) -> Iterator[Any]:
        """Yield the chosen columns as text, about a megabyte of the file at a time."""
        dialect = self._dialect
        labels = [f"f{i}" for i in range(self._width)]
        utf8 = str(dialect.encoding).lower().startswith("utf-8")
        return iter(
            pa_csv.open_csv(
                stream,
                pa_csv.ReadOptions(
                    block_size=BLOCK_BYTES,
                    skip_rows=self._skipped,
                    column_names=labels,
                    encoding="utf8" if utf8 else dialect.encoding,
                ),
                pa_csv.ParseOptions(
                    delimiter=dialect.separator,
                    quote_char=dialect.quote or '"',
                    escape_char=dialect.escape or False,
                    newlines_in_values=True,
                ),
                pa_csv.ConvertOptions(
                    include_columns=[labels[c] for c in columns],
                    column_types=dict.fromkeys(labels, pa.string()),
                ),
            )
        )


class ParquetSource:
    """A Parquet file of plain columns."""

    decimal = "."

    def __init__(self, path: Path) -> None:
        try:
            self._file = pq.ParquetFile(path)
        except pa.ArrowException as error:
            raise InputError("file", "The Parquet file is damaged; write it again.") from error
        self._columns = list(self._file.schema_arrow.names)
        self.names = tuple(unique_names([str(name) for name in self._columns])[0])

    def head(self) -> Table:
        """Return the first rows of the first row group."""
        batch = next(self._file.iter_batches(batch_size=10_000), None)
        if batch is None:
            raise InputError("file", "The Parquet file has no rows; give a table with at least one.")
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_batches([batch]), buffer)
        return read_table(buffer.getvalue(), name="head")

    def raw(self, columns: Sequence[int], rows: int) -> Iterator[tuple[float, dict[int, pd.Series]]]:
        """Yield the fraction read and the chosen columns: numbers, dates, or text."""
        done, total = 0, max(self._file.metadata.num_rows, 1)
        try:
            for batch in self._file.iter_batches(batch_size=rows, columns=[self._columns[c] for c in columns]):
                done += batch.num_rows
                index = pd.RangeIndex(done - batch.num_rows, done)
                yield done / total, {c: _typed(batch.column(i)).set_axis(index) for i, c in enumerate(columns)}
        except pa.ArrowException as error:
            raise InputError("file", "The Parquet file cannot be read to its end; write it again.") from error


def _text(column: Any) -> pd.Series:
    return pd.Series(column.cast(pa.large_string()).to_pandas()).astype("str")


def _typed(column: Any) -> pd.Series:
    """Return one column of a batch as finite numbers, dates, or text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_nested(kind):
        raise InputError("file", f"A column holds {kind!s:.40}, not plain values; leave it out or flatten it first.")
    if pa.types.is_integer(kind) and not column.null_count and kind != pa.uint64():
        return pd.Series(column.to_numpy(zero_copy_only=False).astype("int64"))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pd.Series(np.where(np.isfinite(numbers), numbers, np.nan))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pd.Series(column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False))
    coded = column.dictionary_encode()
    texts = pd.Series([*(cell_text(v) for v in coded.dictionary.to_pylist()), ""], dtype="str")
    places = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    return texts.take(places).reset_index(drop=True)


class TypedChunks:
    """The chosen columns of a source, typed as a whole column would be, a chunk at a time.

    Text is numbers, dates or labels depending on all the different texts of a column, which are collected first.

    Parameters
    ----------
    source : Source
        The file.
    columns : sequence of int
        Positions of the columns that are read.
    numeric : collection of int
        Those that may have more than `TEXT_LIMIT` different texts, all of them numbers.
    rows : int
        Rows per chunk.
    progress : callable, optional
        Told the fraction of a pass that is done.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[int],
        *,
        numeric: frozenset[int],
        rows: int,
        progress: Progress | None = None,
    ) -> None:
        self._source, self._columns, self._rows = source, sorted(columns), rows
        self._numeric = numeric
        self._progress = progress or (lambda _fraction, _sentence: None)
        self._values: dict[int, pd.Series] = {}
        self._texts = self._collect()
        for column, texts in self._texts.items():
            if texts is not None:
                self._values[column] = self._convert(column, pd.Series(list(texts), dtype="str"))
        self._index = {c: pd.Index(list(t), dtype="str") for c, t in self._texts.items() if t is not None}

    def _name(self, column: int) -> str:
        return self._source.names[column]

    def _convert(self, column: int, texts: pd.Series) -> pd.Series:
        lines = np.arange(1, len(texts) + 1)
        return convert_text(texts, self._name(column), self._source.decimal, lines)[0]

    def _collect(self) -> dict[int, dict[str, None] | None]:
        """Return the different texts of every text column, None where there are too many to hold."""
        found: dict[int, dict[str, None] | None] = {}
        for cells in self._pass("Collecting the texts of the columns", self._columns):
            waiting = [c for c, s in cells.items() if _is_text(s) and found.setdefault(c, {}) is not None]
            if not waiting:
                break
            for column in waiting:
                known = found[column] or {}
                known.update(dict.fromkeys(pd.unique(cells[column]).tolist()))
                found[column] = known if len(known) <= TEXT_LIMIT else None
                if len(known) > TEXT_LIMIT and column not in self._numeric:
                    raise InputError(
                        self._name(column),
                        f"Column '{self._name(column)}' has more than {TEXT_LIMIT:,} different texts; make it numeric, "
                        "merge its levels, or exclude it.",
                    )
        return found

    def _pass(self, what: str, columns: Sequence[int]) -> Iterator[dict[int, pd.Series]]:
        self._progress(0.0, what)
        for fraction, cells in self._source.raw(columns, self._rows):
            yield cells
            self._progress(fraction, what)

    def frames(self, what: str) -> Iterator[pd.DataFrame]:
        """Yield the chunks, columns labelled by position, rows by their number in the file from 0."""
        for cells in self._pass(what, self._columns):
            yield pd.DataFrame({column: self._type(column, series) for column, series in cells.items()})

    def _type(self, column: int, series: pd.Series) -> pd.Series:
        if not _is_text(series):
            return series
        codes, distinct = pd.factorize(series)
        texts = pd.Series(distinct, dtype="str")
        if column in self._values:
            values = self._values[column].take(self._index[column].get_indexer(pd.Index(texts)))
        else:
            values = self._convert_numbers(column, texts)
        return values.take(codes).set_axis(series.index)

    def _convert_numbers(self, column: int, texts: pd.Series) -> pd.Series:
        """Return the texts of one chunk of a column that has too many to hold."""
        plain = pa.array(texts, pa.large_string())
        if self._source.decimal == "." and pc.all(pc.match_substring_regex(plain, PLAIN_NUMBER)).as_py():
            return pd.Series(pc.utf8_trim_whitespace(plain).cast(pa.float64()).to_numpy(zero_copy_only=False))
        values = self._convert(column, texts)
        if pd.api.types.is_datetime64_any_dtype(values):
            name = self._name(column)
            raise InputError(
                name, f"Column '{name}' has more than {TEXT_LIMIT:,} different dates as text; store Parquet dates."
            )
        return values


def _is_text(series: pd.Series) -> bool:
    return not (pd.api.types.is_numeric_dtype(series) or pd.api.types.is_datetime64_any_dtype(series))
