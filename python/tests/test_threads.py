"""Threads, signals and forks."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lenslet
from support import run_script
from tolerances import LOGIT_TOLERANCE


def test_the_interpreter_runs_on_while_a_model_computes(images):
    model = lenslet.Model.built_in(device="cpu")
    # If the call held the interpreter's lock, the loop would run once or twice, however long the work takes.
    for count in (400_000, 4_000_000, 40_000_000):
        worker = threading.Thread(target=model.predict, args=(np.broadcast_to(images[0], (count, 28, 28)),))
        turns = 0
        worker.start()
        while worker.is_alive():
            time.sleep(0.001)
            turns += 1
        if turns > 20:
            return
    pytest.fail(f"{turns} turns while the model computed")


def test_threads_share_a_model(device, images):
    model = lenslet.Model.built_in(device=device)
    plans = ["layered", "fused"]
    expected = {plan: model.logits(images, plan=plan) for plan in plans}

    def work(number):
        for turn in range(20):
            plan = plans[(number + turn) % 2]
            count = 1 + (37 * number + 11 * turn) % len(images)
            found = model.logits(images[:count], plan=plan)
            if not np.allclose(found, expected[plan][:count], rtol=0, atol=LOGIT_TOLERANCE):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_threads_with_models_of_their_own(device, images):
    expected = lenslet.Model.built_in(device=device).predict(images).labels

    def work(_):
        model = lenslet.Model.built_in(device=device)
        return all(np.array_equal(model.predict(images).labels, expected) for _ in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_the_number_of_threads_may_change_while_others_compute(images):
    model = lenslet.Model.built_in(device="cpu")
    expected = model.logits(images)
    before = lenslet.num_threads()
    stop = threading.Event()

    def work(_):
        while not stop.is_set():
            if not np.array_equal(model.logits(images), expected):
                return False
        return True

    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(work, number) for number in range(3)]
        try:
            for count in (1, 3, 2, 5, 1, before):
                lenslet.set_num_threads(count)
        finally:
            stop.set()
    assert all(result.result() for result in results)


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_other_numbers_of_threads_are_refused(count):
    before = lenslet.num_threads()
    with pytest.raises(lenslet.UsageError):
        lenslet.set_num_threads(count)
    assert lenslet.num_threads() == before


FEW_THREADS = """
import resource
import numpy as np
import lenslet

image = np.zeros((2000, 28, 28), np.uint8)
model = lenslet.Model.built_in(device="cpu")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20),) * 2)  # the stacks of some sixty threads
lenslet.set_num_threads(1024)
for _ in range(2):
    try:
        model.predict(image)
        raise SystemExit("1024 threads started")
    except lenslet.OutOfMemoryError as error:
        assert " of 1024 could not be started (" in str(error), error
lenslet.set_num_threads(3)
assert len(model.predict(image).labels) == 2000
"""


def test_threads_that_cannot_start_are_out_of_memory_and_fewer_serve():
    run_script(FEW_THREADS)


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, even if a shell started the suite in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_share(call, whole_s):
    """What share of its time `call` takes where SIGINT comes after a hundredth of that."""
    timer = threading.Timer(whole_s / 100, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        call()
        timer.join()
        time.sleep(60)  # the call ended before the other thread started
    return (time.monotonic() - began) / whole_s


def test_ctrl_c_ends_a_long_call(images, interruptible):
    model = lenslet.Model.built_in(device="cpu")
    many = np.broadcast_to(images[0], (4_000_000, 28, 28))
    for _ in range(2):  # the first call also prepares
        began = time.monotonic()
        model.predict(many[:200_000])
    whole_s = 20 * (time.monotonic() - began)
    # A busy machine may delay one call.
    assert any(interrupted_share(lambda: model.predict(many), whole_s) < 0.5 for _ in range(5))
    assert len(model.predict(images).labels) == len(images)


def test_ctrl_c_ends_a_profile(images, interruptible):
    model = lenslet.Model.built_in(device="cpu")
    # So many passes take at least a minute, or the maximum time of a profile.
    assert any(interrupted_share(lambda: model.profile(16_384, min_time_ms=60_000), 60) < 0.5 for _ in range(5))
    assert len(model.predict(images).labels) == len(images)


FORK = """
import os, sys
import numpy as np
import lenslet

image = np.zeros((2000, 28, 28), np.uint8)
model = lenslet.Model.built_in(device="cpu")
model.predict(image)
calls = [lambda: model.predict(image), lambda: lenslet.Model.built_in(device="cpu"), lenslet.backends,
         lambda: lenslet.set_num_threads(2)]
for call in calls:
    child = os.fork()
    if child == 0:
        try:
            call()
            os._exit(1)
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) and not isinstance(error, lenslet.Error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
model.predict(image)
"""

FORK_FIRST = """
import os
import numpy as np
import lenslet

children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        labels, _ = lenslet.Model.built_in(device="cpu").predict(np.zeros((2000, 28, 28), np.uint8))
        os._exit(0 if len(labels) == 2000 else 1)
    children.append(child)
assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)
"""


FORK_WITHOUT_A_MODEL = """
import os, sys
import numpy as np
import lenslet

image = np.zeros((2000, 28, 28), np.uint8)
lenslet.set_num_threads(4)
lenslet.Model.built_in(device="cpu").predict(image)
expected = lenslet.normalize(image)
children = []
for use in (lambda: True, lambda: (lenslet.normalize(image) == expected).all()):
    child = os.fork()
    if child == 0:
        sys.exit(0 if use() else 1)
    children.append(child)
assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
"""


def test_a_fork_after_computing_is_refused_and_before_is_not():
    run_script(FORK)
    run_script(FORK_FIRST)


def test_a_forked_process_that_uses_no_model_normalises_and_exits():
    run_script(FORK_WITHOUT_A_MODEL)


HANDLER = """
import signal
import numpy as np
import lenslet

model = lenslet.Model.built_in(device="cpu")
image = np.zeros((1, 28, 28), np.uint8)
expected = model.predict(image).labels
found = []

def answer(number, frame):
    found.append(model.predict(image).labels)
    found.append(model.predict(image, plan="layered").labels)
    try:
        lenslet.set_num_threads(threads)
    except RuntimeError as error:
        assert "signal handler" in str(error), error
        found.append("refused")

threads = lenslet.num_threads()
signal.signal(signal.SIGALRM, answer)
for call, answers in {calls}:
    for _ in range(20):  # so that the signal arrives while the call computes, not before or after
        found.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        while not found:
            call()
        assert found[:2] == [expected, expected]
        if len(found) == answers:
            break
    assert len(found) == answers, found
"""


def test_a_signal_handler_may_call_the_model_that_computes():
    many = "np.broadcast_to(image[0], (400_000, 28, 28))"
    run_script(HANDLER.replace("{calls}", f"((lambda: model.predict({many}), 2), (lambda: model.logits({many}), 2))"))
    # A profile keeps the number of threads that it began with.
    run_script(HANDLER.replace("{calls}", "((lambda: model.profile(1024, min_time_ms=1000), 3),)"))
