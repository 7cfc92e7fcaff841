// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cppless::fiber::detail {

// Continues on another stack. What the caller needs afterwards the compiler itself has saved: to it
// the assembly changes every register. There is no call and no return in it: the processor
// predicts returns by a stack of its own, which would be off by one from each such call on (13
// instead of 29 ns for a switch there and back). The floating-point control words go with the
// fiber; they hardly ever differ, and setting them takes longer than comparing them.

/// Leaves where to come back to in `from` and continues at `to`: what another `switch_stack` left,
/// or `new_stack` made.
#if defined(__x86_64__)

[[gnu::always_inline]] inline void switch_stack(void*& from, void* to) noexcept {
  void** save = &from;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // the red zone
      "pushq %%rbp\n\t"
      "subq $8, %%rsp\n\t"
      "stmxcsr (%%rsp)\n\t"
      "fnstcw 4(%%rsp)\n\t"
      "movl (%%rsp), %%ecx\n\t"
      "movzwl 4(%%rsp), %%edx\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rsi, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "cmpl (%%rsp), %%ecx\n\t"
      "je 2f\n\t"
      "ldmxcsr (%%rsp)\n"
      "2:\n\t"
      "cmpw 4(%%rsp), %%dx\n\t"
      "je 3f\n\t"
      "fldcw 4(%%rsp)\n"
      "3:\n\t"
      "addq $8, %%rsp\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

#elif defined(__aarch64__)

[[gnu::always_inline]] inline void switch_stack(void*& from, void* to) noexcept {
  register void** save asm("x0") = &from;
  register void* target asm("x1") = to;
  asm volatile(
      "mrs x3, fpcr\n\t"
      "adr x2, 1f\n\t"
      "stp x2, x29, [sp, #-32]!\n\t"
      "str x3, [sp, #16]\n\t"
      "mov x3, sp\n\t"
      "str x3, [x0]\n\t"
      "mov sp, x1\n\t"
      "ldr x2, [sp]\n\t"
      "br x2\n"
      "1:\n\t"
      "ldr x3, [sp, #16]\n\t"
      "msr fpcr, x3\n\t"
      "ldr x29, [sp, #8]\n\t"
      "add sp, sp, #32"
      : "+r"(save), "+r"(target)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
        "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
        "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

#else
#error "fibers know x86-64 and aarch64 only: add switch_stack and cppless_fiber_start for this one"
#endif

/// Where a new stack begins: calls `cppless_fiber_main`, which does not return.
extern "C" void cppless_fiber_start();

/// Prepares the stack that ends at `end`, which is a multiple of 16, to begin at
/// `cppless_fiber_start`.
inline void* new_stack(void* end) noexcept {
  void** const place = static_cast<void**>(end) - 4;
  place[0] = reinterpret_cast<void*>(&cppless_fiber_start);
  return place;
}

}  // namespace cppless::fiber::detail
