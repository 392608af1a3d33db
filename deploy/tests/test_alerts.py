"""The alerts are sound, fire and are silent as their unit tests say, and are in the runbook."""

import re
import subprocess

from files import ALERT_TESTS, ALERTS, DEFAULTS, PROMETHEUS, RUNBOOK


def run(*command) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_prometheus_takes_its_configuration_and_rules(promtool):
    run(promtool, "check", "config", PROMETHEUS / "prometheus.yaml")


def test_alerts_fire_and_are_silent_as_told(promtool):
    run(promtool, "test", "rules", PROMETHEUS / "alerts_test.yaml")


def test_every_alert_is_seen_to_fire_and_to_be_silent():
    cases = [case for test in ALERT_TESTS for case in test["alert_rule_test"]]
    fires = {case["alertname"] for case in cases if case.get("exp_alerts")}
    silent = {case["alertname"] for case in cases if not case.get("exp_alerts")}
    assert fires == silent == set(ALERTS)


def test_every_alert_says_what_is_wrong_how_bad_it_is_and_where_to_read_on():
    for name, rule in ALERTS.items():
        assert rule["labels"]["severity"] in ("critical", "warning"), name
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, name
        assert rule["annotations"]["runbook_url"] == f"docs/operations.md#{name.lower()}"


def test_the_runbook_has_an_entry_for_every_alert_and_for_no_other():
    """Each says what it means, why it comes, what to look at, what to do and when it is over."""
    entries = dict(re.findall(r"^### (Reversid\w+)\n(.*?)(?=^##)", RUNBOOK + "\n##", re.M | re.S))
    assert list(entries) == list(ALERTS)
    for name, entry in entries.items():
        for part in ("**Means**", "**Causes**", "**Look at**", "**Do**", "**Over**"):
            assert part in entry, f"{name}: {part}"
        severity = ALERTS[name]["labels"]["severity"]
        assert entry.lstrip().startswith(f"*{severity}*"), f"{name} is {severity}"


def test_limits_are_the_defaults_of_their_settings():
    expression = ALERTS["ReversidNearLimit"]["expr"]
    limits = re.findall(r'/ (\d+), "setting", "(--[\w-]+)"', expression)
    assert len(limits) == expression.count("label_replace") == 3
    for limit, setting in limits:
        assert limit == DEFAULTS[setting], setting
