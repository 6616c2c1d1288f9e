// The optimizers' arithmetic on one element, in double precision: the oracle
// for the loops of optimizer_kernels.h, written to be read.

#ifndef SELARI_KERNELS_OPTIMIZER_REFERENCE_OPTIMIZER_REFERENCE_H_
#define SELARI_KERNELS_OPTIMIZER_REFERENCE_OPTIMIZER_REFERENCE_H_

#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {

// One element before an update and, after a function below, after it.
struct ReferenceElement {
  double weight = 0;
  double grad = 0;
  double slots[kSlotCountMax] = {};
  double next_weight = 0;
};

void SgdReference(const SgdTerms& terms, ReferenceElement* element);
void HeavyBallReference(const MomentumTerms& terms, ReferenceElement* element);
void NesterovReference(const MomentumTerms& terms, ReferenceElement* element);
void AdagradReference(const AdagradTerms& terms, ReferenceElement* element);
void RmsPropReference(const RmsPropTerms& terms, ReferenceElement* element);
void RmsPropMomentumReference(const RmsPropTerms& terms,
                              ReferenceElement* element);
void AdamReference(const AdamTerms& terms, ReferenceElement* element);
void LambReference(const LambTerms& terms, ReferenceElement* element);

// The direction u whose squares lamb_sums adds.
double LambDirectionReference(const LambTerms& terms,
                              const ReferenceElement& element);

// The gradient after clipping by value, before scaling and decay.
double ClippedReference(double grad, double clip_value);

}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_REFERENCE_OPTIMIZER_REFERENCE_H_
