"""Renders plots without a browser, by vl-convert-python, which holds Vega.

render.py svg|png SPECIFICATION FILE   renders a specification in Vega-Lite
render.py bundle FILE                  writes Vega, Vega-Lite and Vega-Embed as one script for pages
"""

import sys
from pathlib import Path

try:
    import vl_convert
except ImportError:
    print("this Python has no vl-convert-python; install it with: pip install vl-convert-python", file=sys.stderr)
    sys.exit(4)

VEGA_LITE = "6.1"
NOTICE = Path(__file__).with_name("vega.notice.txt")  # whose terms ask that each copy has the notice
PNG_SCALE = 2  # pixels for a unit, so that a picture is sharp on paper and on dense screens


def bundle(file: Path) -> None:
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    # The end of an element within the script would end the script.
    if "</script" in script.lower():
        sys.exit("render.py: the bundle holds the end of a script")
    file.write_text("/*!\n" + NOTICE.read_text() + "*/\n(() => {\n" + script + "\n})();\n")


def render(form: str, specification: Path, file: Path) -> None:
    text = specification.read_text()
    if form == "svg":
        file.write_text(vl_convert.vegalite_to_svg(text, vl_version=VEGA_LITE, allowed_base_urls=[]))
    else:
        file.write_bytes(vl_convert.vegalite_to_png(text, vl_version=VEGA_LITE, scale=PNG_SCALE, allowed_base_urls=[]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["bundle", file]:
            bundle(Path(file))
        case ["svg" | "png" as form, specification, file]:
            render(form, Path(specification), Path(file))
        case _:
            sys.exit(__doc__)
