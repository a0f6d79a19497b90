"""The HTML report in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from chromium import Page
from timed import design, record

from bench.design import sweep_ways
from bench.findings import find
from bench.report import page

PLOTS = {
    "speedup": ["draft tokens a round, K", "speedup, plain = 1", "auto", "loop"],
    "acceptance": ["position in the draft", "accepted, if reached"],
    "time": ["milliseconds a round", "lookup K=2", "self K=8"],
    "verify": ["rows of one forward, M", "V(M) = T(M) / T(1)", "serial: M", "flat: 1"],
}
EVIL = "<script>document.title='run'</script><img src=http://evil.invalid/x.png>"

pytestmark = pytest.mark.skipif(
    chromium.find() is None, reason="needs Chromium or Chrome on the PATH (apt-get install chromium)"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two sources, with a model and a class that are named like an attack."""
    plan = design(sweep_ways(["lookup", "self"], [1, 2, 4, 8]), prompts=8)
    plan.model["name"] = EVIL
    plan.prompts[0] = (plan.prompts[0][0], EVIL, True)
    source = record({"lookup K=2": 1.4, "self K=8": 0.6}, plan, noise=0.05)
    findings = find(source)
    assert findings
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(page.report(source, findings), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def opened(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium.page(tmp_path_factory.mktemp("profile")) as opened:
        opened.call(
            "Emulation.setDeviceMetricsOverride", width=375, height=800, deviceScaleFactor=2, mobile=True
        )
        opened.open(report)
        yield opened


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_there_labelled_and_described(opened: Page, name: str) -> None:
    texts = opened.evaluate(f"[...document.querySelectorAll('#{name} text')].map(t => t.textContent)")
    assert set(PLOTS[name]) <= set(texts)
    assert opened.evaluate(f"document.querySelector('#{name}').getAttribute('role')") == "img"
    for part in ("title", "description"):
        assert opened.evaluate(f"document.getElementById('{name}-{part}').textContent.length") > 20
    marks = opened.evaluate(f"document.querySelectorAll('#{name} polygon, #{name} rect').length")
    assert marks >= 2


@pytest.mark.parametrize("name", PLOTS)
def test_no_label_lies_outside_its_plot(opened: Page, name: str) -> None:
    outside = opened.evaluate(
        f"""(() => {{
            const box = document.querySelector('#{name}').getBoundingClientRect();
            return [...document.querySelectorAll('#{name} text')].filter(text => {{
                const own = text.getBoundingClientRect();
                return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
            }}).map(text => text.textContent);
        }})()"""
    )
    assert outside == []


def test_nothing_is_fetched_and_nothing_runs(opened: Page, report: Path) -> None:
    assert opened.requests == [report.as_uri()]
    assert opened.evaluate("document.title") != "run"
    assert opened.evaluate("document.querySelectorAll('script, img, link, iframe').length") == 0


def test_a_phone_does_not_scroll_sideways(opened: Page) -> None:
    assert opened.evaluate("document.scrollingElement.scrollWidth") <= 375
    assert opened.evaluate("getComputedStyle(document.body).fontSize") == "16px"
    # Plots keep the size of their letters.
    assert opened.evaluate("document.querySelector('#speedup').getBoundingClientRect().width") > 320


def test_both_colour_schemes_are_there_and_differ(opened: Page) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        opened.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        seen[scheme] = [
            opened.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{property}")
            for selector, property in (
                ("body", "backgroundColor"),
                ("body", "color"),
                ("#speedup text", "fill"),
                ("#speedup .fill0", "fill"),
                ("#speedup .one", "stroke"),
            )
        ]
    assert all(light != dark for light, dark in zip(*seen.values(), strict=True))


def test_every_table_has_a_caption_and_scrolls_by_itself(opened: Page) -> None:
    tables = opened.evaluate("[...document.querySelectorAll('table')].map(t => t.id)")
    assert tables == ["ways", "positions", "parts", "groups", "environment"]
    assert opened.evaluate("document.querySelectorAll('caption').length") == len(tables)
    assert opened.evaluate("document.querySelectorAll('.scroll[tabindex=\"0\"] > table').length") == len(
        tables
    )
    assert opened.evaluate("document.querySelectorAll('th:not([scope])').length") == 0


def test_the_series_of_a_plot_have_names(opened: Page) -> None:
    legend = "[...document.querySelector('.legend').children].map(item => item.lastChild.textContent)"
    assert opened.evaluate(legend) == ["lookup", "self", "loop"]
