"""Tests that deploy/ and docs/operator/run.md name only metrics that the broker has.

If promtool (Debian package prometheus) is installed, it checks the rules and every expression of the dashboard;
otherwise that part is skipped.
"""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/kq.rules.yml"
DASHBOARD = ROOT / "deploy/grafana/kq.json"
PAGE = ROOT / "docs/operator/run.md"
PROMTOOL = shutil.which("promtool")
NAME = re.compile(r"\bkq_[a-z_]+\b")


def families() -> dict[str, str]:
    """Returns the type of each metric by name, from the table in the code."""
    text = (ROOT / "broker/metrics/prometheus.cc").read_text()
    return dict(re.findall(r'\{"(kq_\w+)", MetricType::(\w+),', text))


def series() -> set[str]:
    """Returns the names that an expression may use."""
    names = set()
    for name, kind in families().items():
        names |= {f"{name}{end}" for end in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return names


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def judged(*words: str | Path) -> str:
    """Returns the errors that promtool reports."""
    done = subprocess.run(
        [str(PROMTOOL), *map(str, words)], capture_output=True, text=True, check=False, cwd=RULES.parent
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


class Deploy(unittest.TestCase):
    def test_the_table_is_found(self) -> None:
        self.assertIn("kq_job_wait_seconds", families())
        self.assertGreater(len(families()), 10)

    def test_the_dashboard_and_the_rules_name_metrics_that_exist(self) -> None:
        named = set(NAME.findall(" ".join(expressions())))
        self.assertLessEqual(named, series())
        rules = "\n".join(line for line in RULES.read_text().splitlines() if not line.lstrip().startswith("#"))
        self.assertLessEqual(set(NAME.findall(rules)), series())

    def test_no_metric_is_missing_from_the_dashboard(self) -> None:
        shown = DASHBOARD.read_text()
        self.assertEqual([name for name in families() if name not in shown], [])

    def test_the_page_for_operators_has_every_metric_and_no_other(self) -> None:
        rows = dict(re.findall(r"^\| `(kq_\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
        self.assertEqual(rows, families())

    def test_the_page_for_operators_has_every_verb_and_no_other(self) -> None:
        table = re.findall(r'^    \{"([a-z-]+)", ctl_', (ROOT / "tools/ctl/ctl.cc").read_text(), re.MULTILINE)
        self.assertGreater(len(table), 10)
        self.assertEqual(re.findall(r"^\| `([a-z-]+)[ `]", PAGE.read_text(), re.MULTILINE), table)

    def test_panels_do_not_overlap(self) -> None:
        taken = set()
        for panel in json.loads(DASHBOARD.read_text())["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells

    def test_each_alert_names_its_section_of_the_runbook(self) -> None:
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        named = re.findall(r'runbook: "docs/operator/runbook.md#(\w+)"', RULES.read_text())
        sections = re.findall(r"^## (\w+)$", (ROOT / "docs/operator/runbook.md").read_text(), re.MULTILINE)
        self.assertEqual(named, [alert.lower() for alert in alerts])
        self.assertEqual(sections, alerts)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed")
    def test_promtool_accepts_the_rules_and_they_fire_as_they_should(self) -> None:
        self.assertEqual(judged("check", "rules", RULES), "")
        self.assertEqual(judged("test", "rules", RULES.with_name("kq.rules.test.yml")), "")

    @unittest.skipUnless(PROMTOOL, "promtool is not installed")
    def test_promtool_parses_every_expression_of_the_dashboard(self) -> None:
        rules = [
            {"record": f"kq:panel{i}", "expr": expr.replace("$instance", ".*")} for i, expr in enumerate(expressions())
        ]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "panels.yml"
            file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))  # JSON is YAML
            self.assertEqual(judged("check", "rules", file), "")


if __name__ == "__main__":
    unittest.main()
