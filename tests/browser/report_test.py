"""The report of a run in a real browser: plots, the table, jobs, hostile texts, and a page of 100,000 rows."""

import csv
import io
import time
import unittest
from pathlib import Path

import browser  # the path to tests/e2e comes with it
import kq
import runs

PAGE_BYTES_MAX = 2_000_000


class Report(browser.BrowserTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.store = runs.two_runs(cls.folder)
        cls.page = cls.folder / "first.html"
        cls.report("first", cls.store, cls.page)

    @classmethod
    def report(cls, run: str, store: Path, out: Path, *words: str) -> float:
        begun_s = time.monotonic()
        done = kq.kq("report", run, "--store", store, "-o", out, *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return time.monotonic() - begun_s

    def setUp(self) -> None:
        super().setUp()
        self.size(*browser.WIDE)
        self.scheme("light")

    def open_drawn(self, fragment: str = "") -> None:
        """Opens the page and waits until its plots have got their heights, so that nothing moves away from a click."""
        self.open(self.page, fragment)
        self.wait_for_plots()

    def labels(self) -> list[str]:
        return self.texts("#job-table .spacer .c-label")

    def fragment(self) -> str:
        return self.js("return location.hash")

    def test_plots_are_drawn_and_nothing_of_the_run_became_code(self) -> None:
        self.open(self.page)
        self.wait_for_plots()
        self.assertEqual(len(self.all("[data-plot] svg, [data-plot] canvas")), 5)
        self.assertIsNone(self.js("return document.documentElement.dataset.broken ?? null"))
        self.assertEqual(self.all("#job-table script, #job-table img"), [])
        self.assertNotIn("\u202e", self.js("return document.body.innerText"))

    def test_the_table_filters_and_sorts_and_its_state_is_in_the_address(self) -> None:
        self.open_drawn()
        self.assertEqual(len(self.labels()), len(runs.FIRST))
        self.one("#search").send_keys("gelu")
        self.until(lambda: len(self.labels()) == 2, "two kernels have gelu in their names")
        self.assertEqual(self.fragment(), "#q=gelu")
        self.assertEqual(self.one("#count").text, "2 of 12 jobs")
        self.js(
            "const s = document.getElementById('filter-verdict'); s.value = 'passed';"
            "s.dispatchEvent(new Event('change'))"
        )
        self.assertEqual(self.labels(), ["gelu/copy"])
        address = self.fragment()
        self.open_drawn(address)
        self.assertEqual(self.labels(), ["gelu/copy"])
        self.assertEqual(self.one("#search").get_attribute("value"), "gelu")
        self.one("#clear").click()
        self.assertEqual(len(self.labels()), len(runs.FIRST))
        heads = self.all("#job-table .grid-head button")
        for head in heads:
            head.click()
            head.click()
        self.one("[data-column=speedup] button").click()
        speedups = [float(text[:-1]) for text in self.texts(".spacer .c-speedup") if text != "-"]
        self.assertEqual(speedups, sorted(speedups, reverse=True))
        self.assertEqual(self.one("[data-column=speedup]").get_attribute("aria-sort"), "descending")

    def test_every_filter_leaves_only_its_rows(self) -> None:
        self.open_drawn()
        for name in ("verdict", "author"):
            for value in self.js(
                f"return [...document.getElementById('filter-{name}').options].map((one) => one.value)"
            ):
                self.js(
                    "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
                    "s.dispatchEvent(new Event('change'))",
                    f"filter-{name}",
                    value,
                )
                shown = self.texts(f"#job-table .spacer .c-{name}")
                self.assertGreater(len(shown), 0)
                if value:
                    self.assertEqual({text.split(" (")[0] for text in shown}, {value})
            self.one("#clear").click()

    def test_every_link_leads_somewhere(self) -> None:
        self.open(self.page)
        for link in self.js("return [...document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href'))"):
            self.assertTrue(link.startswith("#"), link)
            self.open(self.page, link)
            if "job=" in link:
                self.until(lambda: self.js("return document.getElementById('job').open"), f"{link} opens a job")
            else:
                self.assertGreater(len(self.labels()), 0, link)

    def job(self, label: str) -> None:
        """Opens the job of a label by its link in the table."""
        self.open(self.page)
        links = "return [...document.querySelectorAll('#job-table .c-label a')]"
        self.js(f"{links}.find((one) => one.textContent === arguments[0]).click()", label)
        self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")

    def test_a_wrong_answer_is_explained_with_its_source(self) -> None:
        self.job("relu/wrong")
        text = self.one("#job").text
        self.assertIn("wrong_answer", text)
        self.assertIn("expected there", text)
        self.assertIn("return x + 1", text)
        self.assertIn("kq submit k2.py --problem relu.py", text)
        self.assertGreater(len(self.all("#job .t-keyword")), 3)
        self.browser.back()
        self.until(lambda: not self.js("return document.getElementById('job').open"), "back closes the job")

    def test_a_build_error_marks_its_line(self) -> None:
        self.job("relu/no_syntax")
        self.assertEqual(self.texts("#job .source-line.marked"), ["class ModelNew(:"])

    def test_a_right_job_shows_its_calls_and_what_it_printed(self) -> None:
        self.job("relu/prints")
        self.until(lambda: len(self.all("#job [data-drawn] svg")) == 1, "the calls are drawn")
        log = self.one("#job pre.log").text
        self.assertIn(f"red {runs.SCRIPT} ", log)
        self.assertIn("U+202E", log)
        self.assertEqual(self.all("#job script, #job img"), [])

    def test_hostile_names_and_sources_are_only_text(self) -> None:
        for row in range(len(runs.FIRST)):
            self.open(self.page)
            self.js(f"document.querySelectorAll('#job-table .c-label a')[{row}].click()")
            self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")
            self.js("for (const one of document.querySelectorAll('#job details')) one.open = true")
            self.assertEqual(self.all("#job script, #job img"), [])
            self.assertNotIn("\u202e", self.js("return document.body.innerText"))
        self.assertIsNone(self.js("return document.documentElement.dataset.broken ?? null"))

    def test_a_csv_of_the_table_holds_no_formula(self) -> None:
        self.open_drawn()
        self.one("#save-csv").click()
        saved = self.folder / "first.csv"
        # Chromium makes an empty file first and then moves the download over it.
        self.until(lambda: saved.exists() and saved.stat().st_size > 0, "the file is saved")
        rows = list(csv.DictReader(io.StringIO(saved.read_text(), newline="")))
        self.assertEqual(len(rows), len(runs.FIRST))
        self.assertTrue(any(row["label"].startswith("'=1+cmd") for row in rows))
        self.assertFalse(any(cell[:1] in "=+-@" for row in rows for cell in row.values() if cell))

    def test_the_keyboard_is_enough(self) -> None:
        self.open(self.page)
        body = self.one(".grid-body")
        self.js("document.body.focus()")
        self.one("body").send_keys("/")
        self.assertEqual(self.js("return document.activeElement.id"), "search")
        self.js("arguments[0].focus()", body)
        from selenium.webdriver.common.keys import Keys

        body.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
        self.until(lambda: self.js("return document.getElementById('job').open"), "Enter opens the job")
        self.one("#job").send_keys(Keys.ESCAPE)
        self.until(lambda: not self.js("return document.getElementById('job').open"), "Escape closes the job")
        body.send_keys(Keys.END)
        self.assertEqual(self.one(".line.at").get_attribute("id"), f"row-{len(runs.FIRST) - 1}")

    def test_contrast_and_width_hold_in_every_look(self) -> None:
        for scheme in ("light", "dark"):
            for size in (browser.WIDE, browser.NARROW):
                self.scheme(scheme)
                self.size(*size)
                self.open(self.page)
                self.assertEqual(self.js(browser.CONTRAST), [], f"{scheme} {size}")
                self.assert_fits()
                self.js("document.querySelector('#job-table .c-label a').click()")
                self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")
                self.assertEqual(self.js(browser.CONTRAST), [], f"a job, {scheme} {size}")

    def test_the_button_changes_the_theme_and_draws_plots_again(self) -> None:
        self.open(self.page)
        light = self.js("return getComputedStyle(document.body).backgroundColor")
        self.one("#theme").click()
        self.assertNotEqual(self.js("return getComputedStyle(document.body).backgroundColor"), light)

    def test_another_problem_has_other_samples(self) -> None:
        self.open(self.page)
        self.wait_for_plots()
        before = self.js("return document.querySelector('[data-plot=samples]').textContent")
        self.js(
            "const s = document.getElementById('strip-problem'); s.value = 'relu'; s.dispatchEvent(new Event('change'))"
        )
        self.until(
            lambda: self.js("return document.querySelector('[data-plot=samples]').textContent") != before, "others"
        )
        self.assertIn("samples=relu", self.fragment())

    def test_paper_gets_rows_of_the_table(self) -> None:
        self.open(self.page)
        pdf = self.browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
        self.assertGreater(len(pdf), 20_000)


class LargeRuns(Report):
    """Pages of generated runs; the tests of the small run are not run again."""

    @classmethod
    def setUpClass(cls) -> None:
        browser.BrowserTest.setUpClass.__func__(cls)

    def test_a_thousand_jobs_are_one_page_of_two_megabytes(self) -> None:
        store = runs.generated(self.folder, 1_000)
        self.report("bench", store, self.folder / "thousand")
        pages = sorted(self.folder.glob("thousand/*.html"))
        self.assertLess(max(page.stat().st_size for page in pages), PAGE_BYTES_MAX)
        print("pages:", [(page.name, page.stat().st_size) for page in pages])

    def test_ten_thousand_jobs_are_written_and_open(self) -> None:
        store = runs.generated(self.folder, 10_000)
        wrote_s = self.report("bench", store, self.folder / "ten")
        opened_s = []
        for _ in range(3):
            begun_s = time.monotonic()
            self.open(self.folder / "ten/index.html")
            opened_s.append(time.monotonic() - begun_s)
        sizes = [page.stat().st_size for page in self.folder.glob("ten/*.html")]
        print(
            f"10,000 jobs: written in {wrote_s:.2f} s, open in {min(opened_s):.2f} s, largest page {max(sizes)} bytes"
        )
        self.assertLess(max(sizes), PAGE_BYTES_MAX)
        # A job of another page opens there, and its page leads back.
        self.js("document.querySelector('.grid-body').scrollTop = 1e7")
        self.until(lambda: self.labels() and self.labels()[-1] == "k/000010000", "the last row is shown")
        self.js("[...document.querySelectorAll('#job-table .c-label a')].at(-1).click()")
        self.until(lambda: self.js("return document.getElementById('job')?.open ?? false"), "the job is open")
        self.assertIn(".jobs-", self.js("return location.pathname"))
        self.assertIn("relu", self.one("#job pre.source").text)
        self.js("document.getElementById('job').close()")
        self.one("nav.pages a").click()
        overview = "return location.pathname.endsWith('index.html') && document.documentElement.dataset.ready === 'yes'"
        self.until(lambda: self.js(overview), "the overview is open")

    def test_a_hundred_thousand_rows_scroll(self) -> None:
        store = runs.generated(self.folder, 100_000)
        self.report("bench", store, self.folder / "hundred")
        self.open(self.folder / "hundred/index.html")
        self.assertLess(self.js("return document.querySelectorAll('.spacer .line').length"), 100)
        frames = self.browser.execute_async_script("""
            const done = arguments[0];
            const body = document.querySelector(".grid-body");
            const times = [];
            let last = performance.now();
            const step = (now) => {
              times.push(now - last);
              last = now;
              body.scrollTop += 3400;
              if (times.length < 120) requestAnimationFrame(step);
              else done(times.slice(1).sort((a, b) => a - b));
            };
            requestAnimationFrame(step);
        """)
        print(f"100,000 rows: a frame takes {frames[len(frames) // 2]:.1f} ms, the slowest of 119 {frames[-1]:.1f} ms")
        self.assertLess(self.js("return document.querySelectorAll('.spacer .line').length"), 100)
        begun_s = time.monotonic()
        self.js("document.querySelector('[data-column=speedup] button').click()")
        print(f"100,000 rows: sorted in {time.monotonic() - begun_s:.2f} s")


def load_tests(loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: str | None) -> unittest.TestSuite:
    suite = loader.loadTestsFromTestCase(Report)
    for name in vars(LargeRuns):
        if name.startswith("test_"):
            suite.addTest(LargeRuns(name))
    return suite


if __name__ == "__main__":
    unittest.main()
