"""Single cells from an ``.h5ad`` file: genes are variables, and ``obs`` holds labels."""

from __future__ import annotations

from dataclasses import replace

from orthospca.interface.tables._file import File
from orthospca.interface.tables._finish import table_of
from orthospca.interface.tables._reading import Reading
from orthospca.interface.tables._table import Table, TableError

#: What is said in the place of a mark for all genes.
ALL = "all"


def read_h5ad(file: File, reading: Reading) -> Table:
    """Read ``X`` or a layer, and of the genes those that ``key`` or scanpy marks, if any."""
    anndata = file.library("anndata", "an AnnData file", "anndata")
    # It brings scikit-learn along, which takes longer to load than most tables to read.
    from orthospca.anndata import HIGHLY_VARIABLE, genes_of, holds_counts, values_of

    if file.is_stdin:
        raise TableError("an .h5ad file cannot come from standard input: name it")
    if not file.path.is_file():
        raise FileNotFoundError(2, "No such file or directory")
    try:
        cells = anndata.read_h5ad(file.path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{file} is not an AnnData file ({reason})") from None
    mark, layer = reading.key, reading.layer
    if mark is None and HIGHLY_VARIABLE in cells.var:
        mark = HIGHLY_VARIABLE
    for option, name, known in (
        ("layer", layer, list(cells.layers)),
        ("key", mark, [name for name in cells.var if cells.var[name].dtype == bool] + [ALL]),
    ):
        if name is not None and name not in known:
            raise TableError(f"{file} has no --{option} {name!r} (there is {', '.join(known)})")
    used = genes_of(cells, None if mark == ALL else mark)
    values = values_of(cells, layer, used)
    said = [] if layer is None else [f"read the layer {layer!r}"]
    if len(used) < cells.n_vars:
        hint = ", as scanpy does; use --key all for all of them" if reading.key is None else ""
        said.append(f"used {len(used)} of {cells.n_vars} genes, those marked {mark!r}{hint}")
    if holds_counts(values):
        said.append("the numbers are counts: normalise them and take logarithms first")
    labels = {str(name): tuple(map(str, cells.obs[name])) for name in cells.obs}
    names = [str(cells.var_names[j]) for j in used], tuple(map(str, cells.obs_names))
    return table_of(file, values, replace(reading, transpose=False), *names, labels, said)
