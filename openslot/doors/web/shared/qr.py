"""QR codes of links."""

from io import BytesIO


def draw_qr(link: str) -> bytes:
    """Draw a link's code in black on white, with the margin that scanners need."""
    # Loaded with the first code: every start of a process would wait for the library.
    import segno  # noqa: PLC0415

    image = BytesIO()
    code = segno.make(link, error="m", micro=False)
    code.save(image, kind="svg", border=4, dark="#000", light="#fff", xmldecl=False, omitsize=True)
    return image.getvalue()
