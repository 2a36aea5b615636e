"""The local page in headless Chromium, with real clicks and keys; skipped where browser or driver are missing.

Needs Debian's packages chromium and chromium-driver, and `pip install --group browser`.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import subwords
from chatting import USUAL, chatting, said
from inside import PageApi, PageServer, TokenizerFile, study_page
from subwords import Tokenizer

pytest.importorskip("selenium", reason="the group `browser` is not installed")

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed")

TEXT = "low lower lowest hugs naïve"
CORPUS = [f"{TEXT} newest widest hugging bun"] * 9
TOKENIZERS = {
    "bpe": subwords.train(CORPUS, vocab_size=300),
    "small": subwords.train(CORPUS, vocab_size=262),
    "wordpiece": subwords.train(CORPUS, algorithm="wordpiece", normalizer="bert-uncased", vocab_size=40),
    "unigram": subwords.train(CORPUS, algorithm="unigram", vocab_size=40),
}
BPE, SMALL, WORDPIECE, UNIGRAM = range(4)
CONTRAST = """
const parse = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (element) => { for (let at = element; at; at = at.parentElement) {
  const c = parse(getComputedStyle(at).backgroundColor); if (c[3] === 1) return c.slice(0, 3); }
  return [255, 255, 255]; };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.getClientRects().length || element.closest("svg, noscript")) continue;
  const style = getComputedStyle(element);
  const a = light(parse(style.color).slice(0, 3)), b = light(ground(element));
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 90)]);
}
return found.sort((a, b) => a[0] - b[0]);
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page")
    for name, tok in TOKENIZERS.items():
        tok.save(found / f"{name}.json")
    return found


class Page:
    """The page in the browser; every wait ends with an error after ten seconds."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, fragment: str = "") -> None:
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}{fragment}")
        self.wait(lambda: self.run("return document.documentElement.dataset.ready === 'yes'"))

    def run(self, script: str, *arguments: object) -> Any:
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], object]) -> None:
        def met() -> object:
            try:
                return condition()
            except StaleElementReferenceException:  # the page was drawn anew between finding and reading
                return False

        stop = time.monotonic() + 10
        while not met():
            assert time.monotonic() < stop, "waited ten seconds"
            time.sleep(0.01)

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def said(self, selector: str) -> str:
        """Return the text that is seen, in one step: the page may draw it anew."""
        text = self.run("return document.querySelector(arguments[0]).innerText.trim()", selector)
        assert isinstance(text, str)
        return text.replace("\t", " ").replace("\n\n", "\n")  # between cells of a table; between paragraphs

    def chips(self, column: int) -> list[WebElement]:
        return self.all(f".column:nth-child({column + 1}) button.chip")

    def texts(self, column: int) -> list[str]:
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((chip) => chip.textContent)",
            f".column:nth-child({column + 1}) button.chip",
        )
        assert isinstance(found, list)
        return found

    def type(self, text: str) -> None:
        """Replace the text by keys, and wait for the tokens of the whole text."""
        self.one("#text").clear()
        self.one("#text").send_keys(text)
        self.wait(lambda: f"{len(text):,} characters" in self.said("#figures-title"))

    def put(self, text: str) -> None:
        """Replace the text at once, and wait for its tokens."""
        self.run(
            "const t = document.getElementById('text'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))",
            text,
        )
        size = len(text.encode("utf-16-le", "surrogatepass")) // 2
        self.wait(lambda: self.run("return document.getElementById('text').value.length") == size)
        self.wait(lambda: f": {len(text):,} characters" in self.said("#figures-title"))

    def fact(self, name: str) -> str:
        return self.said(f'#detail [data-fact="{name}"]')

    def select(self, column: int, place: int) -> None:
        self.chips(column)[place].click()
        self.wait(lambda: self.one("#steps").is_displayed())

    def media(self, **features: str) -> None:
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})

    def size(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PageServer]:
    with served(PageApi([TokenizerFile(str(folder / f"{name}.json")) for name in TOKENIZERS], TEXT)) as found:
        yield found


@contextmanager
def served(api: PageApi) -> Iterator[PageServer]:
    with PageServer(api, port=0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


@pytest.fixture
def page(browser: webdriver.Chrome, server: PageServer) -> Iterator[Page]:
    found = Page(browser, server.address)
    found.size(1280, 900)
    found.media(prefers_reduced_motion="reduce")  # scrolling ends at once
    found.open()
    browser.get_log("performance")
    browser.get_log("browser")
    yield found
    requests = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith((server.address, "about:"))] == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []


def shown(tok: Tokenizer, text: str) -> list[str]:
    """The tokens of a text as chips show them: spaces as boxes, parts of characters as bytes."""
    tokens = (tok.model.vocab[i].decode("utf-8", "backslashreplace") for i in tok(text).ids.tolist())
    return [token.replace(" ", "␣") for token in tokens]


# --- tokens


def test_chips_show_the_tokens_of_every_tokenizer(page: Page) -> None:
    for column, tok in enumerate(TOKENIZERS.values()):
        assert page.texts(column) == shown(tok, TEXT)
    assert [title.text.split("/")[-1] for title in page.all(".column h2")] == [f"{name}.json" for name in TOKENIZERS]


def test_chips_follow_what_is_typed(page: Page) -> None:
    page.type("hugs low")
    for column, tok in enumerate(TOKENIZERS.values()):
        assert page.texts(column) == shown(tok, "hugs low")
    page.one("#text").send_keys("est")
    page.wait(lambda: page.texts(BPE) == shown(TOKENIZERS["bpe"], "hugs lowest"))
    page.type("x")
    page.one("#text").send_keys(Keys.BACKSPACE)
    page.wait(lambda: page.texts(BPE) == [])
    assert "No tokens" in page.said(".chips")


def test_chips_follow_changes_in_the_middle_of_a_text(page: Page) -> None:
    column = "document.querySelector('.column .chips')"
    for text in ("low\n\nlower hugs", "low\nlower hugs", "low\nlowest\n\nlower hugs", "\nlower hugs", "lower", ""):
        page.put(text)
        for place, tok in enumerate(TOKENIZERS.values()):
            assert page.texts(place) == [token.replace("\n", "↵") for token in shown(tok, text)]
        assert page.run(f"return {column}.querySelectorAll('br').length") == text.count("\n")
        assert page.run(f"return {column}.querySelectorAll('[tabindex=\"0\"]').length") == (1 if text else 0)


def test_pointing_at_a_token_shows_what_is_known_of_it(page: Page) -> None:
    tok = TOKENIZERS["bpe"]
    ids = tok.encode("low low lowest")
    page.put("low low lowest")
    ActionChains(page.browser).move_to_element(page.chips(BPE)[1]).perform()
    page.wait(lambda: page.all('#detail [data-fact="id"]'))
    assert page.fact("id") == str(ids[1])
    assert page.fact("bytes") == tok.model.vocab[ids[1]].hex(" ")
    assert page.fact("count") == f"{ids.count(ids[1])} in this text"
    made: Any = tok.model.merges[:, 2].tolist()  # type: ignore[union-attr]
    assert page.fact("rank") == str(made.index(ids[1]))
    assert page.fact("characters") == "3 to 7: ␣low"
    ActionChains(page.browser).move_to_element(page.chips(UNIGRAM)[0]).perform()
    page.wait(lambda: page.all('#detail [data-fact="score"]'))
    assert float(page.fact("score")) < 0


def test_disagreements_are_outlined_until_the_box_is_unchecked(page: Page) -> None:
    outlined = (
        "return [...document.querySelectorAll('.chip')].filter((c) => getComputedStyle(c).boxShadow !== 'none').length"
    )
    differing = len(page.all("button.chip.differs"))
    assert 0 < differing < len(page.all("button.chip"))
    assert page.run(outlined) == differing
    assert "tokenizers disagree" in (page.all("button.chip.differs")[0].get_attribute("aria-label") or "")
    page.one("#outline").click()
    page.wait(lambda: page.run(outlined) == 0)


def test_long_texts_show_more_on_demand(page: Page) -> None:
    page.put("q " * 1500 + "q")
    page.wait(lambda: len(page.texts(SMALL)) == 2000)
    more = page.all(".column")[SMALL].find_element(By.CSS_SELECTOR, "article > button")
    assert more.text == "Show more: 1,001 of 3,001 tokens are not shown"
    more.send_keys(Keys.ENTER)
    page.wait(lambda: len(page.texts(SMALL)) == 3001)
    assert not more.is_displayed()


# --- steps of a word


def test_merges_are_replayed_by_slider_and_buttons(page: Page) -> None:
    page.select(BPE, 1)
    title = page.said("#steps-title")
    assert title.startswith("How")
    assert "␣lower" in title
    symbols = "return [...document.querySelectorAll('.state .chip')].map((chip) => chip.textContent)"
    assert page.run(symbols) == ["␣", "l", "o", "w", "e", "r"]
    slider = page.one("#steps input[type=range]")
    last = int(slider.get_attribute("max") or 0)
    assert last > 2
    slider.send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: len(page.run(symbols)) == 5)
    assert page.said("#steps output") == f"1 of {last} merges"
    assert "rank" in page.said("#steps .say")
    page.one("#steps .slider button:last-of-type").click()
    page.wait(lambda: len(page.run(symbols)) == 4)
    page.one("#steps .slider button").click()
    page.wait(lambda: len(page.run(symbols)) == 5)
    slider.send_keys(Keys.END)
    tokens = [chip.text for chip in page.all(".column:first-child .chip.selected")]
    page.wait(lambda: page.run(symbols) == tokens)
    page.one("#steps summary").click()
    assert len(page.all("#steps tbody tr")) == last


# --- the address


def test_a_reload_keeps_text_and_options(page: Page) -> None:
    text = "lowest & 100% #1 + naïve\n🙂 ?"
    page.put(text[:-1])
    page.one("#text").send_keys(Keys.END, "?")
    page.all("input[name=view]")[1].click()
    page.one("#outline").click()
    page.one("#special").click()
    page.wait(lambda: "special=yes" in page.browser.current_url and "%3F" in page.browser.current_url)
    page.browser.refresh()
    page.wait(lambda: page.run("return document.documentElement.dataset.ready === 'yes'"))
    assert page.one("#text").get_attribute("value") == text
    assert page.texts(BPE) == [str(i) for i in TOKENIZERS["bpe"].encode(text)]
    assert [page.one(name).is_selected() for name in ("#outline", "#special")] == [False, True]


def test_an_address_with_a_text_opens_it(page: Page) -> None:
    page.open("#text=hugs+bun")
    assert page.texts(BPE) == shown(TOKENIZERS["bpe"], "hugs bun")
    page.run("location.hash = 'text=low'")
    page.wait(lambda: page.texts(BPE) == shown(TOKENIZERS["bpe"], "low"))


# --- keyboard and screen readers


def test_tab_and_arrows_reach_every_token(page: Page) -> None:
    focused = "return document.activeElement.getAttribute('aria-label')"
    page.one("#keys").send_keys(Keys.TAB)
    first = page.chips(BPE)[0]
    assert page.browser.switch_to.active_element == first
    for place in range(1, 4):
        page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        assert page.browser.switch_to.active_element == page.chips(BPE)[place]
        assert page.fact("id") == str(TOKENIZERS["bpe"].encode(TEXT)[place])
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert page.browser.switch_to.active_element == page.chips(BPE)[2]
    page.browser.switch_to.active_element.send_keys(Keys.END)
    assert page.browser.switch_to.active_element == page.chips(BPE)[-1]
    page.browser.switch_to.active_element.send_keys(Keys.TAB)  # one stop for each column
    assert page.browser.switch_to.active_element == page.chips(SMALL)[0]
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait(lambda: page.one("#steps").is_displayed())
    assert page.browser.switch_to.active_element == page.chips(SMALL)[0]
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.browser.switch_to.active_element == page.one("#text")
    assert page.run(focused) is None


def test_everything_that_takes_the_focus_has_a_name(page: Page) -> None:
    for column, place in ((BPE, 1), (UNIGRAM, 1), (WORDPIECE, 1)):
        page.select(column, place)
        tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {"button", "slider", "textbox", "checkbox", "radio", "group", "region", "article", "image", "table"}
        nodes = [node for node in tree if not node["ignored"] and node["role"]["value"] in roles - {"table"}]
        assert len(nodes) > 30
        focusable = [
            node
            for node in nodes
            if any(one["name"] == "focusable" for one in node.get("properties", ()))
            or node["role"]["value"] in ("article", "image", "img")
        ]
        assert [node["role"]["value"] for node in focusable if not node["name"].get("value")] == []
    assert page.run("return document.documentElement.lang") == "en"
    lists = "return [...document.querySelectorAll('.chips')]"
    assert page.run(f"{lists}.map((one) => one.querySelectorAll('[tabindex=\"0\"]').length)") == [1, 1, 1, 1]


def test_reduced_motion_is_respected(page: Page) -> None:
    name = "return getComputedStyle(document.querySelector('.chip.fresh')).animationName"
    page.select(BPE, 1)
    page.one("#steps input[type=range]").send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: page.all(".chip.fresh"))
    assert page.run(name) == "none"
    page.media(prefers_reduced_motion="no-preference")
    assert page.run(name) == "appear"


# --- looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(page: Page, scheme: str) -> None:
    page.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    page.put("abcdefghijklmnopqrstuvwxyz <s> low lowest hugs 0123456789 漢 naïve")
    used = page.run("return [...new Set([...document.querySelectorAll('.chip')].flatMap((c) => [...c.classList]))]")
    assert {f"c{number}" for number in range(8)} | {"special"} <= set(used)
    for column in (BPE, WORDPIECE, UNIGRAM):
        page.select(column, 1)
        ratios = page.run(CONTRAST)
        assert len(ratios) > 100
        assert ratios[0][0] >= 4.5, ratios[:3]
    assert (page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(22, 23, 27)") == (
        scheme == "dark"
    )


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(page: Page, width: int) -> None:
    page.size(width, 900)
    page.put(f"{'long' * 60} low")
    for column in (BPE, UNIGRAM, WORDPIECE):
        page.select(column, len(page.chips(column)) - 1)
        assert page.run("return document.documentElement.scrollWidth") <= width
    boxes = [column.rect["x"] for column in page.all(".column")]
    assert len(set(boxes)) == (4 if width == 1280 else 1)


# --- hostile texts


HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</textarea><img src=x onerror='window.hacked = 1'>",
    "<svg onload=window.hacked=1>",
    "&lt;b&gt; \" ' `",
    "javascript:window.hacked=1",
)


def test_markup_in_the_text_stays_text(page: Page) -> None:
    elements = "return document.querySelectorAll('script, img, iframe, textarea, svg').length"
    before = page.run(elements)
    for text in HOSTILE:
        page.put(text)
        assert "".join(page.texts(SMALL)).replace("␣", " ") == text
        page.select(SMALL, 0)
        assert page.run(elements) == before
        page.open(f"#text={quote(text)}")
        assert page.one("#text").get_attribute("value") == text
        assert page.run(elements) == before
        assert page.run("return window.hacked") is None


def test_invisible_characters_are_visible(page: Page) -> None:
    text = "a\u202eb\u2066\u200f\x00\x1b\u2028\u00a0\ufeff c"
    page.put(text)
    everything = page.run("return document.getElementById('columns').textContent")
    assert not [character for character in text if character in everything and character not in "abc "]
    assert "\\x00" in everything
    assert "\\x1b" in everything
    page.one("#columns button.chip").click()
    page.wait(lambda: page.one("#steps").is_displayed())
    assert "\u202e" not in page.run("return document.getElementById('detail').textContent")


def test_a_lone_surrogate_is_reported(page: Page) -> None:
    page.run("const t = document.getElementById('text'); t.value = 'a\\ud800'; t.dispatchEvent(new Event('input'))")
    page.wait(lambda: "lone surrogate U+D800" in page.said("#status"))
    page.put("low")
    page.wait(lambda: page.said("#status") == "")
    page.browser.get_log("browser")  # Chromium reports the answer 400


def test_a_text_of_10_mb_is_cut_and_the_page_stays_quick(page: Page) -> None:
    granted = {"origin": page.address.rstrip("/"), "permissions": ["clipboardReadWrite"]}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", granted)
    page.run("document.getElementById('text').select()")
    written = "navigator.clipboard.writeText('low '.repeat(2500000)).then(() => arguments[0]('yes'), arguments[0])"
    assert page.browser.execute_async_script(written) == "yes"
    started = time.monotonic()
    page.one("#text").send_keys(Keys.CONTROL, "v")
    page.wait(lambda: "200,000 characters" in page.said("#figures-title"))
    assert time.monotonic() - started < 5
    assert "9,800,000 characters are left out" in page.said("#notice")
    assert "a reload loses this one" in page.said("#notice")
    assert len(page.run("return document.getElementById('text').value")) == 200_000
    assert len(page.all("button.chip")) == 8000
    assert "low" not in page.browser.current_url


# --- files and the server


def test_files_that_change_are_shown_anew(browser: webdriver.Chrome, tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    TOKENIZERS["bpe"].save(path)
    with served(PageApi([TokenizerFile(str(path))], TEXT)) as server:
        page = Page(browser, server.address)
        page.open()
        assert not page.one("#outline-option").is_displayed()  # one tokenizer disagrees with nobody
        TOKENIZERS["small"].save(path)
        page.wait(lambda: page.texts(0) == shown(TOKENIZERS["small"], TEXT))
        path.write_text("{")
        page.wait(lambda: page.one(".problem").is_displayed())
        assert "cannot be read now; this is the tokenizer from before" in page.said(".problem")
        assert page.texts(0) == shown(TOKENIZERS["small"], TEXT)
        TOKENIZERS["wordpiece"].save(path)
        page.wait(lambda: page.texts(0) == shown(TOKENIZERS["wordpiece"], TEXT))
        assert not page.one(".problem").is_displayed()
    page.wait(lambda: "The server does not answer" in page.said("#status"))
    browser.get("about:blank")
    browser.get_log("browser")


def test_another_site_cannot_frame_or_read_the_page(
    browser: webdriver.Chrome, server: PageServer, folder: Path
) -> None:
    """A page of another origin (another port) frames the page, and asks its API."""
    api = PageApi([TokenizerFile(str(folder / "bpe.json"))])
    with served(api) as other:
        page = Page(browser, other.address)
        page.open()
        found = browser.execute_async_script(
            "const done = arguments[1], url = arguments[0];"
            "const ask = (options) => fetch(url + 'api/encode', options).then(() => 'read', () => 'refused');"
            "Promise.all([ask({}), ask({method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}),"
            " ask({method: 'POST', mode: 'no-cors', body: '{}'})]).then(done)",
            server.address,
        )
        assert found == ["refused", "refused", "refused"]
    browser.get("about:blank")
    browser.get_log("browser")


def test_panels_show_text_as_text(browser: webdriver.Chrome, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some: dict[str, Any] = {
        "audited": lambda tok: [
            {
                "severity": "error",
                "kind": "unreachable",
                "message": f"<b>1 of {tok.vocab_size}</b>",
                "ids": [3],
                "meaning": "why <i>",
            }
        ],
        "evaluated": lambda toks, text: [
            ["characters", *(len(text) for _ in toks)],
            ["mean", 1, 0.5],
            ["none", None, "x"],
        ],
        "told_before": lambda trace, start, stop: [f"<i>{trace.text[start:stop]}"],
    }
    for name, function in some.items():
        monkeypatch.setattr(study_page, name, function)
    files = [TokenizerFile(str(folder / f"{name}.json")) for name in ("bpe", "unigram")]
    with served(PageApi(files, "low lower")) as server:
        page = Page(browser, server.address)
        page.open()
        page.one("#evaluate").send_keys(Keys.ENTER)
        page.wait(lambda: page.all("#evaluation-body tbody tr"))
        rows = [row.text for row in page.all("#evaluation-body tbody tr")]
        assert rows == ["characters 9 9", "mean 1.000 0.500", "none – x"]
        assert not page.all("#evaluation-body p")
        page.one("#special").click()
        page.one("#evaluate").send_keys(Keys.ENTER)
        page.wait(lambda: page.all("#evaluation-body p.soft") and page.all("#evaluation-body table"))
        assert "are read as text here" in page.said("#evaluation-body p")
        page.one("#special").click()
        page.all("#audit button")[1].send_keys(Keys.ENTER)
        page.wait(lambda: page.all("#audit li"))
        size = TOKENIZERS["unigram"].vocab_size
        assert page.said("#audit section") == f"error unreachable (1)\nWhy <i>.\n<b>1 of {size}</b>"
        page.select(0, 1)
        assert page.said("#steps .before") == "<i> lower"
    browser.get("about:blank")
    browser.get_log("browser")


def test_a_conversation_is_shown_by_owner(browser: webdriver.Chrome, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    tok = chatting()
    (tmp_path / "tok").mkdir()
    tok.save(tmp_path / "tok")
    row = [{"role": "system", "content": "Be kind."}, *said("a </s><b>", "Rays.")]
    with served(PageApi([TokenizerFile(str(tmp_path / "tok"))])) as server:
        page = Page(browser, server.address)
        page.size(1280, 900)
        page.open()
        assert not page.one("#chat-body").is_displayed()
        page.one("#chat-open").send_keys(Keys.ENTER)
        page.wait(lambda: page.all("table.conversation"))
        assert page.run("return document.getElementById('template').value") == tok.chat_template
        assert not page.one("#chat-own").is_enabled()
        put = (
            "const t = document.getElementById(arguments[0]); "
            "t.value = arguments[1]; t.dispatchEvent(new Event('input'))"
        )
        page.run(put, "conversation", json.dumps(row))
        page.wait(lambda: "0 system" in page.said("table.conversation"))
        assert [each.text for each in page.all(".conversation th")] == ["0 system", "1 user", "2 assistant", "template"]
        made = tok.chat(row)
        names = [tok.model.vocab[index].decode().replace(" ", "␣").replace("\n", "↵") for index in made.ids.tolist()]
        chips = "return [...document.querySelectorAll('.conversation .chip')].map((c) => [c.textContent, c.className])"
        shown = page.run(chips)
        assert [text for text, _ in shown] == names
        for kind, marks in (("special", made.control), ("typed", made.typed), ("trained", made.mask())):
            assert [kind in classes.split() for _, classes in shown] == marks.tolist()
        assert page.run(CONTRAST)[0][0] >= 4.5
        assert page.run("return document.querySelectorAll('#chat b').length") == 0
        assert "a </s><b><|end|>↵" in page.said("#chat pre")

        page.run(put, "template", USUAL.replace("<|end|>\n", "</s>\n"))
        page.wait(lambda: page.all("table.changes"))
        assert f"− <|end|> {tok.token_to_id('<|end|>')}" in page.said(".changes")
        assert f"+ </s> {tok.token_to_id('</s>')}" in page.said(".changes")
        page.run(put, "template", "a\n{{ raise_exception('no <b>') }}")
        page.wait(lambda: page.one("#chat-error").is_displayed())
        assert page.said("#chat-error").splitlines() == [
            "the chat template, line 2, refuses this conversation: no <b>",
            "2: {{ raise_exception('no <b>') }}",
        ]
        page.one("#chat-own").send_keys(Keys.ENTER)
        page.wait(lambda: page.all("table.conversation") and not page.one("#chat-error").is_displayed())
        assert page.run("return document.getElementById('template').value") == tok.chat_template
        page.size(400, 900)
        assert page.run("return document.documentElement.scrollWidth") <= 400
    browser.get("about:blank")
    browser.get_log("browser")


DROP = """
const [content, name] = arguments, data = new DataTransfer();
data.items.add(new File([content], name));
document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
"""


def test_a_file_that_is_dropped_is_the_text(page: Page) -> None:
    page.run(DROP, "low\nlowest <b>é</b>", "a.txt")
    page.wait(lambda: page.run("return document.getElementById('text').value") == "low\nlowest <b>é</b>")
    page.wait(lambda: page.texts(SMALL)[:1] == shown(TOKENIZERS["small"], "low")[:1])
    page.run(DROP, "a\0b", "<i>.bin")
    page.wait(lambda: page.said("#status") == "<i>.bin is not a text: it has NUL characters.")
    page.run(DROP.replace("[content]", "[new Uint8Array(content)]"), [*"caf\xe9".encode("latin-1")], "old.txt")
    page.wait(lambda: page.said("#status") == "old.txt is not UTF-8: what cannot be read is shown as \ufffd.")
    assert page.run("return document.getElementById('text').value") == "caf\ufffd"
    page.run(DROP, "low " * 300_000, "long.txt")
    page.wait(lambda: "left out" in page.said("#notice"))


def test_no_result_of_an_old_text_stays(browser: webdriver.Chrome, folder: Path) -> None:
    files = [TokenizerFile(str(folder / f"{name}.json")) for name in ("bpe", "wordpiece")]
    with served(PageApi(files, "low lower")) as server:
        page = Page(browser, server.address)
        page.open()
        for text in ("hugs", ""):
            page.one("#evaluate").send_keys(Keys.ENTER)
            page.wait(lambda: page.all("#evaluation-body tbody tr"))
            if page.chips(0):
                page.run("document.querySelector('button.chip').focus()")
                page.wait(lambda: page.all('#detail [data-fact="id"]'))
            page.run("document.activeElement.blur()")
            page.put(text)
            page.wait(lambda: not page.all("#evaluation-body *"))
            assert not page.all("#detail [data-fact]")
            assert page.one("#detail .hint").is_displayed()
    browser.get("about:blank")
    browser.get_log("browser")


def test_one_text_has_one_number_of_tokens(browser: webdriver.Chrome, folder: Path) -> None:
    files = [TokenizerFile(str(folder / f"{name}.json")) for name in TOKENIZERS]
    with served(PageApi(files, "low lower\n\nlowest hugs\n naïve\n")) as server:
        page = Page(browser, server.address)
        page.open()
        page.one("#evaluate").send_keys(Keys.ENTER)
        page.wait(lambda: page.all("#evaluation-body tbody tr"))
        rows = {
            row.find_element(By.CSS_SELECTOR, "th").text: [
                cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")
            ]
            for row in page.all("#evaluation-body tbody tr")
        }
        assert rows["tokens"] == [row.text.split()[1] for row in page.all("#figures-body tr")]
        assert f"{rows['bytes'][0]} bytes" in page.said("#figures-title")
    browser.get("about:blank")
    browser.get_log("browser")


def test_a_part_of_a_character_tells_the_character_and_rows_begin_at_one_edge(page: Page) -> None:
    page.put("a 👍 b")
    groups = (
        "return [...document.querySelectorAll('.column:first-child [data-part]')]"
        ".map((e) => [e.dataset.of ?? '', e.dataset.part])"
    )
    assert page.run(groups) == [["👍", "first part"], ["", "part"], ["", "part"], ["", "part last"]]
    page.put("x 👩‍🚀 東 " * 3)  # an emoji of three code points is one group
    assert [of for of, _ in page.run(groups) if of] == ["👩\\u200d🚀", "東"] * 3
    page.size(420, 800)
    page.put("low lower lowest " * 20)
    lefts = page.run(
        "const rows = new Map(); for (const one of document.querySelectorAll('.column:first-child button.chip')) {"
        " const box = one.getBoundingClientRect(), top = Math.round(box.top);"
        " rows.set(top, Math.min(box.left, rows.get(top) ?? 1e9)); }"
        "return [...rows.values()]"
    )
    assert len(lefts) > 2
    assert max(lefts) - min(lefts) < 1
    page.size(1200, 900)


def test_no_token_has_the_color_of_its_left_neighbour_and_the_bar_of_a_phone_shows_every_fact(page: Page) -> None:
    colors = (
        "return [...document.querySelectorAll('.column')].map((column) => [...column.querySelectorAll('button.chip')]"
        ".map((e) => [e.classList.contains('special') ? '' : getComputedStyle(e).backgroundColor, e.dataset.ends]))"
    )
    for text in ("text ext t t t t tt", "low\nlow low lower est est " * 30):
        page.put(text)
        for column in page.run(colors):
            assert all(left[0] != right[0] or not left[0] for left, right in pairwise(column) if not left[1])
    page.size(390, 800)
    page.run("document.querySelector('button.chip').focus()")
    beyond = (
        "const edge = document.documentElement.clientWidth; return [...document.querySelectorAll('#detail dd')]"
        ".filter((e) => e.getBoundingClientRect().right > edge).length"
    )
    assert page.all("#detail dd") and page.run(beyond) == 0
    page.size(1200, 900)
