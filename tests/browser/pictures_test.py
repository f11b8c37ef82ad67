"""Compares pictures of pages with those in tests/browser/pictures, which KQ_PICTURES=write makes anew.

The pages are made of generated jobs, so they are the same everywhere. A picture is a quarter of the size of the page,
and what is compared is the mean colour of each of 24 x 16 parts: letters that are drawn a little otherwise change
nothing, a plot that is missing or a table that has moved does. Where the fonts of Debian 12 are missing the test is
skipped, because lines then break elsewhere.
"""

import base64
import os
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

import browser
import kq
import runs

PICTURES = Path(__file__).with_name("pictures")
ROWS = 300
HEIGHT = 1_600  # the top of a page; its foot has the time at which it was made
SCALE = 0.25
PART_MAX = 5.0  # the largest difference of one part, of 255
MEAN_MAX = 0.5  # and of all parts on average

PARTS = """
const [first, second, done] = arguments;
const parts = (address) => new Promise((resolve, reject) => {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.drawImage(image, 0, 0);
    const sums = [];
    for (let y = 0; y < 16; ++y) {
      for (let x = 0; x < 24; ++x) {
        const [left, top] = [Math.floor(x * image.width / 24), Math.floor(y * image.height / 16)];
        const [right, bottom] = [Math.floor((x + 1) * image.width / 24), Math.floor((y + 1) * image.height / 16)];
        const pixels = context.getImageData(left, top, right - left, bottom - top).data;
        const sum = [0, 0, 0];
        for (let i = 0; i < pixels.length; i += 4) for (let c = 0; c < 3; ++c) sum[c] += pixels[i + c];
        sums.push(...sum.map((one) => one / (pixels.length / 4)));
      }
    }
    resolve([image.width, image.height, sums]);
  };
  image.onerror = () => reject("the picture cannot be read");
  image.src = "data:image/png;base64," + address;
});
Promise.all([parts(first), parts(second)]).then(done, (error) => done(String(error)));
"""


def has_fonts() -> bool:
    found = shutil.which("fc-match")
    if found is None:
        return True  # Debian's fontconfig brings the fonts, and its tools are a package of their own
    done = subprocess.run([found, "system-ui"], capture_output=True, text=True, check=False)
    return "DejaVu" in done.stdout


class Pictures(browser.BrowserTest):
    @classmethod
    def setUpClass(cls) -> None:
        if not has_fonts():
            raise unittest.SkipTest("the font of this machine is not DejaVu Sans, so lines break elsewhere")
        super().setUpClass()
        store = str(runs.generated(cls.folder, ROWS))
        for words in (("report", "bench", "-o", cls.folder / "report.html"), ("leaderboard", "--html", cls.folder)):
            done = kq.kq(*words, "--store", store)
            if done.returncode != 0:
                raise AssertionError(done.stderr)

    def test_a_report(self) -> None:
        self.compare("report", self.folder / "report.html", "light", browser.WIDE)
        self.compare("report", self.folder / "report.html", "dark", browser.NARROW)

    def test_a_board(self) -> None:
        board = min((self.folder / "boards").glob("*.html"))
        self.compare("board", board, "light", browser.WIDE)
        self.compare("board", board, "dark", browser.NARROW)

    def compare(self, name: str, page: Path, scheme: str, size: tuple[int, int]) -> None:
        self.scheme(scheme)
        self.size(*size)
        self.open(page)
        self.wait_for_plots()
        clip = {"x": 0, "y": 0, "width": size[0], "height": HEIGHT, "scale": SCALE}
        words = {"captureBeyondViewport": True, "clip": clip}
        picture = self.browser.execute_cdp_cmd("Page.captureScreenshot", words)["data"]
        shape = "wide" if size == browser.WIDE else "narrow"
        file = PICTURES / f"{name}-{scheme}-{shape}.png"
        if os.environ.get("KQ_PICTURES") == "write":
            PICTURES.mkdir(exist_ok=True)
            file.write_bytes(base64.b64decode(picture))
        stored = base64.b64encode(file.read_bytes()).decode()
        self.browser.get("about:blank")
        both: Any = self.browser.execute_async_script(PARTS, stored, picture)
        self.assertIsInstance(both, list, both)
        (width, height, was), (new_width, new_height, now) = both
        self.assertEqual((width, height), (new_width, new_height))
        differences = [abs(a - b) for a, b in zip(was, now, strict=True)]
        mean, most = sum(differences) / len(differences), max(differences)
        print(f"{file.name}: parts differ by {mean:.2f} on average and {most:.1f} at most")
        if mean > MEAN_MAX or most > PART_MAX:
            left = Path(os.environ.get("KQ_PICTURES_LEFT", "/tmp")) / f"kq-differs-{file.name}"
            left.write_bytes(base64.b64decode(picture))
            self.fail(
                f"{file} and {left} differ: {mean:.2f} on average, {most:.1f} at most; KQ_PICTURES=write takes it"
            )


if __name__ == "__main__":
    unittest.main()
