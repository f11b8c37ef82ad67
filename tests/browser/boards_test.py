"""Comparisons and the pages of leaderboards in a real browser: from disk and from a web server, with JSON and feed."""

import contextlib
import json
import threading
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import browser  # the path to tests/e2e comes with it
import kq
import runs

ATOM = "{http://www.w3.org/2005/Atom}"


def valid_by_schema(document: object, schema: str) -> None:
    """Checks a document against a shipped schema, where the Python has jsonschema."""
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.validate(document, json.loads((browser.ROOT / "share" / schema).read_text()))


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Boards(browser.BrowserTest):
    hosts = ("http://127.0.0.1:",)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.store = runs.two_runs(cls.folder)
        cls.site = cls.folder / "site"
        cls.end(("leaderboard", "--store", cls.store, "--html", cls.site, "--base-url", "https://example.org/kq"), 0)

    @classmethod
    def end(cls, words: tuple[str | Path, ...], code: int) -> str:
        done = kq.kq(*words)
        if done.returncode != code:
            raise AssertionError(f"{done.args} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def setUp(self) -> None:
        super().setUp()
        self.size(*browser.WIDE)
        self.scheme("light")

    def test_every_link_of_the_index_leads_to_a_page_without_an_error(self) -> None:
        with served(self.site) as address:
            self.open(address + "/index.html")
            self.assertEqual(sorted(self.texts("tbody td:first-child a")), ["gelu", "relu"])
            for link in sorted({one.get_attribute("href") for one in self.all("a[href]")}):
                if link.endswith((".xml", ".json")):
                    self.assertTrue((self.site / link.rpartition("/")[2]).exists())
                    continue
                self.open(link)
                if "#job=" in link:  # the page may lead on to the page that has the job
                    self.until(
                        lambda: self.js("return document.getElementById('job')?.open ?? false"), "the job is open"
                    )
                self.wait_for_plots()
                self.assert_fits()

    def test_long_words_do_not_widen_a_page(self) -> None:
        # Which submission holds a record differs between runs, and with it whose name stands in a tile.
        for page in (self.site / "index.html", *(self.site / "boards").glob("*.html")):
            self.open(page)
            self.js(
                "for (const one of document.querySelectorAll('h1, h2, .tile *, td, li')) one.append('w'.repeat(200))"
            )
            self.assert_fits()

    def test_a_board_opens_from_disk_with_its_history_and_evidence(self) -> None:
        (page,) = (self.site / "boards").glob("relu.*.html")
        self.open(page)
        self.wait_for_plots()
        ranks = [int(text.removeprefix("≈ ")) for text in self.texts("#entries tbody td:first-child")]
        self.assertEqual(ranks, sorted(ranks))
        self.assertEqual(self.all("main script, main img"), [])
        self.assertIsNone(self.js("return document.documentElement.dataset.broken ?? null"))
        for link in self.all("#entries a"):
            file = unquote(link.get_attribute("href").partition("#")[0].removeprefix("file://"))
            self.assertTrue(Path(file).exists(), file)
        self.assertEqual(self.js(browser.CONTRAST), [])

    def test_tables_sort_and_filter_with_their_state_in_the_address(self) -> None:
        (page,) = (self.site / "boards").glob("relu.*.html")
        self.open(page)
        count = len(self.all("#entries tbody tr"))
        self.one("input[type=search]").send_keys("relu/copy")
        self.assertEqual(len([row for row in self.all("#entries tbody tr") if row.is_displayed()]), 1)
        self.open(page, self.js("return location.hash"))
        self.assertEqual(self.one("output").text, f"1 of {count} rows")
        self.open(page)
        self.wait_for_plots()
        for head in self.all("#entries th button"):
            head.click()
        self.assertEqual(self.all("#entries th")[-1].get_attribute("aria-sort"), "ascending")

    def test_a_phone_shows_whole_rows(self) -> None:
        self.size(*browser.NARROW)
        for page in (self.site / "index.html", *(self.site / "boards").glob("*.html")):
            self.open(page)
            self.assert_fits()
            for table in self.all(".scroll"):
                self.assertLessEqual(
                    self.js("return arguments[0].scrollWidth - arguments[0].clientWidth", table), 0, page
                )
            self.assertEqual(self.js(browser.CONTRAST), [])
        self.assertTrue(self.one("td .sub").is_displayed(), "what hidden columns say stands below the names")

    def test_the_keyboard_sorts_and_follows_links(self) -> None:
        from selenium.webdriver.common.keys import Keys

        self.open(self.site / "index.html")
        self.js("document.querySelector('#boards th button').focus()")
        self.browser.switch_to.active_element.send_keys(Keys.ENTER, Keys.ENTER)
        self.assertEqual(self.texts("#boards tbody td:first-child a"), ["relu", "gelu"])
        self.js("document.querySelector('#boards tbody a').focus()")
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        self.until(lambda: "/boards/relu." in self.js("return location.href"), "the page of the board is open")

    def test_json_and_feed_say_the_same_as_the_pages(self) -> None:
        boards = json.loads((self.site / "boards.json").read_text())
        valid_by_schema(boards, "kq.boards-1.schema.json")
        self.assertEqual([board["problem"] for board in boards["boards"]], ["gelu", "relu"])
        for board in boards["boards"]:
            self.assertTrue((self.site / board["page"]).exists())
            # A record is faster than the one before it beyond the noise, so the fastest entry may be none.
            best = min(entry["median_us"] for entry in board["entries"])
            self.assertGreaterEqual(board["history"][-1]["median_us"], best)
        feed = ElementTree.parse(self.site / "feed.xml").getroot()
        entries = feed.findall(f"{ATOM}entry")
        self.assertEqual(len(entries), sum(len(board["history"]) for board in boards["boards"]))
        self.assertEqual(len({entry.findtext(f"{ATOM}id") for entry in entries}), len(entries))
        updated = [entry.findtext(f"{ATOM}updated") or "" for entry in entries]
        self.assertEqual(updated, sorted(updated, reverse=True))
        link = feed.find(f"{ATOM}entry/{ATOM}link")
        self.assertTrue(link is not None and link.get("href", "").startswith("https://example.org/kq/boards/"))

    def test_a_comparison_tells_each_change_and_fails_if_asked(self) -> None:
        words = ("compare", "first", "second", "--store", self.store)
        found = json.loads(self.end((*words, "--format", "json"), 0))
        valid_by_schema(found, "kq.comparison-1.schema.json")
        changes = {kernel["label"]: kernel["change"] for kernel in found["comparisons"][0]["kernels"]}
        expected = {"relu/copy": "failed", "relu/wrong": "passed", "relu/new": "added", "gelu/copy": "missing"}
        self.assertEqual({label: changes[label] for label in expected}, expected)
        # The same job has the same samples in both runs.
        self.assertEqual(changes["relu/twice"], "same")
        self.end((*words, "--fail-on-regression"), 1)
        same = self.end(("compare", "first", "first", "--store", self.store, "--fail-on-regression"), 5)
        self.assertIn("of one and the same job", same)
        self.assertIn("failed", self.end((*words, "--by", "author"), 0))

    def test_a_comparison_as_a_page(self) -> None:
        page = self.folder / "comparison.html"
        self.end(("compare", "first", "second", "--store", self.store, "--format", "html", "-o", page), 0)
        self.open(page)
        self.wait_for_plots()
        self.js("const s = document.querySelector('select'); s.value = 'failed'; s.dispatchEvent(new Event('change'))")
        shown = [row.text for row in self.all("table.sortable tbody tr") if row.is_displayed()]
        self.assertEqual(len(shown), 1)
        self.assertIn("relu/copy", shown[0])
        self.assertEqual(self.all("main script, main img"), [])
        for scheme in ("light", "dark"):
            for size in (browser.WIDE, browser.NARROW):
                self.scheme(scheme)
                self.size(*size)
                self.open(page)
                self.assertEqual(self.js(browser.CONTRAST), [], f"{scheme} {size}")
                self.assert_fits()


if __name__ == "__main__":
    unittest.main()
