#include "kernels/optimizer/reference/optimizer_reference.h"

#include <algorithm>
#include <cmath>

namespace selari {
namespace {

double UsedGradient(const GradientTerms& terms, const ReferenceElement& e) {
  return ClippedReference(e.grad, terms.clip_value) * terms.scale +
         terms.coupled_decay * e.weight;
}

void UpdateMoments(const MomentTerms& terms, double g, ReferenceElement* e) {
  e->slots[0] = terms.beta1 * e->slots[0] + terms.one_minus_beta1 * g;
  e->slots[1] = terms.beta2 * e->slots[1] + terms.one_minus_beta2 * g * g;
}

}  // namespace

double ClippedReference(double grad, double clip_value) {
  return std::isnan(grad) ? grad : std::clamp(grad, -clip_value, clip_value);
}

void SgdReference(const SgdTerms& terms, ReferenceElement* e) {
  e->next_weight =
      e->weight - terms.learning_rate * UsedGradient(terms.gradient, *e);
}

void HeavyBallReference(const MomentumTerms& terms, ReferenceElement* e) {
  double& velocity = e->slots[0];
  velocity = terms.momentum * velocity + UsedGradient(terms.gradient, *e);
  e->next_weight = e->weight - terms.learning_rate * velocity;
}

void NesterovReference(const MomentumTerms& terms, ReferenceElement* e) {
  const double g = UsedGradient(terms.gradient, *e);
  double& velocity = e->slots[0];
  velocity = terms.momentum * velocity + g;
  e->next_weight =
      e->weight - terms.learning_rate * (g + terms.momentum * velocity);
}

void AdagradReference(const AdagradTerms& terms, ReferenceElement* e) {
  const double g = UsedGradient(terms.gradient, *e);
  double& sum = e->slots[0];
  sum += g * g;
  e->next_weight =
      e->weight - terms.learning_rate * g / (std::sqrt(sum) + terms.epsilon);
}

void RmsPropReference(const RmsPropTerms& terms, ReferenceElement* e) {
  const double g = UsedGradient(terms.gradient, *e);
  double& mean = e->slots[0];
  mean = terms.alpha * mean + terms.one_minus_alpha * g * g;
  e->next_weight =
      e->weight - terms.learning_rate * g / (std::sqrt(mean) + terms.epsilon);
}

void RmsPropMomentumReference(const RmsPropTerms& terms, ReferenceElement* e) {
  const double g = UsedGradient(terms.gradient, *e);
  double& mean = e->slots[0];
  double& velocity = e->slots[1];
  mean = terms.alpha * mean + terms.one_minus_alpha * g * g;
  velocity = terms.momentum * velocity + g / (std::sqrt(mean) + terms.epsilon);
  e->next_weight = e->weight - terms.learning_rate * velocity;
}

void AdamReference(const AdamTerms& terms, ReferenceElement* e) {
  UpdateMoments(terms.moments, UsedGradient(terms.gradient, *e), e);
  const double root =
      std::sqrt(e->slots[1]) * terms.root_correction + terms.epsilon;
  e->next_weight =
      (1 - terms.decay_rate) * e->weight - terms.step_size * e->slots[0] / root;
}

double LambDirectionReference(const LambTerms& terms,
                              const ReferenceElement& element) {
  ReferenceElement e = element;
  UpdateMoments(terms.moments, UsedGradient(terms.gradient, e), &e);
  const double root =
      std::sqrt(e.slots[1]) * terms.root_correction + terms.epsilon;
  return e.slots[0] * terms.mean_correction / root +
         terms.decoupled_decay * e.weight;
}

void LambReference(const LambTerms& terms, ReferenceElement* e) {
  const double direction = LambDirectionReference(terms, *e);
  UpdateMoments(terms.moments, UsedGradient(terms.gradient, *e), e);
  e->next_weight = e->weight - terms.step_size * direction;
}

}  // namespace selari
