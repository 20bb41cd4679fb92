"""`lenslet serve` under half load over loopback: memory stays flat, and no answer is lost or wrong.

python3 tests/serve/soak_test.py LENSLET [--seconds 60] [--rate REQUESTS] [--idle 10000]

Clients in two processes send single pictures. First as fast as they can, then at half of that rate, or at --rate, and
compare every byte of every answer. Beside them others end by SIGKILL in the middle of a request, send bodies beyond the
limit, bytes that are no request, and headers byte by byte. Then --idle connections stay open while the rest is served.
An hour: --seconds 3600.
"""

import argparse
import json
import multiprocessing
import os
import resource
import select
import signal
import socket
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the source tree unchanged
sys.path.insert(0, str(Path(__file__).resolve().parent))
from running_server import PATIENCE_S, Server, random_pixels, whole_request  # noqa: E402

PICTURES, PROCESSES, CONNECTIONS = 64, 2, 16
FULL_S = 3  # of full load
MAX_GROWTH = 4 << 20  # bytes of resident memory after the warm-up: about 10 a request of a minute at half load
TIMEOUT_S = 5  # of the server
OTHER_FILES = 300  # beside the idle connections, of each process


def answer_to(server, request):
    """All bytes of the answer: they are the same each time."""
    with server.connect() as client:
        client.sendall(request)
        answer = b""
        while True:
            part = client.recv(65536)
            expect(part, "the server closed a connection")
            answer += part
            head, found, body = answer.partition(b"\r\n\r\n")
            if found and len(body) == int(head.split(b"\r\nContent-Length: ")[1].split(b"\r\n")[0]):
                return answer


class Connection:
    def __init__(self, server):
        self.server = server
        self.index, self.got = 0, b""
        self.socket, self.used = server.connect(), time.monotonic()

    def send(self, index, request):
        # The server closes a connection that was idle; this process, or the machine, may have slept.
        if time.monotonic() - self.used > TIMEOUT_S / 2:
            self.socket.close()
            self.socket = self.server.connect()
        self.index, self.got, self.used = index, b"", time.monotonic()
        self.socket.sendall(request)


def ask(server, work, seconds, rate, counts):
    """Sends `rate` requests a second, or as many as it can, and leaves [answers, wrong ones] in `counts`."""
    free, busy, sent = [Connection(server) for _ in range(CONNECTIONS)], {}, 0
    poll, begun = select.epoll(), time.monotonic()
    while True:
        now = time.monotonic() - begun
        due = now * rate if rate else sent + len(free)
        while now < seconds and free and sent < due:
            index = (sent * 7 + os.getpid()) % PICTURES
            connection = free.pop()
            connection.send(index, work[index][0])
            file = connection.socket.fileno()
            busy[file] = connection
            poll.register(file, select.EPOLLIN)
            sent += 1
        if now >= seconds and not busy:
            return
        if now >= seconds + PATIENCE_S:
            raise RuntimeError(f"{len(busy)} answers did not come")
        for file, _ in poll.poll(0.001 if free else 1):
            connection = busy[file]
            expected, part = work[connection.index][1], connection.socket.recv(65536)
            if not part:
                raise RuntimeError("the server closed a connection")
            connection.got += part
            if len(connection.got) >= len(expected):
                counts[0] += 1
                counts[1] += connection.got != expected
                poll.unregister(file)
                free.append(busy.pop(file))


class Load:
    """Processes that ask."""

    def __init__(self, server, work, seconds, rate=None):
        share = rate and rate / PROCESSES
        self.seconds = seconds
        self.counts = [multiprocessing.Array("q", 2, lock=False) for _ in range(PROCESSES)]
        self.processes = [
            multiprocessing.Process(target=ask, args=(server, work, seconds, share, counts)) for counts in self.counts
        ]
        for process in self.processes:
            process.start()

    def answers(self):
        return sum(counts[0] for counts in self.counts)

    def runs(self):
        return any(process.is_alive() for process in self.processes)

    def end(self):
        """The number of answers. Raises where one was lost or wrong."""
        for process in self.processes:
            process.join()
        wrong = sum(counts[1] for counts in self.counts)
        if wrong or any(process.exitcode for process in self.processes):
            raise RuntimeError(
                f"{wrong} of {self.answers():,} answers are wrong; exit codes "
                f"{[process.exitcode for process in self.processes]}"
            )
        return self.answers()


def disturb(server, turn, request):
    """One client that breaks the rules, or dies."""
    cuts = (10, len(request) // 2, len(request) - 1, len(request))
    kind = turn % 6
    if kind < 4:
        dying = os.fork()
        if dying == 0:
            client = server.connect()
            client.sendall(request[: cuts[kind]])
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(dying, 0)
        return
    client = server.connect()
    if kind == 4:
        client.sendall(b"POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        expect(client.recv(100).startswith(b"HTTP/1.1 413"), "a body beyond the limit is not 413")
    else:
        client.sendall(b"\x00nonsense\r\n\r\n")
        expect(client.recv(100).startswith(b"HTTP/1.1 400"), "nonsense is not 400")
    client.close()


class SlowLoris:
    """Connections whose headers come byte by byte; the server's time limit ends each, and another begins."""

    def __init__(self, server):
        self.server, self.client, self.begun, self.ended = server, None, 0, 0

    def step(self):
        now = time.monotonic()
        if self.client is None:
            self.client, self.begun = self.server.connect(), now
        try:
            self.client.sendall(b"G")
        except (ConnectionResetError, BrokenPipeError):
            self.client.close()
            self.client, self.ended = None, self.ended + 1
            return
        expect(now - self.begun < TIMEOUT_S + PATIENCE_S, "a slow client is never closed")


def expect(holds, why):
    if not holds:
        raise RuntimeError(why)


def resident(server):
    with open(f"/proc/{server.process.pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def soak(server, work, seconds, rate):
    """Half load for this time. Returns a summary."""
    full = Load(server, work, FULL_S).end() / FULL_S
    rate = rate or full / 2
    load, loris, turn, sizes = Load(server, work, seconds, rate), SlowLoris(server), 0, []
    begun = said = time.monotonic()
    while load.runs():
        disturb(server, turn, work[turn % PICTURES][0])
        loris.step()
        turn += 1
        now = time.monotonic()
        sizes.append((now - begun, resident(server)))
        if now - said >= 60:
            said = now
            print(f"{now - begun:6.0f} s {load.answers():>12,} answers {sizes[-1][1] / 2**20:8.1f} MiB", flush=True)
        time.sleep(0.25)
    answers = load.end()
    warm = max(size for when, size in sizes if when <= seconds / 4)
    growth = max(size for when, size in sizes if when > seconds / 4) - warm
    expect(growth <= MAX_GROWTH, f"memory grew from {warm:,} by {growth:,} bytes")
    expect(seconds < 2 * TIMEOUT_S or loris.ended > 0, "no slow client was closed")
    return {
        "seconds": seconds,
        "full_rate": round(full),
        "asked_rate": round(rate),
        "rate": round(answers / seconds),
        "answers": answers,
        "wrong": 0,
        "lost": 0,
        "disturbing_clients": turn,
        "slow_clients_closed": loris.ended,
        "resident_bytes_warm": warm,
        "growth_bytes": growth,
    }


def serve_beside_idle(program, work, count):
    """Requests are served while `count` connections stay open. Returns a summary."""
    server = Server(program, "--max-connections", str(count + 100))
    try:
        before = resident(server)
        idle = [server.connect() for _ in range(count)]
        server.wait_for("lenslet_connections", count + 1)
        answers = Load(server, work, 2).end()
        expect(server.metric("lenslet_connections_refused_total") == 0, "connections were refused")
        last = idle[-1]
        last.sendall(work[0][0])
        expect(last.recv(len(work[0][1]), socket.MSG_WAITALL) == work[0][1], "an idle connection is not answered")
        size = (resident(server) - before) / count
        for client in idle:
            client.close()
        server.wait_for("lenslet_connections", 1)
        expect(server.end() == (0, "SIGTERM: every request was answered", ""), "the server did not end well")
        return {"idle_connections": count, "answers_beside": answers, "resident_bytes_each": round(size)}
    finally:
        server.kill()


def allow_files(count):
    """Whether this process may open so many files."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < count:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lenslet")
    parser.add_argument("--seconds", type=float, default=60, help="of half load")
    parser.add_argument("--rate", type=float, help="requests/s instead of half of what the clients reach")
    parser.add_argument("--idle", type=int, default=10000, help="connections")
    arguments = parser.parse_args()
    multiprocessing.set_start_method("fork")
    server = Server(arguments.lenslet, "--timeout", str(TIMEOUT_S))
    try:
        pictures = [random_pixels(1, seed) for seed in range(PICTURES)]
        work = [(whole_request(one), answer_to(server, whole_request(one))) for one in pictures]
        expect(all(answer.startswith(b"HTTP/1.1 200") for _, answer in work), "a picture is refused")
        expect(len({answer for _, answer in work}) == PICTURES, "pictures have the same answer")
        print(json.dumps(soak(server, work, arguments.seconds, arguments.rate)), flush=True)
        server.wait_for("lenslet_connections", 1)
        expect(server.metric("lenslet_body_bytes") == 0, "bytes of bodies stay reserved")
        expect(server.end() == (0, "SIGTERM: every request was answered", ""), "the server did not end well")
    finally:
        server.kill()
    if allow_files(arguments.idle + OTHER_FILES):
        print(json.dumps(serve_beside_idle(arguments.lenslet, work, arguments.idle)))
    else:
        print(f"skipped: {arguments.idle} idle connections: the limit of open files (ulimit -Hn) is lower")


if __name__ == "__main__":
    main()
