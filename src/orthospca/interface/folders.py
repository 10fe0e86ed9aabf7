"""The folder of a run: files come whole or not at all, and an earlier run is not lost."""

from __future__ import annotations

import csv
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orthospca import Status
from orthospca._errors import InputError
from orthospca.interface.plots.mpl import let_go

#: Under this name a file of a run says what was asked.
RUN = "run"


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn what the file system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{error.filename or place} cannot be written: {reason}") from None


def make_folder(folder: Path) -> Path:
    """Make a folder for the output before any work is done for it."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def unless_refused(folder: Path | None) -> Iterator[None]:
    """Make a folder before any work is done for it.

    It is taken away again if the input is refused, or if Ctrl-C comes before there is anything to
    write.
    """
    made = []
    if folder is not None:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        make_folder(folder)
    try:
        yield
    except (InputError, KeyboardInterrupt):
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


#: What was asked, as a file of a run has it: command, version, file, sha256 and settings.
Run = dict[str, Any]
#: What two runs that ask the same agree in, typed in whatever way.
SAME = ("sha256", "settings", "version")


@dataclass
class Folder:
    """A folder that the files of one run go to.

    Attributes
    ----------
    path : Path
    written : list of Path
        What this run has written, in its order.
    """

    path: Path
    written: list[Path] = field(default_factory=list)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Write a file, whole or not at all.

        Yields
        ------
        Path
            To be written, with the same ending.  It takes the place of ``name`` in the end; if
            something goes wrong, or Ctrl-C comes, what was there before stays.
        """
        target, part = self.path / name, self.path / f".part-{os.getpid()}-{name}"
        with writing(target):
            try:
                yield part
                os.replace(part, target)
            except BaseException as error:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
                if isinstance(error, OSError) and error.filename in (str(part), None):
                    # Nobody has heard of the other name.
                    error.filename = str(target)
                raise
        self.written.append(target)

    def write(self, name: str, content: Any, run: Run | None = None) -> Path:
        """Write a file; where it is then.

        Parameters
        ----------
        name : str
        content : object
            Whatever can save itself, a function that draws a picture, a dictionary for JSON, or the
            rows of a CSV file.
        run : Run, optional
            What was asked, which a JSON file holds as well.
        """
        with self.writing(name) as path:
            if hasattr(content, "save"):
                content.save(path)
            elif callable(content):
                figure = content().figure
                figure.savefig(path, dpi=150)
                let_go(figure)
            elif isinstance(content, dict):
                asked = {} if run is None else {RUN: run}
                path.write_text(json.dumps({**content, **asked}, indent=1), encoding="utf-8")
            else:
                with open(path, "w", encoding="utf-8", newline="") as file:
                    csv.writer(file).writerows(content)
        return self.path / name

    def keep_earlier(
        self, names: Iterable[str], record: str, run: Run, finished: bool
    ) -> Path | None:
        """Put the files of an earlier run aside, unless it asked for the same and knew no more.

        Parameters
        ----------
        names : iterable of str
            The files that runs of this kind write.
        record : str
            The one among them that says what was asked.
        run : Run
            Of now.
        finished : bool
            Whether it came to its end: if it was stopped, an earlier run that was not is kept.

        Returns
        -------
        Path or None
            Where they are now; None if there were none, or if they are replaced.
        """
        there = [self.path / name for name in names if (self.path / name).is_file()]
        if not there:
            return None
        asked, ended = _recorded(self.path / record)
        same = isinstance(asked, dict) and all(asked.get(key) == run[key] for key in SAME)
        if same and (finished or not _finished(ended)):
            return None
        folders = (self.path / f"earlier-{number}" for number in itertools.count(1))
        aside = next(folder for folder in folders if not folder.exists())
        with writing(aside):
            aside.mkdir()
            for file in there:
                os.replace(file, aside / file.name)
        return aside


def _recorded(file: Path) -> tuple[Any, Any]:
    """What an earlier run says was asked, and how it ended; None where that cannot be read."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return content.get(RUN), content.get("status")
    except (OSError, ValueError, AttributeError):
        return None, None


def _finished(status: str) -> bool:
    """Whether a file says that its run proved everything."""
    return status in Status.__members__ and Status[status].finished
