"""The steps of the schema: a memory that was migrated years ago must have what a new one has."""

import hashlib

import pytest

from halo_weave.memory.sqlite.schema import MIGRATIONS

RELEASED = (
    "f10f7569721837f85d48febd1feb4d9e774b5ba084380e4b7a115387feb234ee",
    "e6cc0bbf1e5f74ca3d83d41b1cd9a60feb576022a85d2681af6185964145ad29",
    "0ca1349940942958f55e9c4375c59f68b18f639963100ce58dda4a6383d41055",
    "7924b8714d46bfb3d2c3d38585b4dab66e3ed929a9d57e266930f76bb9b096fa",
    "2f47092270d9273e1e32b03343d4c4ed3fc1f3dd6992d6327a74ac683bb19732",
    "ca810a171c78722cb22a96482003dabd591dd63e777737ce09af04b2863f2696",
    "8b5228d78202f078d457f5dbc32ece6a614fd08e8fc380211e650020e5438475",
    "dd8d6327fcba92fd5ef079223f02d757448fb41995474b471260145ccfa68a2a",
    "38881970e7679aadca8d79ba8ca9b03a91c62d24b2ab3ed64a3bb42b5ed1c70b",
    "08af1ad6e93a6f012098153f7bb0d79db18cb44625765513933ff7ef4047c3b8",
    "a0e7617081169c9d3db5bcd28b4e5a28de1b2c0511d2124f8df5f7b3db7044e5",
    "55392f27a2df6a775b6e01e560fb06744decf2989c0eb4fd6238b74d6583eeea",
    "0016ca15f49b7561c1cb37e9dd7114bdce7b7c69fea2ab888527b97b43abcd67",
    "a9d555bccea77675794356292316ccc5e0f73689afdd549cc0c2c52f3fc33cf0",
    "19513ed44cbedeb8f0586a5de8fc82f4ab8c8d1dd2329bd8e0a8d118a27b3088",
)
"""SHA-256 of each released step. Append to it; never change an entry."""


@pytest.mark.parametrize(("number", "digest"), list(enumerate(RELEASED, 1)))
def test_a_released_step_never_changes(number: int, digest: str) -> None:
    """Not even through a query, a tokenizer or a number that it takes from elsewhere."""
    assert hashlib.sha256(MIGRATIONS[number - 1].encode()).hexdigest() == digest


def test_every_step_is_listed_as_released() -> None:
    assert len(RELEASED) == len(MIGRATIONS)
