"""Tests of the report in Chromium: what people see, point at, type and download."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.clocks import until
from orthospca import Result, alternatives, datasets, solve
from orthospca.interface.report import Section, write_report
from orthospca.interface.scores import Scores, scores_of

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

DESKTOP, PHONE = (1280, 900), (390, 844)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
NASTY = ("</script><script>alarm=1</script>", "\"'<img src=x onerror=alarm=1>", "a\u2028b", "長さ")


class Browser:
    """One window, which the tests share."""

    def __init__(self, folder: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(executable_path=DRIVER)
        self.driver = webdriver.Chrome(options=options, service=service)
        self.downloads = folder / "downloads"
        self.command(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads)
        )

    def command(self, name: str, **arguments: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def open(self, page: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> None:
        """Show a page in a window of some size, in light or dark colours."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=size is PHONE,
        )  # fmt: skip
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media="", features=colours)
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        # A page that is shown already would still answer while it is loaded again.
        self.driver.get("about:blank")
        self.driver.get(page.as_uri())
        self.wait_for(
            f"document.readyState === 'complete' && location.href === {page.as_uri()!r}"
            " && document.querySelector('main') !== null"
        )

    def wait_for(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true; scripts of the page may be off."""
        until(
            lambda: (
                self.command("Runtime.evaluate", expression=condition)["result"].get("value")
                is True
            )
        )

    def roles(self) -> dict[str, list[str]]:
        """The names of what screen readers find, by its role."""
        found: dict[str, list[str]] = {}
        for node in self.command("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                role = node["role"]["value"]
                found.setdefault(role, []).append(node.get("name", {}).get("value", ""))
        return found

    def run(self, code: str) -> Any:
        """What an expression of JavaScript gives."""
        return self.driver.execute_script(f"return {code}")

    def complaints(self) -> list[Any]:
        """What the console shows."""
        return self.driver.get_log("browser")

    def requests(self, page: Path) -> list[str]:
        """The addresses that a page asked for, its own among them."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [e["request"]["url"] for e in sent if e["documentURL"] == page.as_uri()]

    def point_at(self, figure: str, x: str, y: str) -> str:
        """Put the pointer onto a place of a drawing, in its units; the tip that is shown."""
        chart = f"document.querySelector('figure[data-name={figure}] svg')"
        self.run(f"{chart}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        # Scrolling ends a tip, and is told with the next frame.
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )
        place = f"new DOMPoint({x}, {y}).matrixTransform({chart}.getScreenCTM())"
        found = self.run(f"(p => [p.x, p.y])({place})")
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=found[0], y=found[1])
        return self.tip()

    def tip(self) -> str:
        """The text of the tip; empty if there is none."""
        tip = "document.getElementById('tip')"
        return self.run(f"{tip}.hidden ? '' : {tip}.textContent")

    def key(self, name: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def click(self, selector: str) -> None:
        """Press a button."""
        self.run(f"document.querySelector({selector!r}).click()")

    def downloaded(self, name: str) -> bytes:
        """The content of a file once it is there."""
        path = self.downloads / name
        until(lambda: path.exists() and path.stat().st_size > 0)
        return path.read_bytes()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.driver.quit()


@pytest.fixture(scope="module")
def wine() -> Section:
    dataset = datasets.load_wine()
    Q = dataset.correlation()
    result = replace(solve(Q, 4, 4, proof=True), feature_names=dataset.feature_names)
    values = scores_of(dataset.data, result, correlation=True)
    rows = tuple(f"bottle {i}" for i in range(len(values)))
    scores = Scores(values, rows, "cultivar", dataset.target)
    lists = [
        alternatives(Q, 4, 0.1, previous=result.components[:k], feature_names=dataset.feature_names)
        for k in range(2)
    ]
    return Section(
        "Wine",
        result,
        Q,
        "178 wines",
        "correlation",
        certificate="certificate.zip",
        scores=scores,
        alternatives=lists,
    )


@pytest.fixture(scope="module")
def page(wine, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, [wine], command="orthospca fit wine.csv")
    return path


def brightness(browser: Browser) -> float:
    colour = browser.run("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour[4:-1].split(",")) / 765


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_opens_quietly(browser, page, size, scheme):
    """Tests that nothing complains, nothing is asked for, nothing is wider than the window."""
    browser.open(page, size, scheme)
    assert browser.complaints() == []
    asked = browser.requests(page)
    assert page.as_uri() in asked
    assert {url for url in asked if not url.startswith("data:")} == {page.as_uri()}
    assert browser.run("document.documentElement.scrollWidth") <= size[0]
    assert (brightness(browser) > 0.5) is (scheme == "light")
    for card in browser.run("[...document.querySelectorAll('.card')].map(c => c.scrollWidth)"):
        assert card <= size[0]
    # Loadings can be read on a phone: each with its name, inside the window.
    boxes = browser.run(
        "[...document.querySelectorAll('.bars li b')].map(b => b.getBoundingClientRect().right)"
    )
    assert boxes and max(boxes) <= size[0]
    sizes = browser.run("[...document.querySelectorAll('svg.chart')].map(s => s.getScreenCTM().a)")
    assert min(sizes) >= 0.7


def test_letters_can_be_read(browser, page):
    """Tests the contrast of text against what is behind it, in light and in dark."""
    contrast = """(() => {
      const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const parse = text => text.match(/[\\d.]+/g).map(Number);
      const paper = parse(getComputedStyle(document.querySelector('.card')).backgroundColor);
      const behind = node => {
        for (; node; node = node.parentElement) {
          const colour = parse(getComputedStyle(node).backgroundColor);
          if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return paper;
      };
      const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return ['p', 'dt', 'dd', 'figcaption', 'th', 'td', 'nav a', '.badge', '.verdict b', 'summary',
        'button', '.tick', '.name', '.key'].map(selector => {
        const node = document.querySelector('main ' + selector) ?? document.querySelector(selector);
        const style = getComputedStyle(node);
        const ink = parse(node instanceof SVGElement ? style.fill : style.color);
        return [selector, ratio(light(ink), light(behind(node)))];
      });
    })()"""
    for scheme in ("light", "dark"):
        browser.open(page, DESKTOP, scheme)
        for selector, ratio in browser.run(contrast):
            assert ratio >= 4.5, (scheme, selector, ratio)


def test_pointing(browser, page, wine):
    """Tests that a cell, a bar and a point say what they are, and that leaving ends it."""
    browser.open(page)
    j = wine.order[0]
    marks = "JSON.parse(document.querySelector('figure[data-name=loadings] .marks').textContent)"
    left, top, wide, high = browser.run(f"{marks}.grid")
    text = browser.point_at("loadings", str(left + wide / 2), str(top + high / 2))
    loading = f"{wine.result.components[0, j]:+.2f}".replace("-", "−")
    assert text == f"{wine.result.feature_names[j]}\ncomponent 1: {loading}"
    assert browser.point_at("loadings", str(left - 40), "5") == ""
    marks = marks.replace("=loadings", "=alternatives-1")
    left, top, wide, high = browser.run(f"{marks}.grid")
    text = browser.point_at("alternatives-1", str(left + wide / 2), str(top + high / 2))
    best = wine.alternatives[0].variances[0]
    assert text.endswith(f"choice 1: variance {best:.6g}, the best")
    text = browser.point_at("variance", "110", "200")
    assert text.startswith(f"component 1: {wine.result.variances[0]:.5g}")
    assert "ordinary PCA" in text


def test_keyboard(browser, page):
    """Tests that every chart can be reached and read with keys, aloud too."""
    browser.open(page)
    plots = browser.run("document.querySelectorAll('.plot').length")
    assert plots == browser.run("document.querySelectorAll('.plot[tabindex=\"0\"]').length") >= 6
    browser.run("document.querySelector('figure[data-name=variance] .plot').focus()")
    browser.key("ArrowRight")
    first = browser.tip()
    browser.key("ArrowRight")
    second = browser.tip()
    assert first.startswith("component 1") and second.startswith("component 2")
    assert browser.run("document.querySelector('[aria-live=polite].unseen').textContent") == second
    browser.key("Home")
    assert browser.tip() == first
    browser.key("Escape")
    assert browser.tip() == ""


def first_cells(browser: Browser, column: int) -> list[str]:
    rows = "[...document.querySelectorAll('#loadings1 tbody tr')].filter(r => !r.hidden)"
    return browser.run(f"{rows}.map(r => r.cells[{column}].textContent)")


def test_sorting_and_searching(browser, page, wine):
    """Tests that a click on a heading sorts, and that a word leaves the rows that have it."""
    browser.open(page)
    browser.click("#loadings1 th:nth-child(2) button")
    assert browser.run("document.querySelector('#loadings1 th:nth-child(2)').ariaSort") == (
        "descending"
    )
    shown = [cell for cell in first_cells(browser, 1) if cell]
    values = [float(cell.replace("−", "-")) for cell in shown]
    assert values == sorted(values, reverse=True)
    assert len(values) == len(wine.result.supports[0])
    browser.click("#loadings1 th:nth-child(1) button")
    names = first_cells(browser, 0)
    assert names == sorted(names)
    browser.run(
        "(i => { i.value = 'PHEN'; i.dispatchEvent(new Event('input')); })"
        "(document.querySelector('input[type=search]'))"
    )
    assert first_cells(browser, 0) == [name for name in names if "phen" in name]
    said = browser.run("document.querySelector('output').textContent")
    assert said == f"{len(first_cells(browser, 0))} of {len(names)} rows"


def test_other_axes(browser, page, wine):
    """Tests that scores of other components can be chosen, and that points then say so."""
    browser.open(page)
    figure = "document.querySelector('figure[data-name=scores]')"
    before = browser.run(f"{figure}.querySelector('path.dots').getAttribute('d')")
    browser.run(
        f"(s => {{ s.selectedIndex = 3; s.dispatchEvent(new Event('change')); }})"
        f"({figure}.querySelectorAll('select')[1])"
    )
    after = browser.run(f"{figure}.querySelector('path.dots').getAttribute('d')")
    assert before.count("M") == after.count("M") and before != after
    labels = browser.run(f"[...{figure}.querySelectorAll('.name')].map(t => t.textContent)")
    assert labels[0].startswith("component 1") and labels[1].startswith("component 4")
    browser.run(f"{figure}.querySelector('.plot').focus()")
    browser.key("Home")
    row = wine.scores.groups.index(min(wine.scores.groups))
    tip = browser.tip().splitlines()
    assert tip[:2] == [f"bottle {row}", wine.scores.groups[row]]
    assert tip[3].startswith("component 4: ")
    assert browser.complaints() == []


def test_downloads(browser, page, wine):
    """Tests that downloads are whole: loadings and result to the last digit, a true SVG file."""
    browser.open(page)
    browser.run("document.querySelectorAll('[data-result] button').forEach(b => b.click())")
    rows = list(csv.DictReader(browser.downloaded("loadings.csv").decode().splitlines()))
    assert tuple(row["variable"] for row in rows) == wine.result.feature_names
    found = [[float(row[f"component{k}"]) for row in rows] for k in range(1, 5)]
    np.testing.assert_array_equal(found, wine.result.components)
    browser.downloaded("result.json")
    loaded = Result.load(browser.downloads / "result.json")
    np.testing.assert_array_equal(loaded.components, wine.result.components)
    browser.run("document.querySelectorAll('figure[data-name=scores] .tools button')"
                ".forEach(b => b.click())")  # fmt: skip
    rows = list(csv.DictReader(browser.downloaded("scores.csv").decode().splitlines()))
    assert [row["row"] for row in rows] == list(wine.scores.rows)
    assert [row["cultivar"] for row in rows] == list(wine.scores.groups)
    drawing = browser.downloaded("scores.svg").decode()
    assert ET.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in drawing and "#2368b0" in drawing
    assert browser.downloaded("scores.png").startswith(b"\x89PNG")


def test_theme_button(browser, page):
    """Tests that a button changes the colours, whatever the system says."""
    for scheme, bright in (("light", False), ("dark", True)):
        browser.open(page, DESKTOP, scheme)
        browser.click("#theme")
        assert (brightness(browser) > 0.5) is bright
        assert browser.run("document.getElementById('theme').textContent") in ("Dark", "Light")


def test_names_are_text(browser, wine, tmp_path):
    """Tests that names with markup in them are shown as they are, pointed at and downloaded."""
    names = tuple(f"{NASTY[j % len(NASTY)]} {j}" for j in range(13))
    rows = tuple(NASTY[i % len(NASTY)] for i in range(178))
    part = replace(
        wine,
        title=NASTY[0],
        source=NASTY[1],
        result=replace(wine.result, feature_names=names),
        scores=Scores(wine.scores.values, rows, NASTY[1], rows),
    )
    write_report(tmp_path / "r.html", [part], title=NASTY[1], command=NASTY[0])
    browser.open(tmp_path / "r.html")
    assert browser.complaints() == []
    assert browser.run("typeof alarm") == "undefined"
    assert browser.run("document.querySelector('h2').textContent") == NASTY[0]
    assert browser.run("document.querySelectorAll('script:not([type]), img').length") == 1
    assert sorted(first_cells(browser, 0)) == sorted(names[j] for j in part.order)
    browser.run("document.querySelector('figure[data-name=path-variables] .plot').focus()")
    browser.key("Home")
    assert browser.tip().splitlines()[0].split("\u2028")[0] in {
        name.split("\u2028")[0] for name in names
    }
    assert browser.run("typeof alarm") == "undefined"


def test_without_script(browser, page, wine):
    """Tests that everything can be read where scripts do not run, and no dead button is shown."""
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        shown = browser.command("Runtime.evaluate", expression="document.body.innerText")
        text = shown["result"]["value"]
        for name in ("Components", "Loadings", "Scores", "Explained variance", "Proof"):
            assert name in text
        for j in wine.order:
            assert wine.result.feature_names[j] in text
        assert "orthospca verify certificate.zip" in text
        assert wine.result.certificate.sha256 in text
        assert "Search" not in text and "Download:" not in text
        drawn = browser.command(
            "Runtime.evaluate",
            expression="[...document.querySelectorAll('svg.chart')]"
            ".every(s => s.getBoundingClientRect().height > 100)",
        )
        assert drawn["result"]["value"] is True
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_print(browser, page):
    """Tests that on paper it is light, without contents list and buttons, and not cut off."""
    browser.open(page, DESKTOP, "dark")
    browser.command("Emulation.setEmulatedMedia", media="print", features=[])
    for hidden in ("nav", "#theme", ".tools", "input"):
        box = f"document.querySelector({hidden!r}).getBoundingClientRect().height"
        assert browser.run(box) == 0
    ink = browser.run("getComputedStyle(document.querySelector('h1')).color")
    assert sum(int(part) for part in ink[4:-1].split(",")) < 200
    printed = browser.command("Page.printToPDF", printBackground=True)
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_screen_readers(browser, page):
    """Tests the tree that screen readers read: landmarks, headings in order, names for all."""
    browser.open(page)
    # The tree is made beside the page, and may come later than it.
    until(lambda: "main" in browser.roles())
    found = browser.roles()
    assert len(found["main"]) == 1 and found["navigation"] == ["Contents"]
    for role in ("button", "link", "combobox", "searchbox", "image", "table", "region"):
        assert found.get(role), role
        assert all(found[role]), role
    levels = browser.run("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.parametrize(
    "shape", [(30, 2000, 20), pytest.param((100, 5000, 50), marks=pytest.mark.slow)]
)
def test_wide(shape, browser, tmp_path, made_up: Callable[[int, int, int], Result]):
    """Tests that many components of thousands of variables open and can be pointed at."""
    result = made_up(*shape)
    write_report(tmp_path / "r.html", [Section("wide", result)])
    browser.open(tmp_path / "r.html", PHONE)
    assert browser.complaints() == []
    assert browser.run("document.documentElement.scrollWidth") <= PHONE[0]
    browser.run("document.querySelector('figure[data-name=loadings] .plot').focus()")
    browser.key("ArrowRight")
    assert re.match(r"ENSG.*\ncomponent 1: ", browser.tip())
    nodes = browser.run("document.querySelectorAll('*').length")
    assert nodes < 40_000


def test_long_tables_show_that_they_scroll(browser, tmp_path):
    """Tests that a table has all its columns in view, and a shadow where there are more rows."""
    Q = np.corrcoef(np.random.default_rng(2).standard_normal((30, 60)), rowvar=False)
    result = solve(Q, 8, 6, gap=0.5)
    write_report(tmp_path / "long.html", [Section("Long", result, Q)])
    browser.open(tmp_path / "long.html")
    box = "document.querySelector('#loadings1').parentElement"
    assert browser.run(f"{box}.scrollWidth <= {box}.clientWidth")
    assert browser.run(f"{box}.scrollHeight > {box}.clientHeight")
    assert browser.run(f"getComputedStyle({box}).backgroundImage").count("gradient") == 7
