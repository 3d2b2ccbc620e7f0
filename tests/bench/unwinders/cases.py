# SPDX-License-Identifier: Apache-2.0
"""Other unwinders' test programs, and where in them a stack is looked at."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Suite:
    """@packages: names of the source package, the first that there is; @inside: the folder of the tests in it; @members: what
    is unpacked, for tar; @needs: packages that the programs are built with."""
    name: str
    packages: tuple
    inside: str
    members: tuple
    needs: tuple = ()
    flags: tuple = ()


LIBUNWIND = Suite("libunwind", ("libunwind",), "tests", ("*/tests/*", "*/include/*"), ("libunwind-dev",),
                  ("-O2", "-g", "-I$source/include", "-I$source/tests", "-D_GNU_SOURCE", "-DHAVE_EXECINFO_H", "-DHAVE_DECL_PTRACE_POKEUSER",
                   "-DHAVE_ELF_H", "-pthread", "-Wl,--no-as-needed"))
GDB = Suite("gdb", ("gdb",), "gdb/testsuite",
            ("*/gdb/testsuite/gdb.arch/*", "*/gdb/testsuite/gdb.base/*", "*/gdb/testsuite/gdb.dwarf2/*", "*/gdb/testsuite/lib/attributes.h"),
            flags=("-g", "-pthread", "-no-pie"))
ELFUTILS = Suite("elfutils", ("elfutils",), "tests", ("*/tests/backtrace*",), flags=("-g", "-O2", "-pthread", "-D_GNU_SOURCE", "-I$empty"))
LLVM = Suite("LLVM", tuple("llvm-toolchain-%d" % version for version in (16, 14, 19)), "libunwind/test", ("*/libunwind/test/*",),
             ("libunwind-dev",), ("-O1", "-g"))


@dataclasses.dataclass(frozen=True)
class Case:
    """@stops: breakpoints of gdb, `*f` before the first instruction, with :N the N-th time that it is met and +N so many
    instructions later. @through: functions that the stack holds, leaf first; the last is the root. @ends: the stop
    of a stack that cannot be walked on, by what the test does on purpose; @other: why gdb's stack is another; @early: the stop
    of samples from before the tables, walked in userspace from a copy of one stack. @why: in words, for the table."""
    suite: Suite
    name: str
    files: tuple
    stops: tuple
    through: tuple = ("main",)
    flags: tuple = ()
    args: str = ""
    ends: str = ""
    early: str = ""
    other: bool = False  # gdb has another stack
    why: str = ""


def unw(name, stops, through=("main",), files=None, flags=(), **more):
    return Case(LIBUNWIND, name, files or (name + ".c",), stops, through, flags, **more)


def gdb(folder, name, stops, through=("main",), files=None, **more):
    """As gdb's own tests build it, and of C code without frame pointers as well."""
    files = tuple("gdb.%s/%s" % (folder, one) for one in files or (name + ".c",))
    plain = Case(GDB, name, files, stops, through, **more)
    if not files[0].endswith(".c"):
        return [plain]
    return [plain, dataclasses.replace(plain, name=name + " -O2", flags=("-O2", "-fno-inline", "-fno-ipa-icf", "-fno-optimize-sibling-calls"))]


ONE_STACK = "a sample from before the tables has a copy of the alternate stack alone"
EACH_INSTRUCTION = tuple("*foo+%d" % step for step in range(8))
CASES = [
    unw("Gx64-test-dwarf-expressions", ("recover_register", "*DW_CFA_expression_inner+3", "recover_register:2"),
        ("DW_CFA_expression_testcase", "main"), ("Gx64-test-dwarf-expressions.c", "x64-test-dwarf-expressions.S")),
    unw("x64-unwind-badjmp-signal-frame", ("handle_sigsegv",), ("handle_sigsegv", "main")),
    unw("Gtest-resume-sig", ("handler", "handler:2", "*handler:2"), ("handler", "main")),
    unw("Gtest-resume-sig-rt", ("handler", "handler:2"), ("handler", "main")),
    unw("test-async-sig", ("sighandler", "sighandler:2", "sighandler:9", "*sighandler:9", "sighandler:40"), ("sighandler", "main")),
    unw("test-setjmp", ("raise_longjmp:3", "raise_siglongjmp:4", "sighandler")),
    unw("Gtest-bt", ("foo", "sighandler", "do_backtrace:3", "*sighandler:2"), files=("Gtest-bt.c", "ident.c"), early="read_fault", why=ONE_STACK),
    unw("Gtest-trace", ("foo", "sighandler", "do_backtrace:3", "*sighandler:2"), files=("Gtest-trace.c", "ident.c"), early="read_fault", why=ONE_STACK),
    unw("Gtest-exc", ("raise_exception", "a:4", "b")),
    unw("Gtest-init", ("do_backtrace",), ("do_backtrace", "_start"), ("Gtest-init.cxx",)),
    unw("Ltest-init-local-signal", ("handler", "*handler", "foo"), ("main",), ("Ltest-init-local-signal.c", "Ltest-init-local-signal-lib.c")),
    unw("test-mem", ("do_backtrace",)),
    unw("test-reg-state", ("do_backtrace",)),
    unw("Ltest-cxx-exceptions", ("__cxa_throw", "_Unwind_RaiseException"), ("main",), ("Ltest-cxx-exceptions.cxx",)),
    unw("Ltest-varargs", ("b", "c", "*b")),
    unw("Ltest-nomalloc", ("do_backtrace",)),
    unw("crasher", ("a", "b", "*b+2")),
    *gdb("base", "sigaltstack", ("catcher:2", "catcher:3", "*catcher:3"), ("catcher", "thrower", "main"), early="read_fault",
         why=ONE_STACK),
    *gdb("base", "signest", ("keeper", "*keeper+1", "keeper:2"), ("keeper", "bowler", "main")),
    *gdb("base", "signull", ("bowler:2", "keeper", "*keeper:2", "keeper:3"), ("bowler", "main")),
    *gdb("base", "sigbpt", ("keeper", "*keeper:2"), ("keeper", "bowler", "main")),
    *gdb("base", "sigstep", ("handler", "*handler", "handler+3"), ("handler", "main")),
    *gdb("base", "sigrepeat", ("handler", "*handler:3"), ("handler", "main"), other=True, why="the other timer fires while it spins"),
    *gdb("base", "siginfo", ("handler", "*handler+1"), ("handler", "main")),
    *gdb("base", "siginfo-addr", ("handler", "*handler+1"), ("handler", "main")),
    *gdb("base", "siginfo-thread", ("handler", "*handler+1"), ("handler", "segv_thread")),
    *gdb("base", "sigall", ("handle_ABRT", "*handle_SEGV", "*handle_USR1"), ("main",)),
    *gdb("base", "signals", ("func1", "func2"), ("main",)),
    *gdb("base", "unwindonsignal", ("stop_here",), ("main",))[:1],
    *gdb("base", "longjmp", ("call_longjmp", "hidden_longjmp", "*hidden_longjmp"), ("main",)),
    *gdb("base", "large-frame", ("func", "*func", "*func+6"), ("main",), ("large-frame-1.c", "large-frame-2.c")),
    *gdb("base", "unwind-on-each-insn", EACH_INSTRUCTION, ("main",), ("unwind-on-each-insn.c", "unwind-on-each-insn-foo.c"))[:1],
    *gdb("base", "backtrace", ("baz", "*baz+2"), ("baz", "main"))[:1],
    *gdb("dwarf2", "dw2-reg-undefined", ("stop_frame", "*stop_frame+1"), ("stop_frame", "first_frame", "main"), ("dw2-reg-undefined.S",)),
    *gdb("dwarf2", "dw2-undefined-ret-addr", ("stop_frame",), ("stop_frame", "main"), ("dw2-undefined-ret-addr.S",), other=True,
         why="gdb believes .debug_frame first, in which the test ends the stack; .eh_frame is right"),
    *gdb("dwarf2", "dw2-dup-frame", ("stop_frame",), ("stop_frame", "main"), ("dw2-dup-frame.S",), other=True,
         why="gdb believes .debug_frame first, in which the test makes a frame its own caller; .eh_frame is right"),
    *gdb("arch", "amd64-invalid-stack-middle", ("breakpt", "*func3"), ("func3", "main"), ("amd64-invalid-stack-middle.S",), other=True,
         why="gdb believes .debug_frame first, in which the test puts func2's frame where no memory is; .eh_frame is right"),
    *gdb("arch", "amd64-invalid-stack-top", ("breakpt",), ("func2", "main"), ends="read_fault",
         why="the test has set the stack pointer to where no memory is"),
    *gdb("arch", "amd64-tailcall-ret", ("g", "*f"), ("main",), ("amd64-tailcall-ret.S",)),
    *gdb("arch", "amd64-tailcall-self", ("b",), ("b", "main"), ("amd64-tailcall-self.S",)),
    *gdb("arch", "amd64-tailcall-noret", ("*noret", "*tailcall"), ("main",), ("amd64-tailcall-noret.S",)),
    *gdb("arch", "amd64-tailcall-cxx", ("*f",), ("main",), ("amd64-tailcall-cxx1.S", "amd64-tailcall-cxx2.S")),
    *gdb("arch", "amd64-entry-value", ("d", "locexpr", "*d+1"), ("main",), ("amd64-entry-value.s",)),
    *gdb("arch", "amd64-entry-value-inline", ("*fn1",), ("main",), ("amd64-entry-value-inline.S",)),
    *gdb("arch", "amd64-prologue-xmm", ("*func",), ("main",), ("amd64-prologue-xmm.s",)),
    *gdb("arch", "amd64-optimout-repeat", ("*main+1",), ("main",), ("amd64-optimout-repeat.S",)),
    Case(ELFUTILS, "backtrace-child", ("backtrace-child.c",), ("*backtracegen+2", "stdarg", "sigusr2", "*sigusr2+1", "start"), ("start", "start_thread"), args="--gencore"),
    Case(LLVM, "signal_unwind", ("signal_unwind.pass.cpp",), ("signal_handler", "*frame_handler"), ("signal_handler", "main")),
    Case(LLVM, "signal_frame", ("signal_frame.pass.cpp",), ("test", "*test+2"), ("test", "main"), ("-lunwind",)),
    Case(LLVM, "unwind_leaffunction", ("unwind_leaffunction.pass.cpp",), ("*crashing_leaf_func+1", "signal_handler", "*frame_handler:3"),
         ("crashing_leaf_func", "main")),
    Case(LLVM, "remember_state_leak", ("remember_state_leak.pass.sh.s",), ("*main", "*main+3", "_Unwind_ForcedUnwind"), ("main",), ("-no-pie",)),
    Case(LLVM, "forceunwind", ("forceunwind.pass.cpp",), ("stop", "stop:2", "foo"), ("foo", "main")),
    Case(LLVM, "bad_unwind_info", ("bad_unwind_info.pass.cpp",), ("stepper",), ("stepper", "bad_unwind_info"), ("-lunwind",), ends="bad_ra",
         other=True, why="the test has put 4 in the place of the return address; gdb goes on from there as from a frame"),
    Case(LLVM, "unw_resume", ("unw_resume.pass.cpp",), ("test_unw_resume", "_Ux86_64_resume"), ("main",), ("-lunwind",)),
    Case(LLVM, "unw_getcontext", ("unw_getcontext.pass.cpp",), ("main",), ("main",), ("-lunwind",)),
    Case(LLVM, "libunwind_02", ("libunwind_02.pass.cpp",), ("test_backtrace", "callback:40", "test:30"), ("main",), ("-lm",)),
]
