"""organization domain …: domains whose accounts an organization manages."""

from typing import Annotated

import typer

from openslot.accounts import organizations
from openslot.accounts.models import Domain
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime, Work
from openslot.integrations.dns import DnsResolver
from openslot.processes.runtimes import with_runtime, with_work

app = typer.Typer(help="Domains whose accounts an organization manages.", no_args_is_help=True, add_completion=False)

Slug = Annotated[str, typer.Argument(help="The organization's slug")]
DomainName = Annotated[str, typer.Argument(help="The domain, such as example.com")]


@app.command("add")
def add_domain(slug: Slug, domain: DomainName, as_json: AsJson = False) -> None:
    """Claim a domain, and print the DNS record that proves it."""

    async def do(work: Work) -> Domain:
        return await organizations.add_domain(
            work, await organizations.get_organization(work, slug), domain, verified=False
        )

    made = with_work(do)
    if as_json:
        print_json(_shown(made))
        return
    if made.verified_at is not None:
        console.print(f"{made.domain} is already verified.")
        return
    console.print(f"Add this TXT record, then run: openslot organization domain verify {slug} {made.domain}")
    console.print(f"  _openslot.{made.domain}  TXT  {made.proof}", soft_wrap=True)


@app.command("list")
def list_domains(slug: Slug, as_json: AsJson = False) -> None:
    """List an organization's domains, verified and claimed."""

    async def do(work: Work) -> list[Domain]:
        return await organizations.list_domains(work, await organizations.get_organization(work, slug))

    found = with_work(do)
    if as_json:
        print_json({"domains": [_shown(each) for each in found]})
        return
    print_table(
        ("Domain", "Verified", "Record"), [(d.domain, d.verified_at, d.proof) for d in found], nothing="No domains yet."
    )


@app.command("verify")
def verify_domain(slug: Slug, domain: DomainName, as_json: AsJson = False) -> None:
    """Look for the proof in the domain's DNS."""

    async def do(runtime: Runtime) -> Domain:
        work = runtime.work(OPERATOR)
        found = await organizations.get_organization(work, slug)
        return await organizations.verify_domain(work, found, domain, DnsResolver())

    made = with_runtime(do)
    if as_json:
        print_json(_shown(made))
        return
    console.print(f"{made.domain} is verified: {slug} manages the accounts in it.")


@app.command("remove")
def remove_domain(slug: Slug, domain: DomainName, as_json: AsJson = False) -> None:
    """Remove a domain; the organization no longer manages accounts because of it."""

    async def do(work: Work) -> None:
        await organizations.remove_domain(work, await organizations.get_organization(work, slug), domain)

    with_work(do)
    if as_json:
        print_json({"removed": domain})
        return
    console.print(f"{domain} is no longer a domain of {slug}.")


def _shown(domain: Domain) -> dict[str, object]:
    return {
        "domain": domain.domain,
        "verifiedAt": domain.verified_at,
        "recordName": f"_openslot.{domain.domain}",
        "recordValue": domain.proof,
    }
