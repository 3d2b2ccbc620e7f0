# SPDX-License-Identifier: Apache-2.0
"""
ELF files whose rows from code take a while to make: a function with an FDE, a loop without one, and
much code without FDE behind them, which never runs. The fixture `caller` calls the loop.
"""

from hostile_code import GOOD, GOOD_AT, file_of

CODE_AT = 16  # of what file_of() is given, behind the start of the section
ENTRY = len(GOOD) - CODE_AT
PUSH, POP, RET = b"\x53", b"\x5b", b"\xc3"
STEP = bytes.fromhex("488d0c58" "4831d9" "480fafc1")  # lea (rax,rbx,2), rcx; xor rbx, rcx; imul rcx, rax
TURN, TURNS = bytes.fromhex("41" "0e10" "41" "0e08"), 500  # a row for each byte: of rsp + 16, of rsp + 8
PUSHES_AND_GOES_ON = bytes.fromhex("5353" "eb01" "90")  # push rbx; push rbx; jmp to CODE_AT
CFA_8, CFA_16 = bytes.fromhex("0c0708" "9001"), bytes.fromhex("0c0710" "9001")  # of rsp
DEEP_LOOP = bytes.fromhex("ffcf" "75fc" "5b5b" "c3")  # 1: dec edi; jnz 1b; pop rbx; pop rbx; ret


def slow_file(path, steps, rows=0, deep=False, wrong=False):
    """
    @steps: instructions without FDE, times three: 200,000 take a tenth of a second. @rows: of CFI
    beside that, two bytes of table each. @deep: the loop has words on the stack where the other
    kind's code has none. @wrong: its CFI, of the loop, too, says that there is one. Two files of other
    numbers are two objects. Returns @path.
    """
    code = (DEEP_LOOP if deep else b"") + PUSH + STEP * steps + POP + RET
    fdes = [(len(code) + i, TURNS * 2, TURN * TURNS) for i in range(0, rows, TURNS * 2)]
    if wrong:
        fdes.append((ENTRY, CODE_AT - len(GOOD)))
    file_of(path, code + RET * (rows + TURNS * 2), symbols=[ENTRY, len(DEEP_LOOP) if deep else 0], fdes=fdes, spin=True)
    if wrong:
        with open(path, "r+b") as file:
            content = file.read()
            file.seek(content.index(CFA_8))
            file.write(CFA_16)
    if deep:
        with open(path, "r+b") as file:
            file.seek(GOOD_AT + len(GOOD))
            file.write(PUSHES_AND_GOES_ON)
    return path
