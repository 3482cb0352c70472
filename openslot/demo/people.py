"""The demo's people, their organization and their keys."""

import base64

from msgspec import Struct

from openslot.domains.access.models import AGENTS
from openslot.domains.access.operations import create_agent_key, create_api_key, create_scim_token, give_password
from openslot.domains.access.passwords import hash_password, is_password
from openslot.domains.accounts.errors import OrganizationNotFound
from openslot.domains.accounts.members.operations import add_organization_member, list_organization_members
from openslot.domains.accounts.members.store import find_membership
from openslot.domains.accounts.models import Organization, Role, User, UserWanted
from openslot.domains.accounts.operations import find_user_by_email, finish_first_steps, get_user
from openslot.domains.accounts.organizations.operations import add_domain, add_organization, get_organization
from openslot.domains.accounts.organizations.store import has_domain_of
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.profiles.store import is_reserved
from openslot.domains.accounts.store import find_password_hash
from openslot.domains.people.operations import welcome_user
from openslot.platform.core.work import Work

DOMAIN = "harbor.example"
ORGANIZATION = ("Harbor Studio", "harbor")


class SignIn(Struct, frozen=True, kw_only=True):
    email: str
    password: str


class DemoPerson(Struct, frozen=True, kw_only=True):
    name: str
    username: str
    zone: str
    role: Role
    is_admin: bool = False

    @property
    def email(self) -> str:
        """An address in the demo organization's own domain."""
        return f"{self.username}@{DOMAIN}"


HOST = DemoPerson(name="Mara Lindqvist", username="mara", zone="Europe/Berlin", role=Role.OWNER)
SECOND_HOST = DemoPerson(name="Jonas Okafor", username="jonas", zone="America/New_York", role=Role.MEMBER)
ADMIN = DemoPerson(name="Ada Moreau", username="ada", zone="Europe/Paris", role=Role.ADMIN, is_admin=True)


async def make_people(work: Work) -> dict[str, User]:
    """Make the demo's people if they are missing."""
    organization = await _find_or_add_organization(work)
    made = {}
    for person in (HOST, SECOND_HOST, ADMIN):
        user = await _find(work, organization, person) or await _add(work, person)
        if await find_membership(work.db, organization.id, user.id) is None:
            await add_organization_member(work, organization, user, role=person.role)
        made[person.username] = await get_user(work, user.id)
    return made


async def make_keys(work: Work, host: User) -> tuple[str, str, dict[str, str]]:
    organization = await _find_or_add_organization(work)
    api_key, _ = await create_api_key(work, host, name="Demo")
    scim_token, _ = await create_scim_token(work, organization, name="Demo")
    agent_keys = {agent: (await create_agent_key(work, agent, name="Demo"))[0] for agent in AGENTS}
    return api_key, scim_token, agent_keys


async def _find_or_add_organization(work: Work) -> Organization:
    name, slug = ORGANIZATION
    try:
        return await get_organization(work, slug)
    except OrganizationNotFound:
        organization = await add_organization(work, name=name, slug=slug, plan=Plan.BUSINESS)
        await add_domain(work, organization, DOMAIN, verified=True)
        return organization


async def _find(work: Work, organization: Organization, person: DemoPerson) -> User | None:
    """Find a person of the demo, also one who has changed the address; nobody can prove the domain but the demo."""
    found = await find_user_by_email(work, person.email)
    if found is not None or not await has_domain_of(work.db, organization.id, person.email):
        return found
    users = (member.user for member in await list_organization_members(work, organization))
    return next((user for user in users if user.username == person.username), None)


async def _add(work: Work, person: DemoPerson) -> User:
    # The name of a person whom somebody has renamed or deleted stays reserved; a derived one is as good.
    username = None if await is_reserved(work.db, person.username, now=work.now) else person.username
    wanted = UserWanted(
        email=person.email,
        name=person.name,
        username=username,
        plan=Plan.PRO,
        zone=person.zone,
        is_admin=person.is_admin,
    )
    user = await welcome_user(work, wanted)
    # People of the demo have finished the first steps long ago.
    await finish_first_steps(work, user)
    return user


async def make_sign_in(work: Work, user: User) -> SignIn:
    """Make sure that a sign-in works; the password is the same at every run and different in every installation."""
    signature = work.runtime.signer.sign("demo password", user.email.encode())
    letters = base64.b32encode(signature).decode().lower()
    password = f"{letters[:5]}-{letters[5:10]}-{letters[10:15]}"
    known = await find_password_hash(work.db, user.id)
    # To check a password takes as long as to set it.
    if known is None or not await is_password(password, known):
        await give_password(work, user, await hash_password(password))
    return SignIn(email=user.email, password=password)
