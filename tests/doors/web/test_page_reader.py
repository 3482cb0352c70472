"""The reader of pages: what tests ask of a page is what a person and a browser find in it."""

from tests.support.page import read_html

HTML = """<!doctype html><html><body><title>Title</title><link rel="stylesheet" href="/static/app.css">
<h1>Your <em>page</em></h1><p class="notice bad" role="alert">Can&#39;t be
  saved.</p><p class="notice" hidden>Later</p><p class="notice" data-problem></p>
<form><input type="hidden" name="csrf" value="abc"><input name="email" value="a&amp;b@x.example">
<p class="fault" id="fault-email">Is not a <b>valid</b> address</p>
<input type="checkbox" name="sure" checked><input type="checkbox" name="unsure">
<input type="radio" name="pick" value="1"><input type="radio" name="pick" value="2" checked>
<select name="zone"><option value="UTC">UTC</option><option value="Europe/Berlin" selected>Berlin</option></select>
<select name="role"><option>member</option><option>owner</option></select>
<textarea name="note">
 Two  words</textarea><button name="act" value="save">Save <svg></svg></button></form>
<table><tr><th>Name</th><th>Day</th></tr><tr><td><a href="/a?b=1&amp;c=2">Ana</a><br>Ruiz</td><td></td></tr></table>
<a href="/other">Ana</a><script>var hidden = "script";</script>"""


def test_reads_what_fields_hold_and_would_send() -> None:
    fields = read_html(HTML).fields
    assert fields["csrf"].value == "abc"
    assert fields["email"].value == "a&b@x.example"
    assert (fields["sure"].checked, fields["sure"].value, fields["unsure"].checked) == (True, "on", False)
    assert (fields["pick"].values, list(fields["pick"].options)) == (["2"], ["1", "2"])
    assert fields["zone"].value == "Europe/Berlin"
    assert fields["zone"].options == {"UTC": "UTC", "Europe/Berlin": "Berlin"}
    assert (fields["role"].value, fields["note"].value) == ("member", " Two  words")
    assert (fields["act"].values, fields["act"].options) == ([], {"save": "Save"})


def test_reads_what_a_page_says() -> None:
    page = read_html(HTML)
    assert page.faults == {"email": "Is not a valid address"}
    assert page.notices == ["Can't be saved."]
    assert page.headings == ["Your page"]
    assert page.rows == [["Name", "Day"], ["Ana Ruiz", ""]]
    assert page.links == {"Ana": "/a?b=1&c=2"}
    assert page.addresses == {"/a?b=1&c=2", "/other", "/static/app.css"}
    assert page.buttons == ["Save"]
    assert page.text == "Your page Can't be saved. Is not a valid address Save Name Day Ana Ruiz Ana"
