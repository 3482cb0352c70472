"""The page about the tools says what the tools are."""

from tests.doors.agents.documenting import PAGE, write_page


def test_the_page_about_the_tools_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == write_page()
