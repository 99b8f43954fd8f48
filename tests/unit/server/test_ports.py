"""Ports that browsers accept."""

import asyncio
import socket

import pytest

from app.ports import UNSAFE, listening
from engine.problems import BadInput
from tests.loops import outcome


def test_a_port_browsers_refuse_is_not_taken():
    with pytest.raises(BadInput, match="browsers refuse"):
        listening("127.0.0.1", 5061)


def test_a_port_in_use_is_told_and_another_found_where_none_was_wanted():
    with listening("127.0.0.1") as held:
        taken = held.getsockname()[1]
        with pytest.raises(BadInput, match="cannot be used"):
            listening("127.0.0.1", taken)
        with listening("127.0.0.1", preferred=[taken]) as other:
            assert other.getsockname()[1] not in {taken, *UNSAFE}


def test_an_unsafe_preferred_port_is_passed_over():
    with listening("127.0.0.1", preferred=[5061]) as held:
        assert held.getsockname()[1] not in UNSAFE


def test_the_socket_listens():
    with listening("127.0.0.1") as held, socket.create_connection(held.getsockname(), timeout=2):
        pass


def test_answers_are_sent_at_once_and_not_held_back_to_be_joined():
    seen = []

    async def serve():
        async def met(reader, writer):
            seen.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listening("127.0.0.1") as held:
            async with await asyncio.start_server(met, sock=held):
                _, writer = await asyncio.open_connection(*held.getsockname())
                while not seen:
                    await asyncio.sleep(0)
                writer.close()

    outcome(serve())
    assert all(seen)
