#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A program that knows its own stack: calls of many kinds, nested at random, end in a loop. Before the loop it writes its chain of
sys._getframe() under a number and makes that number the name of its thread, so that each sample says which chain it must show.

    script_truth.py TRUTH SECONDS SPIN_MS SEED [KIND...]

Times are CPU times. TRUTH: lines of JSON: {"n": 12, "chain": [[qualified name, file, line], ...]}, the innermost first.
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import json
import random
import re
import sys
import time

libc = ctypes.CDLL(None)
PR_SET_NAME = 15
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
state = {"n": 0}


def spin():
    frame, chain = sys._getframe(), []
    while frame:
        code = frame.f_code
        # code objects have qualified names from 3.11 on
        chain.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    # a __del__() that the collector calls in here spins, too, and takes a number of its own
    state["n"] = number = state["n"] + 1
    truth.write(json.dumps({"n": number, "chain": chain}) + "\n")
    name = b"n%d" % number
    end = time.process_time() + spin_s
    libc.prctl(PR_SET_NAME, name, 0, 0, 0)
    while time.process_time() < end:
        sum(range(50))
    libc.prctl(PR_SET_NAME, b"between", 0, 0, 0)


def go(depth):
    if depth <= 0:
        spin()
        return 0
    kinds[choose.randrange(len(kinds))](depth - 1)
    return 0


def kind_call(depth):
    go(depth)


def kind_sorted(depth):
    once = [depth]
    sorted([1, 2], key=lambda x: go(once.pop()) if once else x)


def kind_map(depth):
    list(map(go, [depth]))


def kind_reduce(depth):
    functools.reduce(lambda a, b: go(b), [0, depth])


def kind_qsort(depth):
    once = [depth]

    def compare(a, b):
        if once:
            go(once.pop())
        return 0

    libc.qsort((ctypes.c_int * 2)(2, 1), 2, 4, COMPARE(compare))


def kind_generator(depth):
    def values():
        yield go(depth)

    for _ in values():
        pass


def kind_yield_from(depth):
    def inner():
        yield go(depth)

    def outer():
        yield from inner()

    list(outer())


def kind_throw(depth):
    def catches():
        try:
            yield 1
        except KeyError:
            go(depth)
        yield 2

    gen = catches()
    next(gen)
    gen.throw(KeyError())


def kind_await(depth):
    async def inner():
        go(depth)

    async def outer():
        await inner()

    try:
        outer().send(None)
    except StopIteration:
        pass


def kind_asyncio(depth):
    async def main():
        go(depth)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(main())
    else:
        go(depth)


def kind_del(depth):
    class Dies:
        def __del__(self):
            go(depth)

    x = Dies()
    del x


def kind_metaclass(depth):
    class Meta(type):
        def __new__(mcs, name, bases, space):
            go(depth)
            return super().__new__(mcs, name, bases, space)

    class _Made(metaclass=Meta):
        pass


def kind_class_body(depth):
    class _Body:
        x = go(depth)


def kind_cache(depth):
    @functools.lru_cache
    def cached(d):
        return go(d)

    cached(depth)


def kind_sub(depth):
    re.sub("a", lambda m: str(go(depth)), "xay", count=1)


def kind_exec(depth):
    exec("def made_%d(d):\n    go(d)\n\nmade_%d(%d)" % (state["n"], state["n"], depth), {"go": go})


def kind_eval(depth):
    eval("[go(%d) for _ in range(1)]" % depth, {"go": go})


def kind_recursion(depth):
    def down(n):
        if n:
            return down(n - 1)
        return go(depth)

    down(choose.randrange(1, 15))


def kind_comprehension(depth):
    return [go(x) for x in [depth]]


def kind_property(depth):
    class Has:
        @property
        def value(self):
            return go(depth)

        def __getattr__(self, name):
            return self.value

    Has().anything


def kind_context(depth):
    @contextlib.contextmanager
    def around():
        go(depth)
        yield

    with around():
        pass


def kind_operator(depth):
    class Number:
        def __add__(self, other):
            return go(depth)

        def __lt__(self, other):
            go(depth)
            return True

    Number() + 1


def kind_iter(depth):
    class Walks:
        def __iter__(self):
            return self

        def __next__(self):
            go(depth)
            raise StopIteration

    list(Walks())


def kind_json(depth):
    json.dumps({"x": object()}, default=lambda o: go(depth))


def kind_join(depth):
    "".join(str(go(x)) for x in [depth])


def kind_partial(depth):
    functools.partial(go, depth)()


def kind_star(depth):
    (lambda *a, **k: go(*a, **k))(*[depth])


def kind_finally(depth):
    try:
        raise ValueError
    except ValueError:
        try:
            pass
        finally:
            go(depth)


def kind_hash(depth):
    class Hashes:
        def __hash__(self):
            return go(depth)

    {Hashes(): 1}


def kind_collect(depth):
    class Loop:
        def __del__(self):
            go(depth)

    x = Loop()
    x.me = x
    del x
    gc.collect()


def kind_unicode(depth):
    def größe_вызов(d):
        go(d)

    größe_вызов(depth)


def main():
    end = time.process_time() + seconds
    while time.process_time() < end:
        go(choose.randrange(1, 14))
        truth.flush()


kinds = [f for name, f in sorted(globals().items()) if name.startswith("kind_")]

if __name__ == "__main__":
    truth = open(sys.argv[1], "w")
    seconds, spin_s = float(sys.argv[2]), float(sys.argv[3]) / 1000
    choose = random.Random(int(sys.argv[4]))
    if sys.argv[5:]:
        kinds = [globals()["kind_" + name] for name in sys.argv[5:]]
    main()
