"""Tests of long text files: read in blocks, with what the careful reader says of them."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest

from helpers.seeds import crossed
from orthospca.interface.tables import File, Reading, TableError, read_as_it_is

rng = np.random.default_rng(0)
NUMBERS = [[f"{value:.5g}" for value in row] for row in rng.standard_normal((60, 4))]


def text(rows, separator=",", header="a,b,c,d", end="\n"):
    """A file with these rows."""
    lines = [separator.join(header.split(",")), *(separator.join(row) for row in rows)]
    return end.join(line for line in lines if line) + end


def with_cell(row, column, cell):
    rows = [list(each) for each in NUMBERS]
    rows[row][column] = cell
    return rows


def labelled(name="r{}"):
    return [[name.format(i), *row] for i, row in enumerate(NUMBERS)]


FILES = {
    "plain": text(NUMBERS),
    "no header": text(NUMBERS, header=""),
    "semicolons": text(NUMBERS, ";"),
    "tabs": text(NUMBERS, "\t"),
    "spaces": text(NUMBERS, " "),
    "spaces, a cell missing": text(with_cell(50, 0, ""), " "),
    "spaces, a missing word": text(with_cell(50, 0, "NA"), " "),
    "windows": text(NUMBERS, end="\r\n"),
    "old mac": text(NUMBERS, end="\r"),
    "no end": text(NUMBERS).rstrip("\n"),
    "many ends": text(NUMBERS) + "\n\n",
    "decimal commas": text(NUMBERS, ";").replace(".", ","),
    "thousands": text(with_cell(50, 1, "1.234,5"), ";", header="a,b,c,d").replace(".", ","),
    "a group of thousands": text(with_cell(50, 1, "1.234"), ";").replace(".", ",", 100),
    "row labels": text(labelled(), header="name,a,b,c,d"),
    "row labels without a heading": text(labelled(), header=",a,b,c,d"),
    "row labels that the header leaves out": text(labelled(), header="a,b,c,d"),
    "quoted": text(labelled('"r{}"'), header='"","a","b","c","d"'),
    "quoted separators": text(labelled('"r,{}"'), header='"","a","b","c","d"'),
    "quoted, and more": text([*labelled('"r{}"'), ['"r"s', *NUMBERS[0]]], header="n,a,b,c,d"),
    "quoted lines": text(labelled('"r\n{}"'), header='"","a","b","c","d"'),
    "quoted numbers": text([[f'"{cell}"' for cell in row] for row in NUMBERS]),
    "an index": text(labelled("{}"), header="id,a,b,c,d"),
    "an index with a repetition": text([*labelled("{}"), ["3", *NUMBERS[0]]], header="id,a,b,c,d"),
    "labels at the end": text([[*row, "red"] for row in NUMBERS], header="a,b,c,d,colour"),
    "a label that is a number": text(
        [[*row, "red" if i < 40 else "7"] for i, row in enumerate(NUMBERS)], header="a,b,c,d,e"
    ),
    "missing": text(with_cell(40, 2, "")),
    "missing at both ends": text(with_cell(41, 0, "") + with_cell(42, 3, "NA")),
    "missing in many words": text(with_cell(41, 0, "n/a") + with_cell(42, 3, "#DIV/0!")),
    "missing everywhere": text([*NUMBERS[:40], ["", "", "", ""], *NUMBERS[40:]]),
    "a column without values": text([[*row, ""] for row in NUMBERS], header="a,b,c,d,e"),
    "a separator at the end": text([[*row, ""] for row in NUMBERS]),
    "a value at the end": text([[*row, "" if i < 40 else "1"] for i, row in enumerate(NUMBERS)]),
    "text": text(with_cell(55, 1, "twelve")),
    "infinite": text(with_cell(55, 1, "inf")),
    "underscores": text(with_cell(55, 1, "1_000")),
    "another minus": text(with_cell(55, 1, "\u22121.5")),
    "spaces around": text(with_cell(55, 1, " 1.5 ")),
    "true and false": text([[*row, "true"] for row in NUMBERS], header="a,b,c,d,e"),
    "true later": text(with_cell(55, 1, "true")),
    "ragged": text([*NUMBERS[:50], NUMBERS[0][:3], *NUMBERS[50:]]),
    "ragged both ways": text([*labelled()[:50], ["x", "1"], ["y", *"1234567"]], header=""),
    "a comment": text([*NUMBERS[:50], ["# see below"], *NUMBERS[50:]]),
    "a comment like a row": text([*labelled()[:50], ["#x", *"1234"]], header="n,a,b,c,d"),
    "a blank line": text([*NUMBERS[:50], [" "], *NUMBERS[50:]]),
    "lines above": "A table\n\n" + text(NUMBERS),
    "said by Excel": "sep=;\n" + text(NUMBERS, ";"),
    "Latin-1": text(labelled("Mé{}"), header="n,a,b,c,d").encode("cp1252"),
    "UTF-8": text(labelled("Mé{}"), header="n,a,b,c,d").encode(),
    "UTF-16": text(NUMBERS).encode("utf-16"),
    "UTF-16 without a mark": text(NUMBERS).encode("utf-16-le"),
    "a control": text(labelled("r\x01{}"), header="n,a,b,c,d"),
    "a control beside a number": text(with_cell(55, 1, "1\x1f")),
    "percent": text([[*row, "5%"] for row in NUMBERS], header="a,b,c,d,e"),
    "genes": text(labelled("ENSG{:011d}"), header="gene_id,a,b,c,d"),
    "numbered genes": text(labelled("{}"), header="entrez,a,b,c,d"),
}


def outcome(file: File, **how):
    """The table, or what is said instead."""
    try:
        table = read_as_it_is(file, Reading(**how))
    except TableError as error:
        return str(error)
    fields = {name: value for name, value in vars(table).items() if name != "values"}
    return table.values, {**fields, "lines": tuple(table.lines)}


@pytest.mark.parametrize(("name", "size"), crossed(FILES, [1, 37, 10_000]))
def test_blocks_and_cells_agree(name, size, tmp_path):
    """Tests that a file is the same table, or the same sentence, however it is read."""
    content = FILES[name]
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    for transpose, label in itertools.product((False, True), ((), ("2",))):
        how = {"transpose": transpose, "label": label}
        expected = outcome(File(path), **how)
        found = outcome(File(path, sample=100, block=size), **how)
        if isinstance(expected, str):
            assert found == expected
            continue
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1] == expected[1]
        assert found[0].strides == expected[0].strides


@pytest.mark.parametrize(
    "name", ["plain", "windows", "decimal commas", "row labels", "quoted", "missing", "genes"]
)
def test_usual_files_are_not_read_as_cells(name, tmp_path, monkeypatch):
    """Tests that what programs write is parsed in blocks, compressed or not."""
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(FILES[name].encode()))
    file = File(path, sample=100, block=200)
    seen = []
    file.progress = seen.append
    monkeypatch.setattr(File, "content", None)
    assert read_as_it_is(file, Reading()).values.shape == (60, 4)
    assert seen and all(0 < share <= 1 for share in seen)


def test_a_compressed_file_has_a_limit(tmp_path):
    """Tests that a file that unpacks to more than it may is refused, before it fills the memory."""
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(text(NUMBERS).encode()))
    genes = "".join(f"g{i}\t1\t2\n" for i in range(1100))
    series = tmp_path / "x_series_matrix.txt.gz"
    head = "!Series_title\tx\n!series_matrix_table_begin\nID_REF\tGSM1\tGSM2\n"
    series.write_bytes(gzip.compress(f"{head}{genes}!series_matrix_table_end\n".encode()))
    for file in (path, series):
        for pieces in ({}, {"sample": 100, "block": 200}):
            with pytest.raises(TableError, match="unpacks to more than"):
                read_as_it_is(File(file, **pieces, most_unpacked=1000), Reading())
        assert read_as_it_is(File(file), Reading()).columns
