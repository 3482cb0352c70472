"""Pictures of every page that a walk comes to, to be looked at: `make pictures`."""

import os
import re
from html import escape
from pathlib import Path
from typing import Literal

from msgspec import Struct
from playwright.async_api import Page, ViewportSize

FOLDER = os.environ.get("OPENSLOT_PICTURES")
"""Where pictures go; without it none is taken."""


class View(Struct, frozen=True):
    """How a page is looked at."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"
    direction: Literal["ltr", "rtl"] = "ltr"


VIEWS = (
    View("phone", 390, 844),
    View("desk", 1280, 800),
    View("desk, dark", 1280, 800, scheme="dark"),
    View("desk, right to left", 1280, 800, direction="rtl"),
    View("wide", 1920, 1080),
)


async def take_pictures(page: Page, name: str) -> None:
    """Take a picture of an open page in every view, if pictures are wanted; leave the page as it was."""
    if FOLDER is None or page.viewport_size is None:
        return
    size, direction = page.viewport_size, await page.evaluate("document.documentElement.dir")
    folder = Path(FOLDER) / re.sub(r"[^\w.-]+", "-", name)
    folder.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        await page.set_viewport_size(ViewportSize(width=view.width, height=view.height))
        await page.emulate_media(color_scheme=view.scheme)
        await page.evaluate("direction => { document.documentElement.dir = direction; }", view.direction)
        await page.screenshot(path=folder / f"{view.name}.png", full_page=True)
    await page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(size)


def write_index(folder: Path) -> None:
    """Write a page that shows all pictures."""
    rows = "".join(
        f"<h2>{escape(state.name)}</h2>"
        + "".join(
            f'<a href="{state.name}/{view.name}.png"><img src="{state.name}/{view.name}.png" alt="{view.name}"'
            f' loading="lazy" height="400"></a> '
            for view in VIEWS
        )
        for state in sorted(folder.iterdir())
        if state.is_dir()
    )
    (folder / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><title>Pages</title>{rows}')


if __name__ == "__main__":
    write_index(Path(os.environ["OPENSLOT_PICTURES"]))
