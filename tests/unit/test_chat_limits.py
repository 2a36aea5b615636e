"""H5: no template stops a process: programs that grow values and work on them, within limits of the system."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tools.fuzz_programs import GROW, USE, VALUES, program

import subwords
from chatting import chatting, said
from inside import one_budget
from seeds import seed_of_run
from subwords import InputError

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120  # of the processor, for all programs together; a single one that does not end takes more
SHARED = "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(40) %}{% set ns.a = [ns.a, ns.a] %}"
SHARED += "{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
SHARED_TUPLES = SHARED.replace("=[1]", "=(1,)").replace("[", "(").replace("]", ")")
ENDS = "{% for m in messages %}{{ m.content }}{% endfor %}"
STOPPED = (  # each took the process: for hours, or 2 GB and more
    *(f"{SHARED}{{{{ {use} }}}}" for use in ("ns.a == ns.b", "ns.a in [ns.b]", "ns.a < ns.b", "[ns.a, ns.b]|sort")),
    *(
        f"{SHARED}{{{{ {use} }}}}"
        for use in ("ns.a is eq(ns.b)", "ns", "[cycler(ns.a), cycler(ns.b)]|sort(attribute='current')")
    ),
    *(
        f"{SHARED_TUPLES}{{{{ {use} }}}}"
        for use in ("{ns.a: 1}", "messages[0][ns.a]", "ns.a is filter", "[ns.a]|unique|list")
    ),
    f"{SHARED}{{% autoescape true %}}{{{{ ns.a }}}}{{% endautoescape %}}",
    *(
        f"{{% set x = ('f' * 20000000)|int(base=16) %}}{{{{ {use} }}}}"
        for use in ("x // 3", "3 // x", "x % 3", "x * x")
    ),
    *("{{ ('{0:>99999}' * 100000).format('a') }}", "{{ ('%99999d' * 20000) % ((1,) * 20000) }}"),
    *("{{ strftime_now('%99999d' * 1000000) }}", "{{ range(99999)|map('string')|map('center', 99999)|join }}"),
    "{{ ('{0}' * 20000000).format(1) }}",
    "{{ '{:>\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19}'.format(1) }}",
    "{% for x in range(99999)|map('string')|map('center', 99999) %}{{ loop.length }}{% endfor %}",
    *("{{ ('a\n' * 999999)|indent(99999) }}", "{{ ([[1, 2]] * 99999)|tojson(indent=99999) }}"),
    *("{{ ([[1]] * 999999)|sum(start=[]) }}", "{{ (10**1200)|upper|replace('0', 'b' * 60000000) }}"),
    "{{ ([[1]] * 99999)|tojson(separators=(',' * 99999, ':')) }}",
    *("{{ ('a' * 3000000).rfind('a' ~ 'b' ~ 'a' * 1000000) }}", "{{ ('ab' * 3000000).strip('c' * 90000 ~ 'ba') }}"),
    *("{{ ('ab ' * 20000000).split() }}", "{{ ('\n' * 60000000).splitlines() }}"),
    "{% set s = 'a' * 60000000 %}{{ [s.strip] * 999999 }}",
    "{% macro f() %}{% endmacro %}{% for i in [1] %}{% endfor %}{% for i in range(99999) %}"
    "{% for j in range(99999) if f() %}{% endfor %}{% endfor %}",
)
RUN = """
import json, resource, sys, time
import subwords
from tools.fuzz_inputs import tokenizer
tok, found = tokenizer(0), []
tok.chat([{"role": "user", "content": "a"}], template="{# x #}x", prompt=False)
with open("/proc/self/statm") as file:
    most = int(file.read().split()[0]) * resource.getpagesize() + (3 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
for source in json.load(sys.stdin):
    print(json.dumps(["begins", source]), flush=True)
    try:
        tok.chat([{"role": "user", "content": "a b"}], template=source)
        said = ""
    except subwords.InputError as error:
        said = str(error)
    print(json.dumps(["ends", said, time.process_time()]), flush=True)
"""


def run(sources: list[str]) -> list[str]:
    """Return what templates raise, in a process with 3 GB and few seconds."""
    command = [sys.executable, "-W", "ignore", "-c", RUN, str(SECONDS)]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    done = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, env=settings, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows and rows[-1][0] == "ends" and done.returncode == 0, f"{rows[-1:]} {done.stderr[-2000:]}"
    return [row[1] for row in rows if row[0] == "ends"]


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are those of Linux")


def test_templates_that_took_the_process_are_stopped() -> None:
    chosen = random.Random(seed_of_run()).sample(STOPPED, len(STOPPED) // 3)
    for source, error in zip(chosen, run(chosen), strict=True):
        assert " is stopped: " in error, (source, error)


def test_random_programs_end() -> None:
    rng = random.Random(seed_of_run())
    shared = [bytes([kind, kind, kind, kind, 1, 1, rng.randrange(len(USE))]) for kind in (0, 1)]
    long = [
        bytes([VALUES.index("'ab'")] * 2 + [GROW.index("x ~ x")] * 2 + [1, 1, k])
        for k in rng.sample(range(len(USE)), 2)
    ]
    any_of_them = [bytes([*rng.randbytes(4), rng.randrange(2), *rng.randbytes(2), 0]) for _ in range(5)]
    run([program(data) for data in (*shared, *long, *any_of_them)])


def test_reading_a_source_is_counted() -> None:
    macros = [f"{{% macro m{k}() %}}{{{{ m{k + 1}() }}}}{{% endmacro %}}" for k in range(2000)]
    last = "{% macro m2000() %}{% set n.x = 1 %}{% endmacro %}"  # so each macro changes what comes after it
    source = "{% set n = namespace() %}" + "".join(macros) + last
    with pytest.raises(InputError, match="invalid chat template: it makes or reads more than"):
        chatting().chat(said("x"), template=source)
    with pytest.raises(InputError, match="invalid chat template: 140,000 characters, more than 131,072"):
        chatting().chat(said("x"), template="{{ x }}" * 20_000)


def test_values_of_usual_templates_are_not_refused() -> None:
    template = (
        "{% set ns = namespace(a=[]) %}{% for m in messages %}{% set ns.a = ns.a + [{'m': m}] %}{% endfor %}"
        "{{ ns.a == ns.a }}{{ (ns.a|tojson(indent=2))|length }}{{ 'x' in (messages|map(attribute='role')|list) }}"
        "{{ messages|sort(attribute='content')|length }}{{ messages|groupby('role')|list|length }}{{ '%5d' % 7 }}"
        "{{ (messages|map(attribute='content')|map('upper')|unique|join(' '))[:9] }}{{ 'On %s, 20240101123456' % 1 }}"
    )
    talk = [{"role": "user", "content": f"{number} " + "a line\n" * 500} for number in range(300)]
    assert chatting().chat(talk, template=template).text.startswith("True")


def test_renderings_within_a_budget_count_as_one() -> None:
    source = "{% set a = range(99999)|list %}{% for i in range(400) %}{% set b = 'a' in a %}{% endfor %}" + ENDS
    tok = chatting()
    for _ in range(2):
        tok.chat(said("x"), template=source)
    with one_budget():
        tok.chat(said("x"), template=source)
        with pytest.raises(InputError, match="is stopped: it makes or reads more than"):
            tok.chat(said("x"), template=source)
    tok.chat(said("x"), template=source)


def test_an_audit_of_a_hostile_template_ends() -> None:
    findings = subwords.study.audit(
        chatting(template=SHARED + "{{ ns.a == ns.b }}" + ENDS), rules=["chat-role"]
    ).findings
    assert findings and all("is stopped: it makes" in one.message for one in findings)
