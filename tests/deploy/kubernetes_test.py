"""Tests deploy/helm and deploy/kubernetes: rendering, published schemas, and the programs behind the manifests.

The environment .venv-deploy (tests/deploy/requirements.txt) brings Helm's renderer and the schemas; without it the
test is skipped. kubectl renders the overlay if it is installed and new enough. The broker and the gateway are started
with the commands of their manifests, probed as a kubelet would, and ended by SIGTERM.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from ports import free_port

try:
    import helm_python
    import yaml
except ImportError:
    helm_python = None

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin")
KUBERNETES = ROOT / "deploy/kubernetes"
CHART = ROOT / "deploy/helm/kq"
VERSIONS = ("1.33", "1.37")  # the oldest with user namespaces by default, and the newest whose schemas are published
START_S = 60
ALL_OPTIONS: dict[str, Any] = {
    "image": {"prefix": "registry.example.org/", "tag": "x", "pullSecrets": [{"name": "pull"}]},
    "broker": {"args": ["--keep-for", "30d"], "nodeSelector": {"disk": "fast"}, "storage": {"className": "fast"}},
    "gateway": {"drainSeconds": 60, "tolerations": [{"operator": "Exists"}]},
    "workers": {
        "namespace": "",
        "sandbox": "root",
        "runtimeClassName": "nvidia",
        "pools": [
            {"name": "h100", "nodeSelector": {"nvidia.com/gpu.product": "H100"}, "autoscale": {"max": 4}},
            {"name": "build", "gpus": 0, "replicas": 3, "args": ["--compile-for", "sm_90"], "labels": ["big"]},
        ],
    },
    "networkPolicy": {"clients": [{"podSelector": {}}], "gatewayClients": [{"podSelector": {}}]},
}
STANDBY: dict[str, Any] = {"broker": {"standby": {"enabled": True, "leaseClassName": "shared"}}}
SMALL: dict[str, Any] = {
    "broker": {"disruptionBudget": False},
    "gateway": {"enabled": False},
    "networkPolicy": {"enabled": False},
}


def render(values: dict[str, Any]) -> str:
    return subprocess.run(
        [sys.executable, KUBERNETES / "render", "--values", json.dumps(values)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def objects(text: str) -> dict[tuple[str, str], Any]:
    """Returns the objects of a rendering by kind and name."""
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def kustomized(folder: str) -> str:
    return subprocess.run(
        ["kubectl", "kustomize", KUBERNETES / folder], check=True, capture_output=True, text=True
    ).stdout


def has_kustomize() -> bool:
    """Whether kubectl renders kustomizations of this decade; Debian 12's own version does not."""
    if not shutil.which("kubectl"):
        return False
    done = subprocess.run(["kubectl", "version", "--client"], capture_output=True, text=True, check=False)
    found = re.search(r"Kustomize Version: v(\d+)", done.stdout)
    return found is not None and int(found.group(1)) >= 5


def container(one: dict[str, Any]) -> dict[str, Any]:
    (found,) = one["spec"]["template"]["spec"]["containers"]
    return dict(found)


def status_of(port: int, path: str) -> int:
    """Returns the HTTP status that a probe sees; 0 if nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


@contextlib.contextmanager
def pod(one: dict[str, Any], changed: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the container of an object, with other paths and ports, and ends it as a kubelet does."""
    given = container(one)
    words = [str(BIN / given["command"][0]), *given["args"]]
    for old, new in changed.items():
        words = [word.replace(old, new) for word in words]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        code = process.wait(one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"])
        if code != 0:
            raise AssertionError(f"{words[0]} ended with {code} after SIGTERM")
    finally:
        process.kill()
        process.wait()


@unittest.skipUnless(helm_python, ".venv-deploy is not made; tests/deploy/requirements.txt lists what it holds")
class Manifests(unittest.TestCase):
    def test_the_committed_files_are_what_the_chart_renders_to(self) -> None:
        done = subprocess.run([sys.executable, KUBERNETES / "render", "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_chart_has_no_error_and_refuses_unknown_values(self) -> None:
        found = helm_python.lint(str(CHART))
        self.assertEqual(found["errors"], [])
        with helm_python.Chart.load(str(CHART)) as chart, self.assertRaises(helm_python.HelmError):
            chart.validate_schema({"workers": {"pools": [{"name": "a", "replica": 2}]}})

    def test_the_chart_has_the_version_of_the_programs(self) -> None:
        (version,) = re.findall(r'kVersion = "(.*)"', (ROOT / "core/base/version.h").read_text())
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))

    def test_published_schemas_accept_every_rendering(self) -> None:
        texts = [render(values) for values in ({}, ALL_OPTIONS, SMALL, STANDBY)]
        if has_kustomize():
            texts.append(kustomized("overlays/two-models"))
        with tempfile.TemporaryDirectory() as folder:
            for i, text in enumerate(texts):
                # Schemas of KEDA's objects are not among those of Kubernetes.
                known = [one for (kind, _), one in objects(text).items() if kind != "ScaledObject"]
                (Path(folder) / f"{i}.yaml").write_text(yaml.safe_dump_all(known))
            for version in VERSIONS:
                files = sorted(Path(folder).glob("*.yaml"))
                done = subprocess.run(
                    [sys.executable, "-m", "kubernetes_validate", "--strict", "--quiet", "-k", version, *files],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), version)

    def test_broker_and_gateway_keep_the_restricted_level(self) -> None:
        for kind, name in (("StatefulSet", "kq-broker"), ("Deployment", "kq-gateway")):
            for values in ({}, ALL_OPTIONS):
                one = objects(render(values))[kind, name]
                pod_context = one["spec"]["template"]["spec"]["securityContext"]
                own = container(one)["securityContext"]
                self.assertTrue(pod_context["runAsNonRoot"])
                self.assertEqual(pod_context["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertFalse(own["allowPrivilegeEscalation"])
                self.assertEqual(own["capabilities"], {"drop": ["ALL"]})

    def test_a_worker_has_no_capability_and_a_user_namespace(self) -> None:
        worker = objects(render({}))["Deployment", "kq-worker-gpu"]
        spec, own = worker["spec"]["template"]["spec"], container(worker)
        self.assertFalse(spec["hostUsers"])
        self.assertTrue(spec["securityContext"]["runAsNonRoot"])
        self.assertEqual(own["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(own["securityContext"]["procMount"], "Unmasked")
        self.assertEqual(own["resources"]["limits"]["nvidia.com/gpu"], 1)

    def test_an_autoscaled_pool_follows_metrics_that_the_broker_has(self) -> None:
        all_objects = objects(render(ALL_OPTIONS))
        scaled = all_objects["ScaledObject", "kq-worker-h100"]["spec"]
        self.assertIn(("Deployment", scaled["scaleTargetRef"]["name"]), all_objects)
        self.assertNotIn("replicas", all_objects["Deployment", "kq-worker-h100"]["spec"])
        table = (ROOT / "broker/metrics/metrics.cc").read_text() + (ROOT / "broker/metrics/prometheus.cc").read_text()
        for trigger in scaled["triggers"]:
            self.assertTrue(all(isinstance(value, str) for value in trigger["metadata"].values()))
            metric, state = re.fullmatch(r'(\w+)\{state="(\w+)"\}', trigger["metadata"]["valueLocation"]).groups()
            self.assertIn(f'"{metric}"', table)
            self.assertIn(f'"{state}"', table)

    def test_two_brokers_share_a_lease_and_everything_knows_both(self) -> None:
        found = objects(render(STANDBY))
        for name, other in (("kq-broker", "b"), ("kq-broker-b", "a")):
            words = container(found["StatefulSet", name])["args"]
            self.assertIn(f"--follow=tcp://kq-broker-own-{other}.kq.svc:5570", words)
        both = "tcp://kq-broker-own-a.kq.svc:5570,tcp://kq-broker-own-b.kq.svc:5570"
        self.assertIn(f"--broker={both}", container(found["Deployment", "kq-gateway"])["args"])
        self.assertIn(f"--connect={both}", container(found["Deployment", "kq-worker-gpu"])["args"])
        self.assertEqual(found["PersistentVolumeClaim", "kq-broker-lease"]["spec"]["accessModes"], ["ReadWriteMany"])
        for letter in "ab":
            service = found["Service", f"kq-broker-own-{letter}"]["spec"]
            self.assertTrue(service["publishNotReadyAddresses"], "the other broker connects to a standby, too")
            self.assertEqual(service["selector"]["kq/broker"], letter)
        self.assertNotIn(
            "kq/broker", found["Service", "kq-broker"]["spec"]["selector"], "metrics of the one that serves"
        )

    def test_options_in_the_manifests_are_options_of_the_programs(self) -> None:
        for values in ({}, ALL_OPTIONS, STANDBY):
            for one in objects(render(values)).values():
                if one["kind"] not in ("StatefulSet", "Deployment"):
                    continue
                given = container(one)
                program = given["command"][0]
                known = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout
                for word in given["args"]:
                    if word.startswith("--"):
                        self.assertRegex(known, re.escape(word.split("=")[0]) + r"\b")

    @unittest.skipUnless(has_kustomize(), "kubectl with kustomize 5 is not installed")
    def test_the_overlay_has_a_pool_for_each_model(self) -> None:
        found = objects(kustomized("overlays/two-models"))
        for pool, model in (("h100", "NVIDIA-H100-80GB-HBM3"), ("l4", "NVIDIA-L4")):
            worker = found["Deployment", f"kq-worker-gpu-{pool}"]["spec"]
            self.assertEqual(worker["selector"]["matchLabels"]["kq/pool"], pool)
            self.assertEqual(worker["template"]["metadata"]["labels"]["kq/pool"], pool)
            self.assertEqual(worker["template"]["spec"]["nodeSelector"], {"nvidia.com/gpu.product": model})
        target = found["ScaledObject", "kq-worker-gpu-h100"]["spec"]["scaleTargetRef"]["name"]
        self.assertEqual(target, "kq-worker-gpu-h100")


@unittest.skipUnless(helm_python, ".venv-deploy is not made; tests/deploy/requirements.txt lists what it holds")
class Programs(unittest.TestCase):
    def wait_for(self, port: int, path: str, status: int) -> None:
        end = time.monotonic() + START_S
        while (seen := status_of(port, path)) != status:
            self.assertLess(time.monotonic(), end, f"{path} answers {seen}, not {status}")
            time.sleep(0.05)

    def test_probes_see_the_programs_that_the_manifests_start(self) -> None:
        found = objects(render({}))
        broker, gateway = found["StatefulSet", "kq-broker"], found["Deployment", "kq-gateway"]
        port, metrics, http = free_port(), free_port(), free_port()
        with tempfile.TemporaryDirectory(prefix="kq-k8s-") as name:
            folder = Path(name)
            subprocess.run(
                [BIN / "kq-ctl", "keygen", "--keys", "keys", "--name", "gateway", "--role", "submit"],
                check=True,
                capture_output=True,
                cwd=folder,
            )
            made = subprocess.run([BIN / "kq-gateway", "token", "ada"], check=True, capture_output=True, text=True)
            (folder / "tokens").write_text(made.stdout)
            broker_words = {
                "0.0.0.0": "127.0.0.1",
                "5570": str(port),
                "9570": str(metrics),
                "/var/lib/kq": name,
                "/etc/kq/keys": f"{name}/keys",
            }
            gateway_words = {
                "kq-broker.kq.svc:5570": f"127.0.0.1:{port}",
                "/etc/kq/key/": f"{name}/",
                "/etc/kq/tokens/": f"{name}/",
                "0.0.0.0:8000": f"127.0.0.1:{http}",
            }
            with pod(gateway, gateway_words):
                self.wait_for(http, container(gateway)["livenessProbe"]["httpGet"]["path"], 200)
                ready = container(gateway)["readinessProbe"]["httpGet"]["path"]
                self.wait_for(http, ready, 500)  # there is no broker yet
                with pod(broker, broker_words):
                    self.wait_for(metrics, container(broker)["startupProbe"]["httpGet"]["path"], 200)
                    self.wait_for(http, ready, 200)

    def test_the_other_broker_becomes_ready_when_the_serving_one_ends(self) -> None:
        found = objects(render(STANDBY))
        ports = {letter: free_port() for letter in "ab"}
        metrics = {letter: free_port() for letter in "ab"}
        with tempfile.TemporaryDirectory(prefix="kq-k8s-") as name, contextlib.ExitStack() as stack:
            made = [BIN / "kq-ctl", "keygen", "--keys", f"{name}/keys", "--name", "standby", "--role", "standby"]
            subprocess.run([*made, "-o", f"{name}/standby.key"], check=True, capture_output=True)
            pods = {}
            for letter, other in (("a", "b"), ("b", "a")):
                words = {
                    "0.0.0.0": "127.0.0.1",
                    f"kq-broker-own-{other}.kq.svc:5570": f"127.0.0.1:{ports[other]}",
                    "5570": str(ports[letter]),
                    "9570": str(metrics[letter]),
                    "/var/lib/kq-lease": name,
                    "/var/lib/kq/": f"{name}/{letter}-",
                    "/etc/kq/keys": f"{name}/keys",
                    "/etc/kq/standby": name,
                    "--takeover-after=2s": "--takeover-after=20s",  # a busy machine may stall a broker for two seconds
                }
                one = found["StatefulSet", "kq-broker" if letter == "a" else "kq-broker-b"]
                path = container(one)["readinessProbe"]["httpGet"]["path"]
                pods[letter] = stack.enter_context(pod(one, words))
                if letter == "a":
                    self.wait_for(metrics["a"], path, 200)
            self.wait_for_standby(Path(name) / "lease")
            self.assertEqual(status_of(metrics["b"], path), 0)
            pods["a"].send_signal(signal.SIGTERM)
            self.wait_for(metrics["b"], path, 200)

    def wait_for_standby(self, lease: Path) -> None:
        """Waits until the lease names the broker that may take over."""
        end = time.monotonic() + START_S
        while not re.search(r"^standby .*:/", lease.read_text(), re.MULTILINE):
            self.assertLess(time.monotonic(), end, lease.read_text())
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
