%% SPDX-License-Identifier: Apache-2.0
-module(fib).
-export([main/1]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

main([Arg]) -> loop(list_to_integer(atom_to_list(Arg))), halt(0).

loop(Budget) ->
    {Used, _} = statistics(runtime),
    if Used < Budget -> fib(27), loop(Budget); true -> ok end.
