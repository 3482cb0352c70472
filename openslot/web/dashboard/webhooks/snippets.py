"""How to verify a delivery's signature, in two languages, ready to copy."""

from msgspec import Struct

PYTHON = """\
from standardwebhooks import Webhook, WebhookVerificationError  # pip install standardwebhooks


def receive(request):
    try:
        event = Webhook("whsec_…").verify(request.body, dict(request.headers))
    except WebhookVerificationError:
        return 401
    if not seen_before(event["id"]):
        handle_later(event)
    return 204"""
NODE = """\
import { Webhook } from "standardwebhooks"; // npm install standardwebhooks

app.post("/hooks/openslot", express.raw({ type: "application/json" }), (request, response) => {
  let event;
  try {
    event = new Webhook("whsec_…").verify(request.body.toString(), request.headers);
  } catch {
    return response.sendStatus(401);
  }
  if (!seenBefore(event.id)) handleLater(event);
  response.sendStatus(204);
});"""


class CodeSnippet(Struct, frozen=True, kw_only=True):
    """Code to copy."""

    id: str
    language: str
    code: str


SNIPPETS = (
    CodeSnippet(id="verify-python", language="Python", code=PYTHON),
    CodeSnippet(id="verify-node", language="Node.js", code=NODE),
)
