"""Two replicas are played on and scraped: what dashboard and alerts ask for is there."""

import math
import re

import pytest

from files import ALERTS, METRIC, PANELS, metrics_used, queries
from play import Play
from reversi_client import connect
from stack import Stack, wait_for

# What Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "20s", "$__range": "1m", "$instance": ".+"}

SELECTOR = re.compile(METRIC.pattern + r"(?:\{[^}]*\})?")


@pytest.fixture(scope="module")
def watched(reversid, prometheus, tmp_path_factory):
    """Prometheus, while games are played."""
    with (
        Stack(reversid, prometheus, tmp_path_factory.mktemp("stack")) as stack,
        connect(stack.replicas[0].address) as one,
        connect(stack.replicas[1].address) as other,
    ):
        play = Play([one, other])
        play.start()
        yield stack.prometheus
        play.stop()
        assert play.failure is None, play.failure


def asked(expression: str) -> str:
    for variable, value in VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression


def answered(api, expression: str) -> list:
    """The series that a query gives which have a value."""
    series = api.get("query", query=asked(expression))["result"]
    return [one["metric"] for one in series if not math.isnan(float(one["value"][1]))]


def test_every_replica_is_scraped(watched):
    both = 'count(up{job="reversid"} == 1) == 2'
    wait_for(lambda: watched.get("query", query=both)["result"], "both are up")


def test_every_query_of_the_dashboard_finds_something(watched):
    """Without an error, at one moment or another of the play."""
    waiting = dict(queries())

    def all_found():
        for place, expression in list(waiting.items()):
            if answered(watched, expression):
                del waiting[place]
        return not waiting

    try:
        wait_for(all_found, "")
    except AssertionError:
        raise AssertionError(f"these find nothing: {waiting}") from None


def test_series_have_the_labels_that_they_are_told_apart_by(watched):
    """Those of a panel's legend, and those that its query sums by."""
    for panel in PANELS:
        for target in panel["targets"]:
            expression, legend = target["expr"], target["legendFormat"]
            by = ", ".join(re.findall(r"\bby \(([^)]+)\)", expression))
            wanted = {label for label in by.split(", ") if label}
            if "histogram_quantile" in expression:
                wanted.discard("le")
            wanted |= set(re.findall(r"\{\{(\w+)\}\}", legend))
            found = wait_for(lambda e=expression: answered(watched, e), panel["title"])
            for series in found:
                assert wanted <= set(series), f"{panel['title']}: {series} lacks some of {wanted}"


def test_every_metric_that_is_used_is_exported(watched):
    def missing():
        return metrics_used() - set(watched.get("label/__name__/values"))

    wait_for(lambda: not missing(), f"everything but {missing()} is exported")


def test_alerts_go_by_labels_and_values_that_there_are(watched):
    """Of a list of codes none may have come up yet: its label is looked for."""
    for name, rule in ALERTS.items():
        for selector in SELECTOR.findall(rule["expr"]):
            open_ended = re.sub(r'=~"[^"]*"', '=~".+"', selector)
            wait_for(
                lambda s=open_ended: watched.get("series", **{"match[]": s}),
                f"{name}: there is {selector}",
            )


def test_only_the_alert_that_was_provoked_fires(watched):
    """The play resumes with a version that no store has, as after a loss of history."""
    (groups,) = watched.get("rules").values()
    assert {rule["name"] for group in groups for rule in group["rules"]} == set(ALERTS)
    wait_for(lambda: "ReversidHistoryLost" in watched.firing(), "the alert fires")
    assert watched.firing() == {"ReversidHistoryLost"}
