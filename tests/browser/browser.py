"""A headless Chromium for tests of pages, driven by selenium; and a test case that watches what a page does.

Both are only in CI: .ci/run installs the Debian packages chromium and chromium-driver, and selenium is in
tests/e2e/requirements.txt. Without them the tests are skipped.
"""

import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.remote.webelement import WebElement
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

WAIT_S = 120  # for what a page does at once, where all processors are busy with other tests
WIDE = (1440, 900)
NARROW = (390, 844)


def missing() -> str | None:
    """Returns what this machine lacks for these tests, as a sentence."""
    if webdriver is None:
        return f"{sys.executable} has no selenium (tests/e2e/requirements.txt)"
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"there is no {name}; the Debian packages chromium and chromium-driver bring it"
    return None


def open_browser(downloads: Path) -> Any:
    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    # Chromium's own sandbox needs a user other than root; /dev/shm is small in containers.
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    # A page that asks a host for anything fails to reach it, and the log has the attempt.
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    browser.set_script_timeout(WAIT_S)
    browser.command_executor.client_config.timeout = 2 * WAIT_S  # of one answer of the driver
    return browser


class BrowserTest(unittest.TestCase):
    """The tests of a class share a browser. A test fails if a page wrote an error or asked a host for anything."""

    browser: Any
    folder: Path
    hosts: tuple[str, ...] = ()  # that pages of the test may ask

    @classmethod
    def setUpClass(cls) -> None:
        if sentence := missing():
            raise unittest.SkipTest(sentence)
        cls.folder = Path(tempfile.mkdtemp(prefix="kq-browser.", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.browser = open_browser(cls.folder)
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self) -> None:
        self.browser.get_log("browser")
        self.browser.get_log("performance")

    def tearDown(self) -> None:
        self.assertEqual(self.errors(), [])
        self.assertEqual(self.foreign_requests(), [])

    def errors(self) -> list[str]:
        return [
            entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")
        ]

    def foreign_requests(self) -> list[str]:
        addresses = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                addresses.append(message["params"]["request"]["url"])
        inside = ("file:", "data:", "blob:", "about:", "chrome:", *self.hosts)
        return [address for address in addresses if not address.startswith(inside)]

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, page: Path | str, fragment: str = "") -> None:
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.browser.get("about:blank")
        self.browser.get(address + fragment)
        self.until(lambda: self.js("return document.documentElement.dataset.ready === 'yes'"), "the page is ready")

    def js(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def until(self, condition: Any, what: str) -> Any:
        """Waits for a condition. It is asked again where the page replaces an element that it looks at."""
        wait = WebDriverWait(
            self.browser, WAIT_S, poll_frequency=0.05, ignored_exceptions=[StaleElementReferenceException]
        )
        return wait.until(lambda _: condition(), what)

    def one(self, selector: str) -> "WebElement":
        return self.browser.find_element("css selector", selector)

    def all(self, selector: str) -> "list[WebElement]":
        return self.browser.find_elements("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """Returns the texts of all elements at one moment: a table replaces its rows while it scrolls."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())"
        found: list[str] = self.js(script, selector)
        return found

    def wait_for_plots(self) -> None:
        """Scrolls to each plot, because a plot is drawn when it comes near the window."""
        for plot in self.all("[data-plot]"):
            self.js("arguments[0].scrollIntoView()", plot)
            self.until(lambda plot=plot: plot.get_attribute("data-drawn") == "yes", "the plot is drawn")
        self.js("scrollTo(0, 0)")

    def assert_fits(self) -> None:
        """The page has nothing that reaches out of the window, once its plots have got their widths."""
        width = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        self.until(lambda: self.js(width) <= 0, "the page is no wider than the window")


# Returns the pairs of texts and backgrounds whose contrast is below what WCAG asks of level AA.
CONTRAST = """
const linear = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const parse = (text) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
};
const poor = new Set();
const seen = new Set();
for (const element of document.querySelectorAll("body *")) {
  if (element.closest("svg, canvas, [hidden]") || element.offsetParent === null) continue;
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
  if (!own) continue;
  const style = getComputedStyle(element);
  const kind = [style.color, element.className, element.tagName, style.fontSize].join(" ");
  if (seen.has(kind)) continue;
  seen.add(kind);
  const [a, b] = [light(parse(style.color)), light(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) poor.add(kind + ": " + ratio.toFixed(2));
}
return [...poor];
"""
