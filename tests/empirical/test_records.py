"""Records of runs: what is written is read, what cannot be read is absent."""

import errno
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.testbed.records import (
    LIMIT,
    Draw,
    Draws,
    Missing,
    RunRecord,
    digest,
    identity,
)
from empirical.testbed.writing import (
    pack,
    save_tensors,
    sealed,
    unpack,
    unsealed,
    whole,
    write_text,
)

CONFIGURATION = {"name": "a", "network": {"widths": [4, 2]}, "seeds": [0, 1]}


def record(**parts: object) -> RunRecord:
    """Return a record of two scales with two seeds each."""
    draws = Draws(
        Draw(
            keys={"scale": scale, "seed": seed},
            status="diverged" if seed else "finished",
            facts={"steps": 3, "labels": (1, 2)},
            arrays={"rho": scale + np.arange(60.0) * np.pi, "end": np.array([np.nan])},
        )
        for scale in (0.5, 1.0)
        for seed in (0, 1)
    )
    given = {
        "configuration": CONFIGURATION,
        "schema": 3,
        "device": "cuda:1",
        "code": "c0de",
        "data": "da7a",
        "environment": {"torch": "2"},
        "seconds": {"training": 1.5},
        "facts": {"levels": (0.05, 0.5)},
        "arrays": {"epochs": np.arange(3.0)},
        "draws": draws,
    }
    return RunRecord(**(given | parts))  # type: ignore[arg-type]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    record().write(path)
    again = RunRecord.read(path)
    assert again is not None
    assert again.text() == record().text()
    assert again.device == "cuda"
    assert again.fact("levels") == [0.05, 0.5]
    assert again.series("epochs").tolist() == [0.0, 1.0, 2.0]
    found = again.where(scale=1.0)
    assert found.status == ["finished", "diverged"]
    assert found.series("rho").shape == (2, 60)
    np.testing.assert_array_equal(found.series("rho"), record().draws.series("rho")[2:])
    assert np.isnan(found.series("end")).all()
    assert again.draws.ended("finished").key("scale") == [0.5, 1.0]
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (7,), (5, 8), (2, 3, 9)])
@pytest.mark.parametrize("power", [0, -45, -300, 300])
def test_arrays_come_back_exactly(
    dtype: type[np.floating[Any]], shape: tuple[int, ...], power: int
) -> None:
    values = np.random.default_rng(7).standard_normal(shape).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        values = values * dtype(10.0**power)
    values = values.astype(np.float64)
    values.flat[: values.size // 3] = np.resize(
        [np.nan, np.inf, -0.0], values.size // 3
    )
    for given in (values, np.round(values, 2)):
        back = unpack(json.loads(json.dumps(pack(given))))
        assert back.shape == given.shape
        np.testing.assert_array_equal(back, given)
        np.testing.assert_array_equal(np.signbit(back), np.signbit(given))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "3",
        "null",
        '"run-2"',
        "{}",
        '{"record": "run-2"}',
        json.dumps(sealed({"record": "claim"})),
        json.dumps(sealed({"record": "run-2"})),
    ],
)
def test_what_is_no_record_is_absent(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert RunRecord.read(path) is None
    path.write_text(content)
    assert RunRecord.read(path) is None


def test_a_record_that_was_cut_or_damaged_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = record().text()
    for end in range(0, len(text) - 2, 37):
        path.write_text(text[:end])
        assert RunRecord.read(path) is None, end
    # Even where somebody makes the digest anew.
    body = unsealed(json.loads(text))
    for name in ("configuration", "facts", "draws", "arrays"):
        path.write_text(json.dumps(sealed(body | {name: 3})))
        assert RunRecord.read(path) is None, name
    path.write_text(json.dumps(sealed(body | {"arrays": {"huge": [10**400]}})))
    assert RunRecord.read(path) is None
    packed = body["draws"][0]["arrays"]["rho"]
    packed["packed"] = packed["packed"][5:]
    path.write_text(json.dumps(sealed(body)))
    assert RunRecord.read(path) is None


def test_a_record_whose_numbers_were_changed_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = record().text()
    for before, after in (
        ('"seed": 1', '"seed": 2'),
        ('"steps": 3', '"steps": 4'),
        ("diverged", "finished"),
    ):
        assert before in text
        path.write_text(text.replace(before, after, 1))
        assert RunRecord.read(path) is None, after
    rng = np.random.default_rng(5)
    content = text.encode()
    for at in rng.integers(len(content), size=300):
        bit = 1 << int(rng.integers(8))
        path.write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
        found = RunRecord.read(path)
        assert found is None or found.text() == text, at


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such thing")
def test_a_pipe_in_the_place_of_a_record_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    assert RunRecord.read(tmp_path / "a.json") is None


def test_a_record_stands_for_what_it_says() -> None:
    def stands(code: str | None = "c0de", **other: Any) -> bool:
        asked = {"device": "cuda", "schema": 3, "data": "da7a", **other}
        configuration = asked.pop("configuration", CONFIGURATION)
        return record().stands_for(identity(configuration, **asked), code=code)

    assert stands()
    assert stands(code=None, data=None)
    assert stands(device="cuda:0")
    assert not stands(device="cpu")
    assert not stands(schema=2)
    assert not stands(data="")
    assert not stands(code="c0d")
    assert not stands(configuration=CONFIGURATION | {"seeds": [0]})
    assert not stands(configuration=CONFIGURATION | {"more": None})


@pytest.mark.parametrize("seeds", [(0, 0, 1), (0, 1, 1, 2), (0, 1), (0, 1, 2, 3)])
def test_a_record_of_other_networks_than_its_seeds_stands_for_none(
    seeds: tuple[int, ...],
) -> None:
    """One lucky network would count for several, or the others be left out."""
    own = identity({"name": "a", "seeds": (0, 1, 2)}, device="cpu", schema=1)

    def of(*seeds: int) -> RunRecord:
        draws = Draws(Draw(keys={"seed": seed}) for seed in seeds)
        return RunRecord(**own, code="c0de", draws=draws)

    assert of(0, 1, 2).stands_for(own)
    assert not of(*seeds).stands_for(own)


def test_more_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(7).standard_normal(LIMIT // 8)
    draw = Draw(keys={"seed": 0}, arrays={"few": noise[:30], "many": noise})
    with pytest.raises(ValueError, match=r"a\.json would have .* arrays 'many' take"):
        record(draws=Draws([draw])).write(tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_is_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    path.write_text("before")
    told = pytest.raises(OSError, match=r"No space left on device: '.*a\.pt'")
    with told, whole(path) as partial:
        partial.write_text("half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [each.name for each in tmp_path.iterdir()] == ["a.pt"]
    assert path.read_text() == "before"
    # PyTorch says it in words of its own.
    with pytest.raises(OSError, match="can't be written"):
        save_tensors({}, tmp_path / "absent" / "a.pt")


def test_numbers_of_numpy_are_written(tmp_path: Path) -> None:
    draw = Draw(keys={"seed": np.int64(3)}, facts={"best": (np.float32(0.5), np.nan)})
    own = identity({"name": "a"}, device="cpu", schema=1)
    RunRecord(**own, code="0", draws=Draws([draw])).write(tmp_path / "a.json")
    record = RunRecord.read(tmp_path / "a.json")
    assert record is not None
    assert record.draws[0].keys == {"seed": 3}
    assert record.draws[0].fact("best") == [0.5, "nan"]


def test_what_is_lacking_is_named() -> None:
    with pytest.raises(Missing, match="no series 'rh'; there are: rho, end"):
        record().draws.series("rh")
    with pytest.raises(Missing, match="no key 'depth'; there are: scale, seed"):
        record().where(depth=3)
    with pytest.raises(Missing, match="differs in shape"):
        Draws(Draw(keys={"seed": n}, arrays={"x": np.zeros(n)}) for n in (1, 2)).series(
            "x"
        )


def test_digests_tell_contents_apart() -> None:
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest(None) != digest("null")


def test_what_a_killed_writer_left_goes_with_a_write_an_hour_later(tmp_path):
    path, other = tmp_path / "a.json", tmp_path / ".b.json.1.partial"
    left, fresh = (tmp_path / f".a.json.{k}.partial" for k in (1, 2))
    for each in (other, left, fresh):
        each.touch()
    for each in (other, left):
        os.utime(each, (time.time() - 4000.0,) * 2)
    write_text(path, "mine")
    # Of another file, and of one who may still write.
    assert set(tmp_path.iterdir()) == {path, other, fresh}


def test_a_writer_does_not_miss_what_another_took_for_abandoned(tmp_path):
    path = tmp_path / "a.json"
    with whole(path) as partial:
        partial.touch()
        os.utime(partial, (0.0, 0.0))
        with ThreadPoolExecutor(1) as thread:
            thread.submit(write_text, path, "theirs").result()
        assert not partial.exists()
        partial.write_text("ours")
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file_leave_one_of_theirs(tmp_path):
    path = tmp_path / "a.json"
    texts = [f"{k}" * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: write_text(path, text), texts * 8))
    assert path.read_text() in texts
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
