"""`halo-weave demo` in a real process: a memory to try, apart from one's own, and gone at the end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from halo_weave import paths
from support.servers.processes import ECHO, Process, running


def demo_folders(home: Path) -> list[Path]:
    return [path for path in (home / "cache" / "demo").iterdir() if path.is_dir()]


@contextmanager
def demo(home: Path) -> Iterator[Process]:
    """The demo with a cache folder of its own, so that its folders are known, but with the converted models of all."""
    own = home / "cache"
    own.mkdir(parents=True, exist_ok=True)
    paths.cache_folder().mkdir(parents=True, exist_ok=True)
    for shared in paths.cache_folder().iterdir():
        if shared.name != "demo" and not (own / shared.name).exists():
            (own / shared.name).symlink_to(shared)
    with running(home, "demo", *ECHO, "--port", "0") as process:
        process.wait_until_ready()
        yield process


def test_the_demo_has_windows_with_a_past_that_can_be_found(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        windows = {one["name"]: one for one in process.call("GET", "/api/windows")}
        assert {"main", "kitchen", "biscuit"} <= windows.keys()
        kitchen = process.call("GET", f"/api/windows/{windows['kitchen']['id']}")
        assert kitchen["chunks"]
        assert process.call("GET", f"/api/windows/{windows['kitchen']['id']}/graveyard")
        hits = process.call("GET", "/api/search?q=microchip")
        assert any("4471" in hit["text"] for hit in hits)


def test_nothing_of_ones_own_is_touched_and_nothing_is_left(tmp_path: Path) -> None:
    settings = "[generation]\nmax_tokens = 9\n"
    (tmp_path / "config.toml").write_text(settings, encoding="utf-8")
    with demo(tmp_path) as process:
        assert len(demo_folders(tmp_path)) == 1
        process.call("PUT", "/api/settings", {"generation.max_tokens": 8})
        assert process.end() == 0
    assert demo_folders(tmp_path) == []
    assert (tmp_path / "config.toml").read_text(encoding="utf-8") == settings
    assert not list(tmp_path.glob("halo.db*"))


def test_what_a_killed_demo_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        process.end(signal.SIGKILL)
    (left,) = demo_folders(tmp_path)
    with demo(tmp_path):
        (present,) = demo_folders(tmp_path)
        assert present != left
