// SPDX-License-Identifier: Apache-2.0
#include "fiber/switch.hpp"

// The outermost frame of a fiber: debuggers and unwinders stop here.
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl cppless_fiber_start
.hidden cppless_fiber_start
.type cppless_fiber_start, @function
cppless_fiber_start:
  .cfi_startproc
  .cfi_undefined rip
  xorl %ebp, %ebp
  andq $-16, %rsp
  call cppless_fiber_main
  ud2
  .cfi_endproc
.size cppless_fiber_start, .-cppless_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl cppless_fiber_start
.hidden cppless_fiber_start
.type cppless_fiber_start, @function
cppless_fiber_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x29, xzr
  mov x30, xzr
  add sp, sp, #32
  bl cppless_fiber_main
  brk #1
  .cfi_endproc
.size cppless_fiber_start, .-cppless_fiber_start
)");
#endif
