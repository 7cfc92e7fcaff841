# SPDX-License-Identifier: Apache-2.0
"""gdb commands for the fibers of cppless, in running processes and in core files. gdb 12 or later.

    (gdb) source .../cppless_fibers.py
    (gdb) cppless fibers               every fiber: state, task, where it waits
    (gdb) cppless fibers bt            the same with backtraces
    (gdb) cppless fiber 3 bt           any command as if fiber 3 were the current thread
    (gdb) cppless fiber 3              from now on: bt, up, frame, info locals
    (gdb) cppless fiber none           back to the thread

It needs no debugging information, but shows more with it.
"""

import gdb
from gdb.unwinder import Unwinder, register_unwinder

STATES = {1: "running", 2: "parked", 3: "ready"}
LIBRARY = ("cppless::", "cppless_fiber")
OFFSETS = ("version", "next_known", "stack_pointer", "state", "current", "low", "high",
           "kind_of_task", "name_of_kind", "unused")
VERSION = 1
MOST = 1_000_000_000  # a list that is longer is none


def read(address, size=8):
    memory = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(memory), "little")


def read_text(address, most=4000):
    text = b""
    while b"\0" not in text and len(text) < most:
        text += bytes(gdb.selected_inferior().read_memory(address + len(text), 1))
    return text.rstrip(b"\0").decode(errors="replace")


def find_layout():
    """Offsets by name, and the address of the first record, or 0."""
    try:
        address = int(gdb.parse_and_eval("(unsigned long)&cppless_fiber_layout"))
    except gdb.error:
        raise gdb.GdbError("this program has no cppless fibers in it (or its symbols are stripped)")
    fields = {name: read(address + 4 * index, 4) for index, name in enumerate(OFFSETS)}
    if fields["version"] != VERSION:
        raise gdb.GdbError(f"the program's fibers are of layout {fields['version']}, "
                           f"this script knows {VERSION}")
    place = read(address + 4 * len(OFFSETS))
    return fields, read(place) if place else 0


class Fiber:
    def __init__(self, number, address, layout):
        self.number, self.address = number, address
        get = lambda name: read(address + layout[name])
        self.state, self.low, self.high = get("state"), get("low"), get("high")
        self.stack_pointer = get("stack_pointer")
        task = get("current")
        self.task = "-"
        if task and self.state != 1:
            kind = read(task + layout["kind_of_task"])
            self.task = type_in(read_text(read(kind + layout["name_of_kind"])))

    def registers(self):
        """What the switch away from it has saved: see library/src/fiber/switch.hpp."""
        sp = self.stack_pointer
        if gdb.selected_inferior().architecture().name().startswith("aarch64"):
            return {"pc": read(sp), "x29": read(sp + 8), "sp": sp + 32}
        return {"rip": read(sp), "rbp": read(sp + 16), "rsp": sp + 152}

    def thread(self):
        """The one that runs it, or none."""
        before, found = gdb.selected_thread(), None
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            if self.low <= int(gdb.newest_frame().read_register("sp")) < self.high:
                found = thread
        if before is not None:
            before.switch()
        return found


def type_in(text):
    """The function's type out of what __PRETTY_FUNCTION__ says of a template over it."""
    _, found, rest = text.partition("F = ")
    return rest[:max(rest.rfind("]"), rest.rfind(";"))] if found else text


def all_fibers():
    layout, address = find_layout()
    known = []
    while address and len(known) < MOST:
        known.append(address)
        address = read(address + layout["next_known"])
    known.reverse()
    fibers = (Fiber(number, each, layout) for number, each in enumerate(known, 1))
    return [each for each in fibers if each.state in STATES]


class FiberUnwinder(Unwinder):
    """While `fiber` is set, the frame above the current thread's innermost is the fiber's."""

    def __init__(self):
        super().__init__("cppless fibers")
        self.fiber = None

    def show(self, fiber):
        self.fiber = fiber
        gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if self.fiber is None or pending.level() != 0:
            return None
        pointer = gdb.lookup_type("void").pointer()
        saved = self.fiber.registers()

        class Id:
            sp = gdb.Value(self.fiber.stack_pointer).cast(pointer)
            pc = pending.read_register("pc")

        info = pending.create_unwind_info(Id())
        for register, value in saved.items():
            info.add_saved_register(register, gdb.Value(value).cast(pointer))
        return info


class WithoutThread:
    """A frame filter: while a fiber is shown, the thread's innermost frame is none of it."""

    def __init__(self):
        self.name, self.enabled, self.priority = "cppless fibers", True, 1000
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if unwinder.fiber is not None:
            next(frames, None)
        return frames


unwinder = FiberUnwinder()


def on_fiber(fiber, command):
    """Runs a command with the fiber in the place of a thread; its output."""
    before, shown = gdb.selected_thread(), unwinder.fiber
    running = fiber.thread() if fiber.state == 1 else None
    try:
        if fiber.state == 1:
            if running is None:
                return "runs on no thread: it is just being switched\n"
            running.switch()
            unwinder.show(None)
        else:
            unwinder.show(fiber)
            gdb.newest_frame().older().select()
        return gdb.execute(command, to_string=True)
    finally:
        if before is not None:
            before.switch()
        unwinder.show(shown)


def where(fiber):
    """The innermost frame that is not the library's."""
    lines = [line for line in on_fiber(fiber, "bt -20").splitlines() if line.startswith("#")]
    names = [line.split(" in ", 1)[-1].lstrip("#0123456789 ") for line in lines]
    own = [name for name in names if not name.startswith(LIBRARY)]
    return (own or names or ["?"])[0]


def in_line(fiber):
    state = STATES[fiber.state]
    thread = fiber.thread() if fiber.state == 1 else None
    if thread is not None:
        state = f"running on thread {thread.num}"
    return f"{fiber.number:>6}  {state}  {fiber.task}"


class Cppless(gdb.Command):
    """Commands for programs that use cppless: cppless fibers, cppless fiber N."""

    def __init__(self):
        super().__init__("cppless", gdb.COMMAND_STACK, prefix=True)


class Fibers(gdb.Command):
    """cppless fibers [bt]: all fibers, with what they run and where they are, or backtraces."""

    def __init__(self):
        super().__init__("cppless fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        fibers = all_fibers()
        gdb.write(f"{len(fibers)} fibers (those that have ended, or not begun, are not counted)\n")
        for fiber in fibers:
            gdb.write(in_line(fiber) + "\n")
            if argument.strip():
                gdb.write(on_fiber(fiber, argument))
            else:
                gdb.write(f"        in {where(fiber)}\n")


class OneFiber(gdb.Command):
    """cppless fiber N [COMMAND]: looks at fiber N, until `cppless fiber none`, or for one command."""

    def __init__(self):
        super().__init__("cppless fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        number, _, command = argument.strip().partition(" ")
        if number == "none":
            unwinder.show(None)
            return
        fiber = next((each for each in all_fibers() if str(each.number) == number), None)
        if fiber is None:
            raise gdb.GdbError(f"there is no fiber '{number}': see cppless fibers")
        if command:
            gdb.write(on_fiber(fiber, command))
        elif fiber.state == 1:
            raise gdb.GdbError(f"fiber {number} is {STATES[1]}: see its thread")
        else:
            unwinder.show(fiber)
            gdb.execute("frame 1")


register_unwinder(None, unwinder, replace=True)
WithoutThread()
gdb.events.cont.connect(lambda _: unwinder.show(None))
Cppless()
Fibers()
OneFiber()
