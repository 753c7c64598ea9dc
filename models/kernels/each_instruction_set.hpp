// Includes RLDP_KERNEL_FILE once for each instruction set, each in a namespace of its own, RLDP_KERNEL, with RLDP_LANES
// floats to a register: baseline, and where RLDP_KERNELS_OF_X86 says so avx2 and avx512. Several sources may include
// it.
#define RLDP_KERNEL baseline
#define RLDP_LANES 4
#include RLDP_KERNEL_FILE
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define RLDP_KERNELS_OF_X86 1
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define RLDP_KERNEL avx2
#define RLDP_LANES 8
#include RLDP_KERNEL_FILE
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define RLDP_KERNEL avx512
#define RLDP_LANES 16
#include RLDP_KERNEL_FILE
#pragma GCC pop_options
#endif
#undef RLDP_KERNEL_FILE
