#pragma once
// RLDP_CLONES: one clone of a function per instruction set, chosen when the program is loaded. The sanitizers' runtimes
// are not up yet when that choice is made, so under them there is one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RLDP_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RLDP_CLONES
#endif
