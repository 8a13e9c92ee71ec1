"""Thread counts: the same bits for any number, the settings, concurrent callers, forked children."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracles import assert_same_bits
from strategies import values

import imgops

COUNTS = (1, 2, 3, 4, 7, 16)


def many_results(num_threads):
    """Results large enough to be shared out, of every kind of kernel."""
    picture = values((2, 151, 203, 3), "f4", 0)
    bytes_ = values((2, 151, 203, 3), "u1", 1)
    yield imgops.resample(picture, (301, 407), num_threads=num_threads)
    yield imgops.resample(picture, (75, 97), antialias=True, num_threads=num_threads)
    yield imgops.resample(bytes_, (301, 407), num_threads=num_threads)
    yield imgops.resample(bytes_, (301, 407), mode="nearest", num_threads=num_threads)
    yield imgops.resample(picture.astype("f2"), (97, 407), num_threads=num_threads)
    yield imgops.resample(picture[..., 0], 301, axes=0, num_threads=num_threads)
    yield imgops.resample(picture[..., 0], (3, 301, 99), num_threads=num_threads)
    yield imgops.resample(picture[:1, :3], (5, 4001), num_threads=num_threads)
    yield imgops.resample(bytes_, (75, 407), mode="lanczos3", antialias=True, num_threads=num_threads)
    for mode in ("nearest", "linear", "cubic"):
        yield imgops.resample_grad(picture, (301, 97), mode=mode, num_threads=num_threads)
        yield imgops.resample_grad(picture, (75, 407), mode=mode, num_threads=num_threads)
        out = picture[:, :75, :97].copy()
        yield imgops.resample_grad(picture, (75, 97), mode=mode, out=out, accumulate=True, num_threads=num_threads)
    depth = values((2, 96, 40, 37), "f4", 2)
    for data_format, block in (("NCHW", 4), ("NCHW", 2)):
        for mode in ("DCR", "CRD"):
            options = {"data_format": data_format, "mode": mode, "num_threads": num_threads}
            space = imgops.depth_to_space(depth, block, **options)
            yield space
            yield imgops.space_to_depth(space, block, **options)
            out = depth.copy()
            yield imgops.depth_to_space_grad(space, block, out=out, accumulate=True, **options)


def test_the_same_bits_for_any_number_of_threads():
    expected = list(many_results(1))
    for num_threads in COUNTS[1:]:
        for result, first in zip(many_results(num_threads), expected, strict=True):
            assert_same_bits(result, first)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 3), (5, 4)])
def test_more_threads_than_rows(shape):
    x = values(shape, "f4", 0)
    for size in ((1, 1), (1, 9), (9, 1), (3, 2)):
        for mode in ("nearest", "linear"):
            expected = imgops.resample(x, size, mode=mode, num_threads=1)
            assert_same_bits(imgops.resample(x, size, mode=mode, num_threads=16), expected)
            grad = values(size, "f4", 1)
            expected = imgops.resample_grad(grad, shape, mode=mode, num_threads=1)
            assert_same_bits(imgops.resample_grad(grad, shape, mode=mode, num_threads=16), expected)


OPENMP = imgops.show_config("dicts")["openmp"]
parallel = pytest.mark.skipif(not OPENMP, reason="a serial build has one thread")


@pytest.mark.skipif(bool(OPENMP), reason="this build has OpenMP")
@pytest.mark.usefixtures("keep_num_threads")
def test_a_serial_build_has_one_thread(capsys):
    imgops.set_num_threads(3)
    assert imgops.get_num_threads() == 1
    imgops.show_config()
    assert "serial build" in capsys.readouterr().out


@parallel
def test_set_and_get(keep_num_threads):
    assert keep_num_threads >= 1
    for n in (1, 3, np.int64(2), (os.cpu_count() or 1) + 5):
        imgops.set_num_threads(n)
        assert imgops.get_num_threads() == n
        assert isinstance(imgops.get_num_threads(), int)


@parallel
@pytest.mark.usefixtures("keep_num_threads")
def test_thread_limit_is_given_back():
    imgops.set_num_threads(3)
    with imgops.thread_limit(1):
        assert imgops.get_num_threads() == 1
        with imgops.thread_limit(2):
            assert imgops.get_num_threads() == 1
        assert imgops.get_num_threads() == 1
    with imgops.thread_limit(2):
        assert imgops.get_num_threads() == 2
    with imgops.thread_limit(9):
        assert imgops.get_num_threads() == 3
    assert imgops.get_num_threads() == 3
    with pytest.raises(ZeroDivisionError), imgops.thread_limit(1):
        raise ZeroDivisionError
    assert imgops.get_num_threads() == 3


@pytest.mark.usefixtures("keep_num_threads")
def test_results_do_not_depend_on_the_setting():
    x = values((200, 301, 3), "f4", 0)
    imgops.set_num_threads(1)
    expected = imgops.resample(x, (401, 277))
    for n in COUNTS:
        imgops.set_num_threads(n)
        assert_same_bits(imgops.resample(x, (401, 277)), expected)
        with imgops.thread_limit(1):
            assert_same_bits(imgops.resample(x, (401, 277)), expected)


@pytest.mark.parametrize("function", ["set_num_threads", "thread_limit"])
@pytest.mark.parametrize(
    ("n", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)], ids=str
)
def test_bad_settings_change_nothing(keep_num_threads, function, n, error):
    def call():
        # A generator-based context manager would wait until it is entered.
        with getattr(imgops, function)(n) or threading.Lock():
            pass

    with pytest.raises(error, match=rf"^{function}: [^;]+; [^;]+; "):
        call()
    assert imgops.get_num_threads() == keep_num_threads


def test_concurrent_callers_get_their_own_results():
    inputs = [values((97, 101, 3), "f4", seed) for seed in range(8)]
    expected = [imgops.resample(x, (150, 160), num_threads=1) for x in inputs]

    def work(i):
        return [imgops.resample(inputs[i], (150, 160), num_threads=1 + (i + k) % 3) for k in range(6)]

    with ThreadPoolExecutor(8) as pool:
        for results, wanted in zip(pool.map(work, range(8)), expected, strict=True):
            for result in results:
                assert_same_bits(result, wanted)


def test_one_plan_serves_concurrent_callers():
    plan = imgops.ResamplePlan((97, 101, 3), (150, 160))
    inputs = [values((97, 101, 3), "f4", seed) for seed in range(8)]
    expected = [plan(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        for result, wanted in zip(pool.map(plan, inputs), expected, strict=True):
            assert_same_bits(result, wanted)


def run_python(code, timeout=60, **variables):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes_the_same_and_does_not_hang():
    run = run_python(
        """
        import os, signal, warnings
        import numpy as np
        import imgops
        warnings.simplefilter("ignore", DeprecationWarning)
        x = np.random.default_rng(0).standard_normal((301, 407, 3)).astype("f4")
        def work():
            a = imgops.resample(x, (603, 811), num_threads=4)
            b = imgops.resample_grad(a, (301, 407), num_threads=4)
            return a.tobytes() + b.tobytes() + imgops.space_to_depth(a[:602, :810], 2, num_threads=4).tobytes()
        before = work()
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os._exit(0 if work() == before else 3)
        _, status = os.waitpid(child, 0)
        assert work() == before
        print(os.waitstatus_to_exitcode(status))
        """
    )
    assert run.stdout.strip() == "0", (run.stdout, run.stderr)


def test_omp_num_threads_is_the_default_where_openmp_is_there():
    code = "import imgops; print(imgops.get_num_threads())"
    run = run_python(code, OMP_NUM_THREADS="1")
    assert run.stdout.strip() == "1", run.stderr
    run = run_python(code)
    assert int(run.stdout) >= 1


@pytest.mark.parametrize("variables", [{}, {"GOMP_SPINCOUNT": "100"}, {"OMP_WAIT_POLICY": "passive"}], ids=str)
def test_the_environment_is_the_same_after_import(variables):
    run = run_python("import os; before = dict(os.environ); import imgops; assert os.environ == before", **variables)
    assert run.returncode == 0, run.stderr


def written(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/", {}, None),
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "300000 100000"}, 3),
        ("0::/", {"cpu.max": "250000 100000"}, 2),
        ("0::/", {"cpu.max": "50000 100000"}, 1),
        ("0::/", {"cpu.max": ""}, None),
        ("0::/user/shell", {"user/shell/cpu.max": "200000 100000"}, 2),
        ("0::/user/shell", {"user/cpu.max": "100000 100000", "user/shell/cpu.max": "200000 100000"}, 1),
        ("0::/user/shell", {"user/cpu.max": "400000 100000", "user/shell/cpu.max": "max 100000"}, 4),
        ("0::/../other", {"cpu.max": "200000 100000"}, 2),
        ("4:cpu,cpuacct:/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("4:cpu,cpuacct:/", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ("4:cpu:/a:b", {"cpu/a:b/cpu.cfs_quota_us": "500000", "cpu/a:b/cpu.cfs_period_us": "100000"}, 5),
        ("3:memory:/a\n0::/", {"cpu.max": "200000 100000", "memory/a/cpu.max": "100000 100000"}, 2),
    ],
)
def test_the_control_group_s_quota(tmp_path, own, files, cores):
    (tmp_path / "own").write_text(own + "\n")
    written(tmp_path / "groups", files)
    assert imgops.threads._cgroup_quota(tmp_path / "groups", tmp_path / "own") == cores


def test_no_control_groups_at_all(tmp_path):
    assert imgops.threads._cgroup_quota(tmp_path / "none", tmp_path / "neither") is None


@parallel
def test_the_default_heeds_the_quota_and_omp_num_threads(monkeypatch):
    state = imgops.threads._State
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(state, "chosen", None)
    for quota, expected in ((1, 1), (None, None)):
        monkeypatch.setattr(state, "default", None)
        monkeypatch.setattr(imgops.threads, "_cgroup_quota", lambda quota=quota: quota)
        assert imgops.get_num_threads() == (expected or min(imgops.threads._threads.max_threads(), cores_allowed()))
    # What the user sets holds against the quota.
    monkeypatch.setattr(state, "default", None)
    monkeypatch.setattr(imgops.threads, "_cgroup_quota", lambda: 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert imgops.get_num_threads() == imgops.threads._threads.max_threads()


def cores_allowed():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_default_heeds_the_affinity():
    run = run_python(
        """
        import os
        os.environ.pop("OMP_NUM_THREADS", None)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import imgops
        print(imgops.get_num_threads())
        """
    )
    assert run.stdout.strip() == "1", run.stderr


def test_show_config_tells_of_openmp_and_the_level(capsys):
    returned = imgops.show_config()
    told = (capsys.readouterr().out + (str(returned) if returned is not None else "")).lower()
    assert "openmp" in told
    assert imgops.simd_level() in told
    assert imgops.simd_level() in ("baseline", "v3", "v4")


def test_the_interpreter_lock_is_released():
    """Another Python thread makes progress during one long call."""
    x = np.broadcast_to(np.float32(1), (64, 64, 3))
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            done.wait(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        imgops.resample(x, (3000, 3000), num_threads=1)
        assert counted[0] > before
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="an interpreter with a global lock")
def test_the_lock_stays_off_in_free_threaded_python():
    run = run_python("import sys, imgops; print(sys._is_gil_enabled())", PYTHON_GIL="")
    assert run.stdout.strip() == "False", run.stderr


def test_many_threads_make_and_use_the_cached_plans_at_once():
    """More plans than the cache holds, from several threads: each result is that of its own sizes."""
    x = values((5, 7), "f4", 0)
    sizes = [(1 + i % 23, 1 + i % 19) for i in range(437)]
    expected = [imgops.resample(x, size) for size in sizes]
    start = threading.Barrier(4)

    def work(offset):
        start.wait()
        order = sizes[offset:] + sizes[:offset]
        return [imgops.resample(x, size) for size in order]

    with ThreadPoolExecutor(4) as pool:
        for offset, results in zip((0, 100, 200, 300), pool.map(work, (0, 100, 200, 300)), strict=True):
            for result, wanted in zip(results, expected[offset:] + expected[:offset], strict=True):
                assert_same_bits(result, wanted)


def test_hashes_of_one_run_are_stable():
    digests = {hashlib.sha256(b"".join(r.tobytes() for r in many_results(2))).hexdigest() for _ in range(2)}
    assert len(digests) == 1
