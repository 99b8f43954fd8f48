"""Ports that browsers accept."""

import asyncio
import socket

import pytest

from benthoscope.app.server.run import UNSAFE, listening
from benthoscope.engine.problems import BadInput
from tests.loops import outcome


def test_a_port_browsers_refuse_is_not_taken():
    with pytest.raises(BadInput, match="browsers refuse"):
        listening("127.0.0.1", 5061)


def test_a_port_in_use_is_told_and_another_found_where_none_was_wanted():
    with listening("127.0.0.1") as port_socket:
        used_port = port_socket.getsockname()[1]
        with pytest.raises(BadInput, match="cannot be used"):
            listening("127.0.0.1", used_port)
        with listening("127.0.0.1", preferred=[used_port]) as other:
            assert other.getsockname()[1] not in {used_port, *UNSAFE}


def test_an_unsafe_preferred_port_is_passed_over():
    with listening("127.0.0.1", preferred=[5061]) as port_socket:
        assert port_socket.getsockname()[1] not in UNSAFE


def test_the_socket_listens():
    with listening("127.0.0.1") as port_socket, socket.create_connection(port_socket.getsockname(), timeout=2):
        pass


def test_answers_are_sent_at_once_and_not_held_back_to_be_joined():
    delays = []

    async def serve():
        async def met(reader, writer):
            delays.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listening("127.0.0.1") as port_socket:
            async with await asyncio.start_server(met, sock=port_socket):
                _, writer = await asyncio.open_connection(*port_socket.getsockname())
                while not delays:
                    await asyncio.sleep(0)
                writer.close()

    outcome(serve())
    assert all(delays)
