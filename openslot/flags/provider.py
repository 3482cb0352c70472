"""OpenFeature: all flags in memory, a provider that answers from them, and the client that asks it."""

from time import monotonic
from typing import NoReturn
from uuid import UUID

from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import FlagNotFoundError, TypeMismatchError
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider, Metadata, ProviderStatus

from openslot.core.db import BUSY, DOWN, Db
from openslot.flags import store
from openslot.flags.models import FlagKey, FlagValues


class FlagProvider(AbstractProvider):
    """The flags of this installation as they were last read; every flag is true or false."""

    def __init__(self) -> None:
        super().__init__()
        self.values: FlagValues | None = None
        """None until they have been read."""

    def get_metadata(self) -> Metadata:
        return Metadata(name="openslot")

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Answer for the user that is the context's targeting key, or for everyone."""
        del default_value
        if self.values is None or flag_key not in self.values.flags:
            raise FlagNotFoundError(flag_key)
        user_id = evaluation_context.targeting_key if evaluation_context else None
        own = self.values.overrides.get((flag_key, user_id)) if user_id else None
        if own is not None:
            return FlagResolutionDetails(value=own, reason=Reason.TARGETING_MATCH)
        return FlagResolutionDetails(value=self.values.flags[flag_key], reason=Reason.STATIC)

    def _refuse(
        self, flag_key: str, default_value: object, evaluation_context: EvaluationContext | None = None
    ) -> NoReturn:
        raise TypeMismatchError(f"{flag_key} is true or false")

    resolve_string_details = resolve_integer_details = resolve_float_details = resolve_object_details = _refuse


class FlagClient(OpenFeatureClient):
    """An OpenFeature client of one provider.

    OpenFeature keeps its providers in one list per process; two runtimes in one process have different databases.
    """

    def __init__(self, provider: FlagProvider) -> None:
        super().__init__(domain="openslot", version=None)
        self._provider = provider

    @property
    def provider(self) -> FlagProvider:
        return self._provider

    def get_provider_status(self) -> ProviderStatus:
        """Answer that it can be asked at any time: before flags are read, a check gets its default."""
        return ProviderStatus.READY


FRESH_SECONDS = 1.0


class FlagCache:
    """All flags of a runtime, read again at most once a second and only if they have changed."""

    def __init__(self) -> None:
        self.provider = FlagProvider()
        self.client = FlagClient(self.provider)
        self._read_at = -FRESH_SECONDS

    async def is_enabled(self, db: Db, key: FlagKey, *, user_id: UUID | None) -> bool:
        """Ask OpenFeature whether a flag is on for a user or, without one, for everyone; unknown flags are on."""
        await self._refresh(db)
        return self.client.get_boolean_value(key, True, EvaluationContext(str(user_id) if user_id else None))

    async def _refresh(self, db: Db) -> None:
        """Read what has changed; if the database can't answer, the last known flags stay.

        The caller's own connection is used: a second one might never be free while every caller holds one and waits.
        """
        now = monotonic()
        if self.provider.values is not None and now - self._read_at < FRESH_SECONDS:
            return
        # Before the statement, so that those who come meanwhile do not send it too.
        self._read_at = now
        known = self.provider.values.version if self.provider.values else None
        try:
            changed = await store.read_changed(db, known)
        except (*DOWN, *BUSY):
            if known is None:
                raise
            return
        if changed is not None:
            self.provider.values = changed
