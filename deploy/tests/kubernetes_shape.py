"""A shape of deployment as Kubernetes is given it: what Kustomize makes of an overlay."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from conftest import TOOLS, tool
from files import DEPLOY, REPOSITORY

OVERLAYS = DEPLOY / "kubernetes/overlays"
DEPLOYMENT = REPOSITORY / "docs/deployment.md"
WORKLOADS = {"Deployment", "StatefulSet"}


@cache
def build(folder: Path) -> str:
    """What `kubectl kustomize` makes of a folder."""
    command = [tool("kubectl", TOOLS / "venv/bin"), "kustomize", str(folder)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@cache
def documented() -> str:
    """What it makes of the overlay that the documents show, which lies beside a clone."""
    [overlay] = re.findall(r"```yaml\n(.*?)```", DEPLOYMENT.read_text(), re.DOTALL)
    with TemporaryDirectory() as folder:
        (Path(folder) / "reversid").symlink_to(REPOSITORY)
        own = Path(folder) / "own"
        own.mkdir()
        (own / "kustomization.yaml").write_text(overlay)
        return build(own)


class Shape:
    """The objects of a shape. Each one is the test's own, to change as it likes."""

    def __init__(self, name: str):
        text = documented() if name == "documented" else build(OVERLAYS / name)
        self.objects = list(yaml.safe_load_all(text))

    def all(self, kind: str) -> list[dict]:
        """Every object of this kind."""
        return [one for one in self.objects if one["kind"] == kind]

    def one(self, kind: str) -> dict:
        """The only object of this kind."""
        [found] = self.all(kind)
        return found

    @property
    def workload(self) -> dict:
        """What makes the pods."""
        [found] = [one for one in self.objects if one["kind"] in WORKLOADS]
        return found

    @property
    def template(self) -> dict:
        """What every pod is made by."""
        return self.workload["spec"]["template"]

    @property
    def pod(self) -> dict:
        """What a pod is told."""
        return self.template["spec"]

    @property
    def container(self) -> dict:
        """The only container of a pod."""
        [found] = self.pod["containers"]
        return found

    @property
    def settings(self) -> dict[str, str]:
        """The variables that are set plainly."""
        return self.one("ConfigMap")["data"]

    @property
    def ports(self) -> dict[str, int]:
        """The container's ports by name."""
        return {port["name"]: port["containerPort"] for port in self.container["ports"]}
