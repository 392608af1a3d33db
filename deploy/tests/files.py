"""The files of deploy/, read once for every test."""

import json
import re
from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parents[1]
REPOSITORY = DEPLOY.parent
PROMETHEUS = DEPLOY / "prometheus"


def read_yaml(path: Path):
    """A YAML document."""
    return yaml.safe_load(path.read_text())


COMPOSE = read_yaml(DEPLOY / "compose.yaml")
DASHBOARD = json.loads((DEPLOY / "grafana/dashboards/reversid.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ALERTS = {
    rule["alert"]: rule
    for group in read_yaml(PROMETHEUS / "rules/alerts.yaml")["groups"]
    for rule in group["rules"]
}
ALERT_TESTS = read_yaml(PROMETHEUS / "alerts_test.yaml")["tests"]
RUNBOOK = (REPOSITORY / "docs/operations.md").read_text()

# The settings and their defaults, as the README has them.
DEFAULTS = dict(
    re.findall(r"^\| `(--[\w-]+)` \| `([^`]+)` \|", (REPOSITORY / "README.md").read_text(), re.M)
)

# What the service exports has one of these beginnings.
METRIC = re.compile(r"\b(?:reversi|rpc_server)_\w+")


def queries() -> dict[str, str]:
    """Every query of the dashboard, by where it stands."""
    found = {
        f"{panel['title']} ({target['refId']})": target["expr"]
        for panel in PANELS
        for target in panel["targets"]
    }
    for annotation in DASHBOARD["annotations"]["list"]:
        found[annotation["name"]] = annotation["target"]["expr"]
    return found


def metrics_used() -> set[str]:
    """Every metric that the dashboard or an alert asks for."""
    asked = [*queries().values(), *(rule["expr"] for rule in ALERTS.values())]
    return {name for expression in asked for name in METRIC.findall(expression)}
