"""Clients take turns, no two hold a turn at once, and an abandoned place blocks nobody."""

import asyncio
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.server.kobold.fair_queue import FairQueue, PlaceGivenUp


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def served_order(arrivals: list[str], cancelled: set[int]) -> list[tuple[str, int]]:
    """Return the serving order when all arrive while the turn is taken and `cancelled` leave before it is free."""
    queue = FairQueue()
    order: list[tuple[str, int]] = []
    holders = 0

    async def visit(client: str, number: int) -> None:
        nonlocal holders
        async with queue.turn(client):
            holders += 1
            assert holders == 1
            order.append((client, number))
            await asyncio.sleep(0)
            holders -= 1

    async with queue.turn("first"):
        visits = [asyncio.create_task(visit(client, number)) for number, client in enumerate(arrivals)]
        await settle()
        assert len(queue) == len(arrivals)
        for number in cancelled & set(range(len(arrivals))):
            visits[number].cancel()
        await settle()
    await asyncio.gather(*visits, return_exceptions=True)
    assert len(queue) == 0
    return order


def test_clients_are_served_in_turn_however_many_requests_one_has() -> None:
    order = asyncio.run(served_order(["a", "a", "a", "b", "c", "b"], set()))
    assert [client for client, _ in order] == ["a", "b", "c", "a", "b", "a"]


@settings(max_examples=50)
@given(st.lists(st.sampled_from("abc"), max_size=10), st.sets(st.integers(0, 9)))
def test_everybody_who_stays_is_served_once_and_in_order(arrivals: list[str], cancelled: set[int]) -> None:
    order = asyncio.run(served_order(arrivals, cancelled))
    stayed = [(client, number) for number, client in enumerate(arrivals) if number not in cancelled]
    assert sorted(order, key=lambda visit: visit[1]) == stayed
    numbers = defaultdict(list)
    for client, number in order:
        numbers[client].append(number)
    assert all(mine == sorted(mine) for mine in numbers.values())
    for place, (client, _) in enumerate(order[1:], 1):
        waiting = {other for other, _ in order[place:]}
        assert client != order[place - 1][0] or waiting == {client}


def test_a_place_can_be_given_up_and_the_next_one_moves_up() -> None:
    async def scene() -> list[str]:
        queue = FairQueue()
        served = []
        given_up = asyncio.get_running_loop().create_future()

        async def impatient() -> None:
            async with queue.turn("impatient", given_up):
                served.append("impatient")

        async def patient() -> None:
            async with queue.turn("patient"):
                served.append("patient")

        async with queue.turn("first"):
            leaving, staying = asyncio.create_task(impatient()), asyncio.create_task(patient())
            await settle()
            given_up.set_result(None)
            with pytest.raises(PlaceGivenUp):
                await leaving
        await staying
        return served

    assert asyncio.run(scene()) == ["patient"]


def test_an_error_during_a_turn_frees_it() -> None:
    async def scene() -> bool:
        queue = FairQueue()
        with pytest.raises(ValueError, match="broken"):
            async with queue.turn("a"):
                raise ValueError("broken")
        async with queue.turn("b"):
            return True

    assert asyncio.run(scene())


def test_a_client_cancelled_at_the_moment_of_its_turn_passes_it_on() -> None:
    async def scene() -> bool:
        queue = FairQueue()

        async def visit() -> None:
            async with queue.turn("a"):
                await asyncio.sleep(0)

        async with queue.turn("first"):
            visitor = asyncio.create_task(visit())
            await settle()
        visitor.cancel()
        await asyncio.gather(visitor, return_exceptions=True)
        async with asyncio.timeout(5), queue.turn("b"):
            return True

    assert asyncio.run(scene())
