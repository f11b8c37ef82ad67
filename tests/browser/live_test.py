"""Looks at the live page of a real gateway in a real browser."""

import unittest

import browser
import http_client
import kq
import live_stack
import runs


class LivePage(live_stack.LiveTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.start(runs.two_runs(cls.folder))

    def test_runs_and_failures_are_shown_and_hostile_texts_are_inert(self) -> None:
        for scheme in ("light", "dark"):
            self.scheme(scheme)
            self.size(*browser.WIDE)
            self.open(self.stack.url)
            self.assertLessEqual({"first", "second"}, set(self.texts("#run-rows td:first-child")))
            self.wait_for_text("#run-rows td", "12 of 12")
            self.assertEqual(self.js(browser.CONTRAST), [])
        self.assertIn("relu/raises", "\n".join(self.texts("#failure-rows td:first-child")))
        self.assertIn(f"ValueError: {runs.SCRIPT}", "\n".join(self.texts("#failure-rows .clamped")))
        self.size(*browser.NARROW)
        self.open(self.stack.url)
        self.assert_fits()

    def test_the_page_may_load_nothing_else_and_be_in_no_frame(self) -> None:
        page = self.stack.client.get("/")
        self.assertEqual(page.headers["Content-Security-Policy"], "frame-ancestors 'none'")
        self.assertNotIn("https://", page.text.split("<script")[0])
        self.open(self.stack.url)
        policy = self.one("meta[http-equiv]").get_attribute("content") or ""
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe-inline'; style", policy.split("style-src")[0])

    def test_jobs_are_found_and_shown_as_in_a_report(self) -> None:
        self.size(*browser.WIDE)
        self.open(self.stack.url)
        search = self.one("#search")
        search.send_keys("RELU/<SCRIPT\n")
        self.wait_for_text("#found h2", "Found: 2")
        self.assertIn(f"relu/{runs.SCRIPT}", self.texts("#found-rows a"))
        search.clear()
        search.send_keys("1\n")
        self.wait_for_text("#found-rows td.n", "1")
        self.one("#found-rows a").click()
        self.until(lambda: self.js("return document.getElementById('job').open"), "the job is open")
        self.assertIn("class ModelNew", self.one("#job pre.source").text)
        self.assertIn("kq submit", self.one("#job .command").text)
        self.assertEqual(self.texts("#job .actions button"), [])
        self.wait_for_plots()
        self.browser.back()
        self.until(lambda: not self.js("return document.getElementById('job').open"), "the job is closed")

    def test_the_jobs_of_a_run_are_filtered_and_the_address_says_how(self) -> None:
        self.open(self.stack.url, "#run=second&outcome=failed")
        self.wait_for_text("#run output", "4 jobs")
        self.one("#run-label").send_keys("gelu")
        self.wait_for_text("#run output", "1 job")
        self.assertIn("label=gelu", self.browser.current_url)
        self.browser.refresh()
        self.wait_for_text("#run output", "1 job")
        self.press("#run", "Close")
        self.until(lambda: not self.one("#run").is_displayed(), "the run is closed")

    def test_an_operator_acts_after_the_page_asked(self) -> None:
        with live_stack.holding_workers(self.stack.broker, count=2, busy=1):
            self.stack.client.submit(
                [http_client.line("held"), http_client.line("waits", kq.RIGHT + "# other\n")], run="held"
            )
            self.size(*browser.WIDE)
            self.open(self.stack.url)
            self.wait_for_text("#worker-rows td", "held of held, for")
            self.assertEqual([one for one in self.texts("#workers button, #lanes button") if one], [])
            self.sign_in(self.stack.token)
            self.wait_for_text("#connection", "as operator")
            self.act_on_a_worker()
            self.act_on_the_queue()
            self.act_on_a_job()

    def act_on_a_worker(self) -> None:
        self.press("#worker-rows", "Drain")
        self.press("#ask", "Leave it")
        self.assertNotIn("draining", self.texts("#worker-rows .chip"))
        self.press("#worker-rows", "Drain")
        self.press("#ask", "Drain")
        self.wait_for_text("#worker-rows .chip", "draining")
        self.press("#worker-rows", "Undrain")
        self.press("#ask", "Undrain")
        self.until(lambda: "draining" not in self.texts("#worker-rows .chip"), "the worker gets jobs again")

    def act_on_the_queue(self) -> None:
        self.press("#controls", "Pause")
        self.press("#ask", "Pause")
        self.wait_for_text("#lane-rows .chip", "paused")
        self.press("#controls", "Resume")
        self.press("#ask", "Resume")
        self.wait_for_text("#lane-rows .chip", "served")

    def act_on_a_job(self) -> None:
        self.one("#worker-rows .wide-cell a").click()
        self.press("#job", "Cancel")
        self.press("#ask", "Cancel")
        held = self.stack.client.get("/api/v1/runs/held/jobs").json["jobs"][0]
        kq.wait_until(
            lambda: self.stack.client.get(f"/api/v1/jobs/{held['id']}").json.get("verdict") == "cancelled",
            "the job ends",
        )
        self.press("#job", "✕")
        self.js("location.hash = 'run=held'")
        self.press("#run", "Cancel run")
        self.press("#ask", "Cancel run")
        self.wait_for_text("#connection", "The run is cancelled.")
        self.press("#run", "Close")
        self.one("#search").send_keys(f"{held['job']}\n")
        self.wait_for_text("#found-rows .chip", "cancelled")
        self.one("#found-rows a").click()
        self.press("#job", "Retry")
        self.press("#ask", "Retry")
        kq.wait_until(lambda: "verdict" not in self.stack.client.get(f"/api/v1/jobs/{held['id']}").json, "it is queued")


class Tokens(live_stack.LiveTest):
    """A gateway that answers nothing without a token."""

    def test_a_submitter_sees_its_own_runs_after_it_gave_its_token(self) -> None:
        token, line = http_client.token_line("ada")
        with live_stack.stack(self.folder / "stack", tokens=line) as stack:
            type(self).hosts = (stack.url,)
            ada = http_client.Client(stack.client.port, token)
            ada.submit([http_client.line("mine")], run="own")
            stack.operator.submit([http_client.line("other", kq.RIGHT + "# other\n")], run="of root")
            self.open(stack.url, "#q=mine")
            self.wait_for_text("#connection", "This gateway needs a token.")
            self.sign_in(token)
            self.wait_for_text("#connection", "as ada")
            self.assertEqual(self.texts("#run-rows td:first-child"), ["own"])
            self.wait_for_text("#found h2", "Found: 1")
            self.press("#controls", "Sign out")
            self.wait_for_text("#connection", "This gateway needs a token.")
            self.assertEqual(self.texts("#run-rows td:first-child"), [])


if __name__ == "__main__":
    unittest.main()
