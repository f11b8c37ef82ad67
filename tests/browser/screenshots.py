"""Takes screenshots of all pages: python3 tests/browser/screenshots.py DIR [STORE RUN OTHER_RUN]

Without a store two small sweeps are run. Each page is taken in light and dark, wide and narrow.
"""

import base64
import sys
import tempfile
from pathlib import Path

import browser  # the path to tests/e2e comes with it
import kq
import runs

HEIGHT_MAX = 4_000


class Camera(browser.BrowserTest):
    """Takes pictures with the browser of the tests."""

    def take(self, page: Path, out: Path, width: int) -> None:
        height = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]["height"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, HEIGHT_MAX), "scale": 1}
        picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        out.write_bytes(base64.b64decode(picture["data"]))
        print(out)

    def take_all(self, pages: dict[str, Path], out: Path) -> None:
        for scheme in ("light", "dark"):
            for shape, size in (("wide", browser.WIDE), ("narrow", browser.NARROW)):
                self.scheme(scheme)
                self.size(*size)
                for name, page in pages.items():
                    self.open(page)
                    self.wait_for_plots()
                    self.take(page, out / f"{name}-{scheme}-{shape}.png", size[0])
                    if not self.all("#job-table .c-label a"):
                        continue
                    self.one("#job-table .c-label a").click()
                    self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")
                    self.browser.save_screenshot(str(out / f"{name}-job-{scheme}-{shape}.png"))


def main() -> None:
    if len(sys.argv) not in (2, 5):
        sys.exit(__doc__)
    if sentence := browser.missing():
        sys.exit(sentence)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kq-browser.", dir="/tmp") as name:
        folder = Path(name)
        store, first, second = sys.argv[2:] if len(sys.argv) == 5 else (str(runs.two_runs(folder)), "first", "second")
        for words in (
            ("report", first, "-o", folder / "report.html"),
            ("compare", first, second, "--format", "html", "-o", folder / "compare.html"),
            ("leaderboard", "--html", folder / "site"),
        ):
            done = kq.kq(*words, "--store", store)
            if done.returncode != 0:
                sys.exit(done.stderr)
        camera = Camera()
        camera.browser = browser.open_browser(folder)
        board = max((folder / "site/boards").glob("*.html"), key=lambda page: page.stat().st_size)
        pages = {"report": folder / "report.html", "compare": folder / "compare.html"}
        camera.take_all(pages | {"boards": folder / "site/index.html", "board": board}, out)
        camera.browser.quit()


if __name__ == "__main__":
    main()
