"""jq in a separate process: it answers as the jq program does, and no filter can see or harm anything."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from halo_weave.errors import InputError
from halo_weave.tools.jq.process import LONGEST_FILTER, JqProcess, JqTooLarge
from support.servers.served import until

DOCUMENT = '{"a":[1,2,{"b":"x"}],"c":"text, more","d":null,"e":{"f":true,"g":-1.5},"h":[3,1,2]}'
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits on Windows")

# Every jq since 1.6 agrees on these.
FILTERS = [
    ".", ".a", ".a[2].b", ".a[-1]", ".missing.deeper", ".a[1:]", ".[]", ".e[]", "keys", "length", ".c|length",
    "to_entries", "with_entries(.value |= tostring)", "map_values(type)", "paths", "..|numbers",
    "[.[]|type]", ".h|sort", ".h|add", ".h|min,max", "[.h[]|select(. > 1)]", ".h|map(. * 2)", ".h|index(1)",
    ".h|any(. > 2), all(. > 2)", "[.h[]|tostring]|join(\"-\")", ".h|reverse", "[range(3)]", "[limit(2; .h[])]",
    "first(.h[])", "reduce .h[] as $n (0; . + $n)", "[foreach .h[] as $n (0; . + $n)]", ".h|group_by(. % 2)",
    ".h|unique_by(. % 2)", ".c|split(\", \")", ".c|ascii_upcase", ".c|test(\"^t\")", ".c|sub(\"t\"; \"T\")",
    "[.c|match(\"t\"; \"g\").offset]", "\"\\(.e.g) and \\(.c)\"", ".c|@base64", "@json", "@html \"<\\(.c)>\"", "tojson",
    "tojson|fromjson", ".d // \"none\"", ".e.f and (.d|not)", "if .e.f then 1 else 2 end", "try error(\"x\") catch .",
    "[.[]?]|length", ".a as [$x, $y] | $x + $y", "def twice: . * 2; .h|map(twice)", "getpath([\"e\", \"g\"])",
    "setpath([\"e\", \"z\"]; 1)", "delpaths([[\"a\"], [\"e\", \"f\"]])", "del(.a[0], .e.g)", ".a += [4]",
    ".e.g |= . - 1", ". + {\"new\": {\"deep\": []}}", ". * {\"e\": {\"h\": 1}}", ".h[1] = \"one\"",
    ".h |= map(select(. != 2))",
    ".new.path[2] = true", "del(.e)", "to_entries|map(select(.key > \"c\"))|from_entries", "has(\"a\")", "has(\"z\")",
    ".h|contains([1])", "[.h[]|. as $n|[1,2]|index($n)]", ".h|flatten", "[splits(\"x\")?]",
    ".h|tojson|ascii_downcase", "[.a[]|scalars]", "\"\\u00e4\\ud83e\\udd89\"", ".c|explode|implode", "empty", ".a,.h",
    "[.h[]|-. ]", "10 / 4, 7 % 3, 2 * -3", "[1,[2]] == [1,[2]]", "{(.c): 1}", "{a, x: .c}", ".c|ltrimstr(\"te\")",
    ".h|.[1:] = [9]", "[paths(type == \"number\")]", "1e3, 0.1, -0.5", "$__loc__.line", "[.. | strings]",
    "env", "$ENV", "[inputs]", "debug", "halt",
]  # fmt: skip


@pytest.fixture(scope="module")
def jq() -> Iterator[JqProcess]:
    with closing(JqProcess()) as process:
        yield process


def refusal(jq: JqProcess, filter_text: str, document: str = "{}") -> str:
    with pytest.raises(InputError) as refused:
        jq.run(filter_text, document)
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert jq.run("1 + 1", "null") == ["2"], "It works on."
    return sentence


def ended_by(sentence: str) -> str:
    limits = {
        "The filter took longer than 2 s and was stopped.": "time",
        "The filter crashed jq; most likely it needed more than 256 MB.": "memory",
    }
    return limits.get(sentence, sentence)


@pytest.mark.parametrize("filter_text", FILTERS)
def test_a_filter_gives_what_the_program_jq_gives(jq: JqProcess, filter_text: str) -> None:
    program = shutil.which("jq")
    assert program, "The program jq is needed to compare with; scripts/test installs it."
    asked = subprocess.run([program, "-c", filter_text], input=DOCUMENT, capture_output=True, text=True, env={})
    assert asked.returncode == 0, asked.stderr
    assert [json.loads(text) for text in jq.run(filter_text, DOCUMENT)] == list(
        map(json.loads, asked.stdout.split("\n")[:-1])
    )


@pytest.mark.parametrize(
    ("filter_text", "words"),
    [
        (".[", "syntax error"),
        ("nothing_of_this_name", "not defined"),
        ("", "program not given"),
        ("def f: 1;", "program not given"),
        (".) , (.", "syntax error"),
        ("1) | (2", "syntax error"),
        ("1; def f: 2", "syntax error"),
        ('error("no\nway")', "no way"),
        ("error({a: 1})", '{"a": 1}'),
        ("error(null)", "null"),
        (".a.b.c", "Cannot index number"),
        ("input", "nothing more to read"),
        ("input_line_number", "line number"),
        ("$__prog_args", "not defined"),
        ("1, 2, error(3)", "3"),
        ('error("x" * 10000)', "x…"),
        ("[limit(-1; 1)]|error", ""),
    ],
)
def test_a_filter_that_is_wrong_is_refused_in_one_sentence(jq: JqProcess, filter_text: str, words: str) -> None:
    assert words in refusal(jq, filter_text, '{"a": 1}')


def test_comments_at_the_end_of_a_filter_are_no_way_out(jq: JqProcess) -> None:
    assert jq.run(". # all", "1") == ["1"]
    assert jq.run(". # all \\", "1") == ["1"]


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_SECRET", "open sesame")
    with closing(JqProcess()) as jq:
        assert jq.run("env, $ENV, env.HALO_SECRET, $ENV.PATH", "null") == ["{}", "{}", "null", "null"]


@pytest.mark.parametrize(
    "way",
    [
        'import "data" as $d {{search: "{folder}"}}; $d',
        'import "code" as c {{search: "{folder}"}}; c::x',
        'include "code" {{search: "{folder}"}}; x',
        'import "{folder}/data" as $d; $d',
        '# import\nimport "data" as $d {{search: "{folder}"}}; $d',
        '"{folder}/code"|modulemeta',
        '"code"|modulemeta',
    ],
)
def test_no_file_can_be_read(jq: JqProcess, tmp_path: Path, way: str) -> None:
    (tmp_path / "data.json").write_text('{"secret": "open sesame"}')
    (tmp_path / "code.jq").write_text('def x: "open sesame";')
    assert "sesame" not in refusal(jq, way.format(folder=tmp_path))


def test_times_are_of_no_place(jq: JqProcess) -> None:
    assert jq.run('0|strflocaltime("%H %Z"), (0|localtime|mktime)', "null") == ['"00 UTC"', "0"]


@pytest.mark.parametrize("filter_text", ["until(false; .)", "def f: f; f", "last(range(1e12))", "[range(1e12)]|length"])
def test_a_filter_that_does_not_end_is_ended(jq: JqProcess, filter_text: str) -> None:
    """By the limit that it reaches first, which depends on the speed of the machine."""
    assert ended_by(refusal(jq, filter_text)) in ("time", "memory")


@posix_only
@pytest.mark.parametrize("filter_text", ['"x" * 1e9', ".[2e8] = 1", "def f: def g: f; g; f", '["x" * 1e8|., .]|tojson'])
def test_a_filter_that_takes_all_memory_is_ended(jq: JqProcess, filter_text: str) -> None:
    """Or by the time limit, on a machine that is slow to allocate memory."""
    assert ended_by(refusal(jq, filter_text, "null")) in ("memory", "time")


@pytest.mark.parametrize(
    "filter_text", ["range(1e9)", 'repeat("x" * 1000)', '"x" * 65535', '"ä" * 40000', "[range(20000)]"]
)
def test_more_than_64_kb_are_not_answered(jq: JqProcess, filter_text: str) -> None:
    assert refusal(jq, filter_text) == "The result has more than 64 KB; ask for less."


def test_a_caller_may_take_more(jq: JqProcess) -> None:
    assert len(jq.run('"x" * 100000', "null", most_bytes=200_000)[0]) == 100_002
    with pytest.raises(JqTooLarge):
        jq.run('"x" * 100', "null", most_bytes=50)


@pytest.mark.parametrize("deep", ["reduce range(100000) as $i (0; [.])", "def f: [f]; f", "[recurse([.])]"])
def test_deep_recursion_hurts_nobody(jq: JqProcess, deep: str) -> None:
    with suppress(InputError):
        jq.run(deep, "null")
    assert jq.run(".", "1") == ["1"]


def test_a_regular_expression_cannot_run_for_ever(jq: JqProcess) -> None:
    refusal(jq, '("a" * 40 + "!") | test("^(a+)+$")')


@pytest.mark.parametrize(
    ("filter_text", "reason"), [("1\0 | 2", "NUL"), ('"\ud83d"', "an unpaired surrogate"), ("1" * 70_000, "characters")]
)
def test_text_that_jq_cannot_read_is_not_given_to_it(jq: JqProcess, filter_text: str, reason: str) -> None:
    assert reason in refusal(jq, filter_text)
    assert len(filter_text) < LONGEST_FILTER or "65,536" in refusal(jq, filter_text)


@pytest.mark.parametrize(
    "value", ['"\\u0000"', '"\\u001b[31m ‮"', "100000000000000000001", "3.14159265358979323846264338", "1E+1000"]
)
def test_odd_characters_and_long_numbers_pass_unchanged(jq: JqProcess, value: str) -> None:
    assert jq.run(".", value) == [value]
    assert jq.run(".[0]", f"[{value}]") == [value]
    assert jq.run(f"[{value}]", "null") == [f"[{value}]"]


def test_half_of_a_character_in_a_text_is_refused(jq: JqProcess) -> None:
    refusal(jq, ".", '"\\ud83d"')
    refusal(jq, '"\\ud83d"')


def test_nothing_is_kept_from_one_filter_to_the_next(jq: JqProcess) -> None:
    assert jq.run("def secret: 42; secret", "null") == ["42"]
    refusal(jq, "secret")


def test_several_threads_get_their_own_answers(jq: JqProcess) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        for turn in range(10):
            answer = jq.run(f". + {turn}", str(number * 1000))
            if answer != [str(number * 1000 + turn)]:
                wrong.append(answer)
            try:
                wrong.append(jq.run(f'error("{number}")', "null"))
            except InputError as refused:
                if str(refused) != f"jq reports: {number}.":
                    wrong.append(refused)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_process_serves_all_and_another_takes_over_when_it_is_gone() -> None:
    others = pids_of_jq()
    with closing(JqProcess()) as jq:
        jq.run(".", "1")
        (first,) = pids_of_jq() - others
        jq.run(".", "2")
        assert pids_of_jq() - others == {first}
        os.kill(first, signal.SIGKILL)
        until(lambda: pids_of_jq() == others)
        assert jq.run(".", "3") == ["3"]
        assert len(pids_of_jq() - others) == 1
        jq.close()
        assert pids_of_jq() == others
        assert jq.run(".", "4") == ["4"]
    assert pids_of_jq() == others


@posix_only
@pytest.mark.parametrize("filter_text", ["until(false; .)", "."])
def test_it_ends_with_whoever_started_it(filter_text: str) -> None:
    """Even if its parent is killed with SIGKILL, while it waits or computes."""
    program = (
        "from halo_weave.tools.jq.process import JqProcess\n"
        "jq = JqProcess(); jq.run('.', '1'); print('ready', flush=True)\n"
        f"jq.run({filter_text!r}, 'null'); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        (child,) = pids_of_jq(parent.pid)
        parent.kill()
    until(lambda: not is_running(child))


def pids_of_jq(parent: int | None = None) -> set[int]:
    """Return the ids of jq processes that this process or `parent` started."""
    listed = subprocess.run(["ps", "-Aww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=3) for line in listed.stdout.splitlines()]
    wanted = str(os.getpid() if parent is None else parent)
    return {int(row[0]) for row in rows if row[1] == wanted and "Z" not in row[2] and "jq_child" in row[-1]}


def is_running(pid: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and "Z" not in listed.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the limits of a process")
def test_the_system_holds_it_within_its_limits() -> None:
    """In addition to what the language refuses."""
    others = pids_of_jq()
    with closing(JqProcess()) as jq:
        jq.run(".", "1")
        (pid,) = pids_of_jq() - others
        limits = Path(f"/proc/{pid}/limits").read_text()
        for name, most in {
            "Max open files": 0,
            "Max file size": 0,
            "Max processes": 0,
            "Max core file size": 0,
            "Max address space": 256 * 1024**2,
        }.items():
            assert re.search(rf"^{name} +{most} +{most} ", limits, re.MULTILINE), limits
        assert len(list(Path(f"/proc/{pid}/fd").iterdir())) == 3
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
