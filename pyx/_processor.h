/* What the build has and what the processor runs. */
#ifndef IMGOPS_PROCESSOR_H
#define IMGOPS_PROCESSOR_H

#ifdef _OPENMP
#include <omp.h>
enum { imgops_openmp = _OPENMP };
static int imgops_max_threads(void) { return omp_get_max_threads(); }
#else
enum { imgops_openmp = 0 };
static int imgops_max_threads(void) { return 1; }
#endif

/* Feature by feature, not by level name: older compilers know the features but not the names of the levels. The builtin
 * asks the operating system too, whether it keeps the wide registers. lzcnt and movbe come with every processor that has
 * the others; f16c is asked by cpuid, since older builtins do not know it. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <cpuid.h>
static int imgops_runs_v3(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C) || !(c & bit_MOVBE)) return 0;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & (1u << 5))) return 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
        && __builtin_cpu_supports("bmi2");
}
static int imgops_runs_v4(void)
{
    return imgops_runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
static int imgops_runs_v3(void) { return 0; }
static int imgops_runs_v4(void) { return 0; }
#endif

#endif
