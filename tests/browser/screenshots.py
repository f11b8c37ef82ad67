"""Takes screenshots of all pages: python3 tests/browser/screenshots.py DIR [STORE RUN OTHER_RUN]

Without a store two small sweeps are run. Each page is taken in light and dark, wide and narrow. The live page is that
of a copy of the store, with workers that hold jobs.
"""

import base64
import shutil
import sys
import tempfile
import time
from pathlib import Path

import browser  # the path to tests/e2e comes with it
import http_client
import kq
import live_stack
import runs

HEIGHT_MAX = 4_000
LIVE_S = 3.0  # in which workers connect and take jobs


class Camera(browser.BrowserTest):
    """Takes pictures with the browser of the tests."""

    def take(self, page: Path, out: Path, width: int) -> None:
        height = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]["height"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, HEIGHT_MAX), "scale": 1}
        picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        out.write_bytes(base64.b64decode(picture["data"]))
        print(out)

    def take_all(self, pages: dict[str, Path | str], out: Path) -> None:
        for scheme in ("light", "dark"):
            for shape, size in (("wide", browser.WIDE), ("narrow", browser.NARROW)):
                self.scheme(scheme)
                self.size(*size)
                for name, page in pages.items():
                    self.open(page)
                    self.wait_for_plots()
                    self.take(page, out / f"{name}-{scheme}-{shape}.png", size[0])
                    links = self.all("#job-table .c-label a, #failure-rows a")
                    if not links:
                        continue
                    self.js("arguments[0].click()", links[0])
                    self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")
                    self.browser.save_screenshot(str(out / f"{name}-job-{scheme}-{shape}.png"))


def take_live_page(camera: Camera, folder: Path, store: Path, out: Path) -> None:
    copy = shutil.copytree(store, folder / "live-store")
    with live_stack.stack(folder / "live", copy) as stack, live_stack.holding_workers(stack.broker, 12, 5):
        stack.client.submit([http_client.line(f"relu/{n}", f"{kq.RIGHT}# {n}\n") for n in range(40)], run="third")
        time.sleep(LIVE_S)
        drained = stack.operator.call("POST", "/api/v1/workers/node0011/drain", '{"draining": true}')
        if drained.status != 200:
            sys.exit(drained.text)
        camera.take_all({"live": stack.url}, out)


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
        take_live_page(camera, folder, Path(store), out)
        camera.browser.quit()


if __name__ == "__main__":
    main()
