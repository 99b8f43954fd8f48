"""The colours of Material's own parts, the same as those of ours in assets/css/look.css."""

from typing import Any

LIGHT = {"primary": "#0b6078", "background": "#f4f6f8", "paper": "#ffffff", "text": "#16222c", "soft": "#4d5c69",
         "line": "#d5dce2", "on_primary": "#ffffff"}
DARK = {"primary": "#6cc5dc", "background": "#0e151a", "paper": "#151f26", "text": "#e6eef3", "soft": "#a3b5c1",
        "line": "#33434e", "on_primary": "#062630"}


# Of the frame, which Material draws; the variables are those of assets/css/look.css.
FRAME = {
    "& .MuiAppBar-root": {"backgroundColor": "var(--bar)", "backgroundImage": "none", "color": "var(--on-bar)",
                          "boxShadow": "none"},
    "& .MuiToolbar-root": {"minHeight": "48px !important"},
    "& main": {"backgroundColor": "var(--ground)"},
    "& .sidebar": {"backgroundColor": "var(--surface)", "backgroundImage": "none", "borderColor": "var(--line)"},
}


def theme_config() -> dict[str, Any]:
    return {"light": _theme(LIGHT), "dark": _theme(DARK)}


def _theme(colours: dict[str, str]) -> dict[str, Any]:
    return {
        "palette": {
            "primary": {"main": colours["primary"], "contrastText": colours["on_primary"]},
            "background": {"default": colours["background"], "paper": colours["paper"]},
            "text": {"primary": colours["text"], "secondary": colours["soft"]},
            "divider": colours["line"],
        },
        "typography": {"fontSize": 13, "button": {"textTransform": "none"}},
        "shape": {"borderRadius": 6},
    }
