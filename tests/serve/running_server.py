"""A running `lenslet serve` and requests to it, for its tests. Python's standard library alone."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

PATIENCE_S = 120  # for hangs: a busy machine may take seconds for milliseconds of work
INFER = "/v2/models/lenet5/infer"
UNAVAILABLE = 4  # the exit code


def random_pixels(count, seed=1):
    return random.Random(seed).randbytes(784 * count)


def binary_request(pixels):
    """(Body, fields) of an inference of pixels, with the answer in bytes."""
    count = len(pixels) // 784
    tensor = {"name": "input", "shape": [count, 1, 28, 28], "datatype": "UINT8"}
    tensor["parameters"] = {"binary_data_size": len(pixels)}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    return head + pixels, {"Inference-Header-Content-Length": str(len(head))}


def whole_request(pixels):
    """The same as bytes on a socket."""
    body, fields = binary_request(pixels)
    ((field, value),) = fields.items()
    return (
        f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{field}: {value}\r\n\r\n"
    ).encode() + body


class Unavailable(RuntimeError):
    """`lenslet serve` states that it cannot serve here: there is no Boost or no such device."""


class Server:
    """A running `lenslet serve`. `variables` are added to its environment."""

    def __init__(self, program, *options, device="cpu", **variables):
        self.process = subprocess.Popen(
            [program, "serve", "--port", "0", "--device", device, "--threads", "2", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.strip())
            found = re.fullmatch(r"serving at http://127\.0\.0\.1:(\d+)", line.strip())
            if found:
                self.port = int(found.group(1))
                return
        errors = self.process.communicate()[1]
        if self.process.returncode == UNAVAILABLE:
            raise Unavailable(errors.strip())
        raise RuntimeError(f"it does not serve: {errors}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, fields=None):
        """(Status, fields, body) on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, fields or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def infer(self, pixels):
        """The logits' bytes."""
        status, fields, body = self.ask("POST", INFER, *binary_request(pixels))
        if status != 200:
            raise RuntimeError(f"{status}: {body}")
        return body[int(fields["Inference-Header-Content-Length"]) :]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def raw(self, data):
        """What comes back for these bytes until the server closes, or b"" for a reset."""
        with self.connect() as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: client.recv(65536), b""))
            except (ConnectionResetError, BrokenPipeError):
                return b""

    def metric(self, name):
        text = self.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))

    def wait_for(self, name, min_value, max_value=None):
        """Until the metric is in this range. A server at its limit of connections may refuse the question."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                value = self.metric(name)
                if min_value <= value <= (min_value if max_value is None else max_value):
                    return
            except ConnectionError:
                value = "unknown"
            if time.monotonic() > end:
                raise RuntimeError(f"{name} is {value}, expected {min_value}")
            time.sleep(0.01)

    def end(self):
        """(Exit code, last line, standard error) after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.strip().split("\n")[-1], err

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def server_or_skip(program, **options):
    """A Server. Where it is unavailable, ends the test as skipped."""
    try:
        return Server(program, **options)
    except Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
