"""Names the values of filters that nothing in the searched scopes has, with near names."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple

from vault_memory.index import fts_search
from vault_memory.index.filters import Filters
from vault_memory.index.properties import property_filters, property_values
from vault_memory.index.store import Index
from vault_memory.markdown.properties.note_properties import Sort, clean_tag, folded_value

MOST_NEAR = 3
SIMILAR = 0.6


class UnknownFilter(NamedTuple):
    """A filter that nothing passes because of a name, perhaps a misspelt one."""

    filter: str
    """topic, entity, kind, tag, where or path"""
    value: str
    near: tuple[str, ...]
    """similar names that there are, the most similar first; of `kind` all kinds that there are"""


def unknown_filters(
    index: Index, scope_ids: Sequence[int], filters: Filters, *, is_empty: bool
) -> tuple[UnknownFilter, ...]:
    """Return the filters with unknown values. `is_empty`: the search found nothing.

    A hit passes each filter but the topic, so only topics are looked up when there are hits.
    """
    # Fault: near names of other scopes would tell what people wrote there.
    if not scope_ids:
        return ()
    unknown = list(_unknown_topic(index, scope_ids, filters))
    if is_empty:
        unknown += _others(index, scope_ids, filters)
    return tuple(unknown)


def _unknown_topic(
    index: Index, scope_ids: Sequence[int], filters: Filters
) -> Iterator[UnknownFilter]:
    if filters.topic is None:
        return
    # Fault: text without a topic passes each topic, so a misspelt one gives hits all the same.
    topics = property_values.topics(index, scope_ids)
    if folded_value(filters.topic) not in map(folded_value, topics):
        yield UnknownFilter("topic", filters.topic, near_names(filters.topic, topics))


class _Lookup(NamedTuple):
    """A filter by itself, and where similar values are."""

    name: str
    value: str
    filters: Filters
    near: Callable[[], tuple[str, ...]]


def _others(index: Index, scope_ids: Sequence[int], filters: Filters) -> Iterator[UnknownFilter]:
    """Yield the filters, other than the topic, that nothing in the scopes passes."""
    for lookup in _lookups(index, scope_ids, filters):
        fts_search.prepare(index, lookup.filters)
        if not fts_search.count(index, scope_ids, lookup.filters):
            yield UnknownFilter(lookup.name, lookup.value, lookup.near())


def _lookups(index: Index, scope_ids: Sequence[int], filters: Filters) -> Iterator[_Lookup]:
    entity = filters.entity
    if entity is not None:
        yield _Lookup(
            "entity",
            entity,
            Filters(entity=entity, also=filters.also),
            lambda: near_names(entity, property_values.names_of_entities(index, scope_ids)),
        )
    for kind in sorted(filters.kinds):
        yield _Lookup(
            "kind",
            kind,
            Filters(kinds=frozenset((kind,))),
            lambda: tuple(property_values.kinds_of(index, scope_ids)),
        )
    for tag in filters.tags:
        yield _Lookup("tag", tag, Filters(tags=(tag,)), partial(_near_tags, index, scope_ids, tag))
    for field in filters.where:
        yield _Lookup(
            "where", field, Filters(where=(field,)), partial(_near_fields, index, scope_ids, field)
        )
    for path in filters.paths:
        yield _Lookup(
            "path", path, Filters(paths=(path,)), partial(_near_paths, index, scope_ids, path)
        )


def _near_tags(index: Index, scope_ids: Sequence[int], tag: str) -> tuple[str, ...]:
    """Return similar tags of the notes of these scopes."""
    tags = property_values.values_of(index, scope_ids, (Sort.TAG, Sort.TEXT_TAG))
    return near_names(clean_tag(tag), tags)


def _near_paths(index: Index, scope_ids: Sequence[int], path: str) -> tuple[str, ...]:
    """Return similar paths and folders of these scopes."""
    paths = property_values.paths_of(index, scope_ids)
    return near_names(path, _with_folders(paths))


def _near_fields(index: Index, scope_ids: Sequence[int], field: str) -> tuple[str, ...]:
    """Return fields as they would be written: with near values of a known key, or near keys."""
    key, value = property_filters.split_field(field)
    keys = property_values.keys_of_fields(index, scope_ids)
    if key not in keys or value is None:
        return near_names(key, keys)
    values = property_values.values_of(index, scope_ids, (Sort.FIELD,), key)
    near = near_names(value, values) or tuple(sorted(values)[:MOST_NEAR])
    return tuple(f"{key}={other}" for other in near)


def _with_folders(paths: Iterable[str]) -> list[str]:
    """Return the paths, and the names of all folders and files in them."""
    names: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")
        names.update(dict.fromkeys(parts))
        names[path] = None
        for depth in range(1, len(parts)):
            names["/".join(parts[:depth])] = None
    return list(names)


def near_names(value: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are most similar to a value."""
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(folded_value(name), name)
    key = folded_value(value)
    matches = get_close_matches(key, list(by_key), n=MOST_NEAR, cutoff=SIMILAR)
    # A difference of letters says little where one name contains the other.
    containing = sorted(name for name in by_key if len(key) > 2 and key in name)
    near = dict.fromkeys([*matches, *containing])
    return tuple(by_key[name] for name in list(near)[:MOST_NEAR])
