"""The dashboard as TypeScript, to be checked against the types that Grafana publishes."""

import json
from pathlib import Path

# The types of what only one kind of panel has, by the kind.
PANEL_TYPES = {
    "heatmap": "heatmap",
    "stat": "stat",
    "state-timeline": "statetimeline",
    "table": "table",
    "timeseries": "timeseries",
}
# Of the plugin for Prometheus, which publishes no types.
PROMETHEUS_FIELDS = {"expr", "interval", "titleFormat", "textFormat"}

# Grafana's enums have strings for values; a literal is compared with those.
LITERAL = (
    "type Literal<T> = T extends string ? T | `${T}` : T extends (infer U)[] ? Literal<U>[]"
    " : T extends object ? {[K in keyof T]: Literal<T[K]>} : T;"
)


def typescript(dashboard: dict, schema: Path) -> str:
    """A module in which each literal has the type that Grafana has for it."""
    types = schema / "dist/types"
    lines = [f'import type {{Dashboard, Panel, RowPanel}} from "{types}/index";', LITERAL]
    for name in PANEL_TYPES.values():
        path = f"{types}/raw/composable/{name}/panelcfg/x/types.gen"
        lines.append(f'import type * as {name} from "{path}";')

    def literal(name: str, kind: str, value: dict) -> None:
        lines.append(f"export const {name}: Literal<{kind}> = {json.dumps(value)};")

    whole = json.loads(json.dumps(dashboard))
    panels = whole.pop("panels")
    for annotation in whole["annotations"]["list"]:
        for fields in (annotation, annotation["target"]):
            for field in PROMETHEUS_FIELDS & set(fields):
                del fields[field]
    literal("dashboard", 'Omit<Dashboard, "panels">', whole)
    for panel in panels:
        number = panel["id"]
        if panel["type"] == "row":
            literal(f"row{number}", "RowPanel", panel)
            continue
        kind = PANEL_TYPES[panel["type"]]
        literal(f"options{number}", f"Partial<{kind}.Options>", panel.pop("options"))
        custom = panel["fieldConfig"]["defaults"].pop("custom", None)
        if custom:
            literal(f"custom{number}", f"{kind}.FieldConfig", custom)
        literal(f"panel{number}", "Panel", panel)
    return "\n".join(lines) + "\n"
