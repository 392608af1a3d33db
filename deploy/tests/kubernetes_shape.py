"""A shape of deployment as Kubernetes is given it: what Kustomize makes of an overlay."""

import subprocess
from functools import cache
from pathlib import Path

import yaml

from conftest import TOOLS, tool
from files import DEPLOY

KUBERNETES = DEPLOY / "kubernetes"
WORKLOADS = {"Deployment", "StatefulSet"}


@cache
def build(folder: Path) -> str:
    """What `kubectl kustomize` makes of a folder."""
    command = [tool("kubectl", TOOLS / "venv/bin"), "kustomize", str(folder)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Shape:
    """The objects of a shape. Each one is the test's own, to change as it likes."""

    def __init__(self, folder: Path):
        self.objects = list(yaml.safe_load_all(build(folder)))

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
