"""The dashboard is whole, without overlap, and asks the Prometheus that is chosen."""

import json
import re
import subprocess

from files import COMPOSE, DASHBOARD, DEFAULTS, DEPLOY, PANELS, read_yaml
from grafana_types import typescript


def test_panels_have_their_own_ids_and_places():
    every = DASHBOARD["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    taken = {}
    for panel in every:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                assert other == panel["title"], f"{panel['title']} lies on {other}"


def test_panels_say_what_they_show_in_a_unit():
    for panel in PANELS:
        assert panel["description"].endswith("."), panel["title"]
        if panel["type"] in ("timeseries", "stat"):
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_limits_that_panels_name_are_the_defaults_of_their_settings():
    said = " ".join(panel["description"] for panel in PANELS)
    limits = re.findall(r"(--[\w-]+) of them[^.]*?, ([\d,]+) by default", said)
    assert len(limits) == said.count(" by default") > 0
    for setting, limit in limits:
        assert limit.replace(",", "") == DEFAULTS[setting], setting


def test_everything_is_asked_of_the_chosen_prometheus():
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    for asking in (*PANELS, *DASHBOARD["annotations"]["list"], variables["instance"]):
        assert asking["datasource"] == chosen, asking
    for panel in PANELS:
        for target in panel["targets"]:
            own = "up{" in target["expr"] or "ALERTS{" in target["expr"]
            assert own or '$instance"' in target["expr"], target["expr"]


def test_what_is_provisioned_is_what_compose_mounts():
    provisioning = DEPLOY / "grafana/provisioning"
    sources = read_yaml(provisioning / "datasources/datasources.yaml")["datasources"]
    assert [source["type"] for source in sources if source.get("isDefault")] == ["prometheus"]
    services = COMPOSE["services"]
    for source in sources:
        host, port = source["url"].removeprefix("http://").split(":")
        assert f"127.0.0.1:{port}:{port}" in services[host]["ports"]
    (provider,) = read_yaml(provisioning / "dashboards/dashboards.yaml")["providers"]
    folder = provider["options"]["path"]
    grafana = services["grafana"]
    assert f"./grafana/dashboards:{folder}:ro" in grafana["volumes"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{folder}/reversid.json"


def test_grafana_has_types_for_all_that_the_dashboard_says(grafana_types, tmp_path):
    """Of the release that compose.yaml runs: a field or value that it does not know is a fault."""
    modules = grafana_types / "node_modules"
    schema = modules / "@grafana/schema"
    version = json.loads((schema / "package.json").read_text())["version"]
    assert COMPOSE["services"]["grafana"]["image"] == f"grafana/grafana:{version}"
    source = tmp_path / "dashboard.ts"
    source.write_text(typescript(DASHBOARD, schema))
    options = "--noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler"
    compiler = ["node", modules / "typescript/bin/tsc", *options.split(), source]
    result = subprocess.run(compiler, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
