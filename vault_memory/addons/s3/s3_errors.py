"""Turns the errors of S3 into those of a remote."""

import re
from typing import Any, Literal, NamedTuple

from botocore import exceptions as boto

from vault_memory.remote.http_transport import HttpAnswer, NoAnswer, NotSent, is_redirect
from vault_memory.remote.remote_errors import (
    AWS_KEYS,
    AnsweredByProxy,
    ClocksDiffer,
    NotUnderstood,
    OutcomeUnknown,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
    WrongRegion,
)
from vault_memory.remote.status_errors import retry_after, unreachable

_Trouble = Literal[
    "no_bucket", "changed", "keys_refused", "clocks_differ", "wrong_region", "busy", "full"
]


class _Sign(NamedTuple):
    """What in an answer means a trouble: a code of S3, or a status."""

    trouble: _Trouble
    codes: frozenset[str]
    statuses: frozenset[int] = frozenset()


_SIGNS = (
    _Sign("no_bucket", frozenset({"NoSuchBucket"})),
    _Sign(
        "changed",
        frozenset({"ConditionalRequestConflict", "OperationAborted", "PreconditionFailed"}),
        frozenset({412}),
    ),
    _Sign(
        "keys_refused",
        frozenset(
            {
                "AccountProblem",
                "ExpiredToken",
                "InvalidAccessKeyId",
                "InvalidSecurity",
                "InvalidToken",
                "NotSignedUp",
                "SignatureDoesNotMatch",
                "TokenRefreshRequired",
            }
        ),
        frozenset({401}),
    ),
    _Sign(
        "clocks_differ", frozenset({"RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed"})
    ),
    _Sign(
        "wrong_region",
        frozenset(
            {
                "AuthorizationHeaderMalformed",
                "IllegalLocationConstraintException",
                "PermanentRedirect",
            }
        ),
        frozenset(status for status in range(300, 400) if is_redirect(status)),
    ),
    _Sign(
        "busy",
        frozenset(
            {
                "BandwidthLimitExceeded",
                "RequestLimitExceeded",
                "RequestTimeout",
                "ServiceUnavailable",
                "SlowDown",
                "Throttling",
                "ThrottlingException",
                "TooManyRequests",
            }
        ),
        frozenset({429, 503}),
    ),
    _Sign(
        "full",
        frozenset(
            {
                "InsufficientStorage",
                "QuotaExceeded",
                "ServiceQuotaExceededException",
                "XMinioStorageFull",
            }
        ),
        frozenset({507}),
    ),
)
"""The first one that an answer has decides"""
_REFUSALS = {
    "EntityTooLarge": "it is too large",
    "InvalidObjectName": "it does not accept this name",
    "KeyTooLongError": "the name is too long",
}
_LASTING = frozenset({400, 413, 414, 415})
_DAMAGED = frozenset(
    {"BadDigest", "IncompleteBody", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}
)
"""The body changed on its way, and another try may succeed"""
_NO_KEYS = (
    boto.CredentialRetrievalError,
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.ProfileNotFound,
    boto.SSOError,
    boto.TokenRetrievalError,
)


def error_of(error: Exception, path: str, url: str, *, writes: bool) -> RemoteError:
    """The error of a remote for one of S3. `url`: the address of the remote's own folder.

    `writes`: whether the request may have changed something although no clear answer came.
    """
    answer: HttpAnswer | None = getattr(error, "answer", None)
    match error:
        case NotSent():
            return unreachable(error)
        case NoAnswer():
            return _without_answer(path, str(error), writes=writes, is_silence=True)
        case boto.ClientError():
            return _refusal(error, answer, path, url, writes=writes)
        case boto.ParamValidationError():
            return Refused(path, "it does not accept this name", lasting=True)
        case boto.NoRegionError() | boto.InvalidRegionError():
            return WrongRegion("")
    if isinstance(error, _NO_KEYS):
        # Fault (H126): the message of boto3 may quote the file with the keys.
        return Unauthorised("no usable AWS keys were found", hint=AWS_KEYS)
    reason = "it is not an answer of S3"
    if writes and answer is not None and answer.status < 300:
        return OutcomeUnknown(path, reason)
    return NotUnderstood(reason, path=path)


def _refusal(
    error: boto.ClientError, answer: HttpAnswer | None, path: str, url: str, *, writes: bool
) -> RemoteError:
    details: dict[str, Any] = error.response.get("Error", {})
    code = str(details.get("Code", ""))
    status = answer.status if answer is not None else 0
    match _trouble_of(code, status):
        case "no_bucket":
            return RootMissing(url)
        case "changed":
            return RemoteChanged(path)
        case "keys_refused":
            return Unauthorised("the store refuses these keys", hint=AWS_KEYS)
        case "clocks_differ":
            return ClocksDiffer()
        case "wrong_region":
            return WrongRegion(_region_of(details, answer))
        case "busy":
            return RemoteBusy(
                "the store gets too many requests",
                retry_after=retry_after(answer) if answer is not None else None,
                everywhere=True,
            )
        case "full":
            return RemoteFull(path)
    # Only its status can say what it complains of.
    return _by_status(status, code, answer, path, writes=writes)


def _trouble_of(code: str, status: int) -> _Trouble | None:
    """What an answer complains of; None when only its status can say that."""
    for sign in _SIGNS:
        if code in sign.codes or status in sign.statuses:
            return sign.trouble
    return None


def _by_status(
    status: int, code: str, answer: HttpAnswer | None, path: str, *, writes: bool
) -> RemoteError:
    if status in (403, 404, 410) and _is_by_proxy(answer):
        return AnsweredByProxy(f"status {status} came without S3's form", path=path)
    match status:
        case 404 | 410:
            return RemoteMissing(path)
        case 423:
            return RemoteLocked(path)
        case 403:
            return Refused(path, "these keys may not do that")
        case _ if 400 <= status < 500:
            reason = _REFUSALS.get(code, _plain(code, status))
            # Fault: a note damaged on its way would be left alone for a day.
            is_lasting = status in _LASTING and code not in _DAMAGED
            return Refused(path, reason, lasting=is_lasting)
        case 502 | 504 if not writes:
            return RemoteUnreachable(f"a server before it answers {status}")
    # Fault: a login page comes with status 200.
    is_silence = status >= 500
    reason = f"status {status}"
    return _without_answer(path, reason, writes=writes, is_silence=is_silence)


def _plain(code: str, status: int) -> str:
    # Fault (H126): a hostile answer must not write its own text into a message.
    word = code if re.fullmatch(r"[A-Za-z]{1,60}", code) else "the request"
    return f"{word} (status {status})"


def _without_answer(path: str, reason: str, *, writes: bool, is_silence: bool) -> RemoteError:
    # Fault (E81): the store kept the file, and the answer was lost.
    if writes:
        return OutcomeUnknown(path, reason)
    return NotUnderstood(reason, path=path, is_silence=is_silence)


def _is_by_proxy(answer: HttpAnswer | None) -> bool:
    """Whether a proxy reports a path as missing or forbidden, in place of the store."""
    # Fault (E86): taken for the store's answer, it would make files look deleted. The
    # store answers in XML; an answer to HEAD has no body.
    if answer is None or not answer.body:
        return False
    return b"<Error" not in answer.body[:1000]


def _region_of(details: dict[str, Any], answer: HttpAnswer | None) -> str:
    region = str(details.get("Region", ""))
    if not region and answer is not None:
        region = answer.header("x-amz-bucket-region")
    # Fault (H126): a hostile answer must not write its own text into a hint.
    return region if re.fullmatch(r"[a-z0-9-]{1,40}", region) else ""
