// One vector register of the level being compiled, and the few operations that
// C++ has no operator for. Include only from kernels/cpu, which is compiled
// once per level.

#ifndef SELARI_KERNELS_CPU_VEC_H_
#define SELARI_KERNELS_CPU_VEC_H_

#include <immintrin.h>

#include <cstdint>

// Lets the compiler vectorise a loop whose arrays may be the same array: each
// iteration touches its own index only.
#if defined(__clang__)
#define SELARI_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define SELARI_ELEMENTWISE _Pragma("GCC ivdep")
#endif

namespace selari {
namespace SELARI_ISA_NAMESPACE {

#if SELARI_ISA_LEVEL >= 4
using Vec = __m512;
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec Broadcast(float x) { return _mm512_set1_ps(x); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// x where selector > 0 or NaN, else 0.
inline Vec ZeroUnlessPositive(Vec selector, Vec x) {
  const __mmask16 keep =
      _mm512_cmp_ps_mask(selector, _mm512_setzero_ps(), _CMP_NLE_UQ);
  return _mm512_maskz_mov_ps(keep, x);
}
#elif SELARI_ISA_LEVEL == 3
using Vec = __m256;
inline Vec Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec Broadcast(float x) { return _mm256_set1_ps(x); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec ZeroUnlessPositive(Vec selector, Vec x) {
  return _mm256_and_ps(
      _mm256_cmp_ps(selector, _mm256_setzero_ps(), _CMP_NLE_UQ), x);
}
#else
using Vec = __m128;
inline Vec Load(const float* p) { return _mm_loadu_ps(p); }
inline void Store(float* p, Vec v) { _mm_storeu_ps(p, v); }
inline Vec Broadcast(float x) { return _mm_set1_ps(x); }
// No fused instruction at this level: rounds twice.
inline Vec MulAdd(Vec a, Vec b, Vec c) {
  return _mm_add_ps(_mm_mul_ps(a, b), c);
}
inline Vec ZeroUnlessPositive(Vec selector, Vec x) {
  return _mm_and_ps(_mm_cmpnle_ps(selector, _mm_setzero_ps()), x);
}
#endif

// As many 32-bit words as a Vec has floats, and the same bits as 64-bit words.
typedef uint32_t Words __attribute__((vector_size(sizeof(Vec))));
typedef uint64_t LongWords __attribute__((vector_size(sizeof(Vec))));

// The 64-bit products of the even-numbered 32-bit words.
inline LongWords MulEven(LongWords a, LongWords b) {
#if SELARI_ISA_LEVEL >= 4
  return (LongWords)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif SELARI_ISA_LEVEL == 3
  return (LongWords)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
  return (LongWords)_mm_mul_epu32((__m128i)a, (__m128i)b);
#endif
}

// Floats in a Vec.
constexpr int64_t kVecFloats = sizeof(Vec) / sizeof(float);

// The same for one element; also relu(x) with selector = x.
inline float ZeroUnlessPositive(float selector, float x) {
  return selector <= 0.0f ? 0.0f : x;
}

inline int64_t RoundUp(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_CPU_VEC_H_
