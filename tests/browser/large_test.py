"""The live page of a queue with a thousand workers and a run of a hundred thousand jobs, and 60 events a second."""

import http.server
import json
import threading
import time
import unittest
from typing import Any

import browser
import http_client
import kq
import live_stack
import runs

EVENTS_PER_S = 60
EVENTS = 300  # during which the page must not grow
DRAWN_MIN = 5  # how often the page is drawn meanwhile
WORKERS = 1_000
BUSY = 20
JOBS = 100_000
SHOWN_WORKERS = 50


class LargeQueue(live_stack.LiveTest):
    """A thousand workers, and a run of a hundred thousand jobs."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.start(runs.generated(cls.folder, JOBS))
        workers = live_stack.holding_workers(cls.stack.broker, WORKERS, BUSY)
        workers.__enter__()
        cls.addClassCleanup(workers.__exit__, None, None, None)
        held = [http_client.line(f"held/{number}", f"{kq.RIGHT}# {number}\n") for number in range(BUSY)]
        cls.stack.client.submit(held, run="held")
        kq.wait_until(lambda: cls.overview()["workers"]["count"] == WORKERS, "all workers are connected")
        kq.wait_until(lambda: all(run["is_counted"] for run in cls.overview()["runs"]), "all jobs are counted")

    @classmethod
    def overview(cls) -> Any:
        return cls.stack.client.get("/api/v1/overview").json

    def test_the_page_is_small_and_every_worker_and_job_is_reached(self) -> None:
        self.size(*browser.WIDE)
        self.open(self.stack.url)
        self.wait_for_text("#run-rows td", f"{JOBS:,} of {JOBS:,}")
        self.wait_for_text("#tiles .tile", f"{WORKERS:,}")
        self.assertEqual(len(self.all("#worker-rows tbody tr")), SHOWN_WORKERS)
        self.assertLess(self.js("return document.querySelectorAll('*').length"), 4_000)
        self.wait_for_text("#worker-rows tbody tr:first-child td", "held/")
        self.one("#worker-filter").send_keys("node0999")
        self.until(lambda: len(self.all("#worker-rows tbody tr")) == 1, "one worker is left")
        self.js("location.hash = 'run=bench&outcome=failed'")
        self.wait_for_text("#run output", f"{JOBS // 4:,} jobs")
        first = self.texts("#run tbody a")[0]
        self.press("#run", "Next page")
        self.until(lambda: self.texts("#run tbody a")[:1] not in ([], [first]), "the next page is shown")
        self.assertEqual(len(self.all("#run tbody tr")), 100)

    def test_an_overview_is_made_within_seconds(self) -> None:
        self.open(self.stack.url)
        took = []
        for _ in range(10):
            time.sleep(0.6)  # an overview is kept for half a second
            began = time.monotonic()
            self.overview()
            took.append(time.monotonic() - began)
        print(f"an overview takes {sorted(took)[5] * 1e3:.0f} ms")
        self.assertLess(min(took), 5, took)

    def test_sixty_events_a_second_grow_nothing(self) -> None:
        with Replay(self.stack.client.get("/").text, self.overview()) as replay:
            type(self).hosts = (self.stack.url, replay.url)
            self.open(replay.url)
            self.until(lambda: self.drawn() > 3, "the page follows the events")
            before, began, sent = self.measures(), time.monotonic(), replay.sent
            self.until(lambda: replay.sent >= sent + EVENTS, f"{EVENTS} events are sent")
            rate = (replay.sent - sent) / (time.monotonic() - began)
            replay.stop()
            self.until(lambda: self.texts("#tiles strong")[0] == f"{replay.sent:,}", "the page shows the last event")
            # Replaced elements are counted until the browser collects them, which it does when it likes.
            self.until(lambda: self.measures()["Nodes"] < before["Nodes"] * 1.05 + 100, "old elements are collected")
            after = self.measures()
            self.open(self.stack.url)
        print(f"{rate:.0f} events/s, nodes {before['Nodes']} to {after['Nodes']}, heap {before} to {after}")
        self.assertLess(after["JSEventListeners"], before["JSEventListeners"] * 1.05 + 20)
        self.assertLess(after["JSHeapUsedSize"], before["JSHeapUsedSize"] * 1.1 + 2_000_000)
        self.assertGreater(after["drawn"], before["drawn"] + DRAWN_MIN)

    def drawn(self) -> int:
        return int(self.js("return Number(document.documentElement.dataset.drawn ?? 0)"))

    def measures(self) -> dict[str, float]:
        self.browser.execute_cdp_cmd("Performance.enable", {})
        self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        metrics = self.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        wanted = ("Nodes", "JSEventListeners", "JSHeapUsedSize")
        return {one["name"]: one["value"] for one in metrics if one["name"] in wanted} | {"drawn": self.drawn()}


class Replay:
    """Serves the page of a gateway with more events than a gateway sends: 60 in a second, each of them new."""

    def __init__(self, page: str, overview: dict[str, Any]) -> None:
        self.sent = 0
        self._stopped = threading.Event()
        replay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_page = self.path == "/"
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8" if is_page else "text/event-stream")
                self.end_headers()
                if is_page:
                    self.wfile.write(page.encode())
                else:
                    replay.send(self.wfile)

            def log_message(self, *_: object) -> None:
                pass

        self._overview = overview
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> "Replay":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._server.shutdown()
        self._server.server_close()

    def stop(self) -> None:
        """Sends no more events."""
        self._stopped.set()

    def send(self, to: Any) -> None:
        began = time.monotonic()
        for number in range(1, 1_000_000):
            if self._stopped.wait(max(0, began + number / EVENTS_PER_S - time.monotonic())):
                self._stopped.wait(browser.WAIT_S)
                break
            overview = json.loads(json.dumps(self._overview))
            overview["queue"]["queued"] = number
            for worker in overview["workers"]["shown"]:
                worker["running"] = number % 7
            for run in overview["runs"]:
                run["finished"] = number
            try:
                to.write(b"event: overview\ndata: " + json.dumps(overview).encode() + b"\n\n")
            except OSError:
                break
            self.sent = number


if __name__ == "__main__":
    unittest.main()
