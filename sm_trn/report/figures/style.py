@functools.cache
def families() -> tuple[str, ...]:
    """The families of the list that this machine has; asking matplotlib for others makes it log a warning each time."""
    from matplotlib import font_manager

    known = set(font_manager.fontManager.get_font_names())
    return tuple(name for name in FAMILIES if name in known) or ("DejaVu Sans",)


def rc(theme: Theme) -> dict[str, Any]:
    """matplotlib settings for one ``rc_context``."""
    palette = PALETTES[theme]
    return {
        "font.family": list(families()),
        "font.size": 9.5,
        "text.color": palette["ink"],
        "axes.facecolor": palette["bg"],
        "axes.edgecolor": palette["axis"],
        "axes.labelcolor": palette["ink3"],
        "figure.facecolor": palette["bg"],
        "savefig.facecolor": palette["bg"],
        "figure.dpi": 100,
        "hatch.linewidth": 1.5,
        "svg.fonttype": "none",
        "axes.unicode_minus": True,
        "path.simplify": True,
        "text.usetex": False,
        "text.parse_math": False,
    }
