#include "server/shard/optimizer/double_model.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace selari {

DoubleModel::DoubleModel(const OptimizerOptions& options,
                         const std::vector<int>& tensor_sizes,
                         const std::vector<bool>& skip_weight_decay,
                         const std::vector<float>& weights)
    : options_(options),
      tensor_sizes_(tensor_sizes),
      skip_weight_decay_(skip_weight_decay),
      w_(weights.begin(), weights.end()),
      first_(weights.size()),
      second_(weights.size()),
      update_(weights.size()) {
  if (const auto* adagrad = std::get_if<AdagradOptions>(&options.algorithm)) {
    first_.assign(weights.size(), adagrad->initial_accumulator);
  }
}

void DoubleModel::Update(const std::vector<float>& grad) {
  ++step_;
  g_.assign(grad.begin(), grad.end());
  Clip();
  int begin = 0;
  for (size_t tensor = 0; tensor < tensor_sizes_.size(); ++tensor) {
    const int end = begin + tensor_sizes_[tensor];
    const double decay = skip_weight_decay_[tensor] ? 0 : options_.weight_decay;
    double weight_sum = 0;
    double update_sum = 0;
    for (int i = begin; i < end; ++i) {
      weight_sum += w_[i] * w_[i];
      std::visit(
          [&](const auto& algorithm) {
            Step(algorithm, options_.learning_rate, decay, i);
          },
          options_.algorithm);
      update_sum += update_[i] * update_[i];
    }
    double ratio = 1;
    if (std::holds_alternative<LambOptions>(options_.algorithm)) {
      const bool defined = weight_sum > 0 && update_sum > 0;
      ratio = options_.learning_rate *
              (defined ? std::sqrt(weight_sum / update_sum) : 1);
    }
    for (int i = begin; i < end; ++i) {
      w_[i] -= ratio * update_[i];
    }
    begin = end;
  }
}

void DoubleModel::Clip() {
  double sum = 0;
  for (double& g : g_) {
    if (options_.clip_value > 0) {
      g = std::clamp(g, -options_.clip_value, options_.clip_value);
    }
    sum += g * g;
  }
  const double norm = std::sqrt(sum);
  if (options_.clip_global_norm > 0 && norm > options_.clip_global_norm) {
    for (double& g : g_) {
      g *= options_.clip_global_norm / norm;
    }
  }
}

void DoubleModel::Step(const SgdOptions& options, double lr, double decay,
                       int i) {
  const double g = g_[i] + decay * w_[i];
  first_[i] = options.momentum * first_[i] + g;
  update_[i] =
      lr * (options.nesterov ? g + options.momentum * first_[i] : first_[i]);
}

void DoubleModel::Step(const AdagradOptions& options, double lr, double decay,
                       int i) {
  const double g = g_[i] + decay * w_[i];
  first_[i] += g * g;
  update_[i] = lr * g / (std::sqrt(first_[i]) + options.epsilon);
}

void DoubleModel::Step(const RmsPropOptions& options, double lr, double decay,
                       int i) {
  const double g = g_[i] + decay * w_[i];
  first_[i] = options.alpha * first_[i] + (1 - options.alpha) * g * g;
  second_[i] = options.momentum * second_[i] +
               g / (std::sqrt(first_[i]) + options.epsilon);
  update_[i] = lr * second_[i];
}

double DoubleModel::Direction(double beta1, double beta2, double epsilon,
                              int i) {
  const double step = static_cast<double>(step_);
  first_[i] = beta1 * first_[i] + (1 - beta1) * g_[i];
  second_[i] = beta2 * second_[i] + (1 - beta2) * g_[i] * g_[i];
  const double mean = first_[i] / (1 - std::pow(beta1, step));
  const double square = second_[i] / (1 - std::pow(beta2, step));
  return mean / (std::sqrt(square) + epsilon);
}

void DoubleModel::Step(const AdamOptions& options, double lr, double decay,
                       int i) {
  g_[i] += decay * w_[i];
  update_[i] = lr * Direction(options.beta1, options.beta2, options.epsilon, i);
}

void DoubleModel::Step(const AdamWOptions& options, double lr, double decay,
                       int i) {
  update_[i] =
      lr * (Direction(options.beta1, options.beta2, options.epsilon, i) +
            decay * w_[i]);
}

void DoubleModel::Step(const LambOptions& options, double, double decay,
                       int i) {
  update_[i] = Direction(options.beta1, options.beta2, options.epsilon, i) +
               decay * w_[i];
}

}  // namespace selari
