"""Writes optimizer_values.h: what PyTorch's optimizers and schedules compute.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.4.1 numpy==1.26.4
    /tmp/venv/bin/python tests/golden/make_optimizer_values.py > tests/golden/optimizer_values.h

Two tensors of 3 and 2 weights get the same 10 gradients from each optimizer, in
double precision on the CPU. PyTorch has no LAMB: it is algorithm 2 of You et
al., 2020 (with phi(z) = z), written here in numpy. optimizer_golden_test.cc
names the settings of each case once more, in Selari's terms.
"""

import sys

import numpy
import torch

STEPS = 10
SHAPES = (3, 2)
RECORDED = (1, 2, 10)  # weights are recorded after so many updates


def fixed_numbers(count, seed):
    """Multiples of 1/64 in [-2, 2): exact in float, the same everywhere."""
    numbers = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        numbers.append((seed >> 16) % 256 / 64 - 2)
    return numbers


START = fixed_numbers(sum(SHAPES), 1)
GRADS = [fixed_numbers(sum(SHAPES), 2 + step) for step in range(STEPS)]


def split(flat):
    return [flat[: SHAPES[0]], flat[SHAPES[0] :]]


def run_torch(make, clip_value=None, clip_norm=None):
    params = [
        torch.nn.Parameter(torch.tensor(part, dtype=torch.float64))
        for part in split(START)
    ]
    optimizer = make(params)
    recorded = []
    for step in range(1, STEPS + 1):
        for param, grad in zip(params, split(GRADS[step - 1])):
            param.grad = torch.tensor(grad, dtype=torch.float64)
        if clip_value is not None:
            torch.nn.utils.clip_grad_value_(params, clip_value)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, clip_norm)
        optimizer.step()
        if step in RECORDED:
            recorded.append([x for param in params for x in param.tolist()])
    return recorded


def run_lamb(lr, beta1, beta2, epsilon, decay):
    weights = [numpy.array(part) for part in split(START)]
    means = [numpy.zeros_like(w) for w in weights]
    squares = [numpy.zeros_like(w) for w in weights]
    recorded = []
    for step in range(1, STEPS + 1):
        for i, grad in enumerate(split(GRADS[step - 1])):
            g = numpy.array(grad)
            means[i] = beta1 * means[i] + (1 - beta1) * g
            squares[i] = beta2 * squares[i] + (1 - beta2) * g * g
            mean = means[i] / (1 - beta1**step)
            square = squares[i] / (1 - beta2**step)
            update = mean / (numpy.sqrt(square) + epsilon) + decay * weights[i]
            ratio = numpy.linalg.norm(weights[i]) / numpy.linalg.norm(update)
            weights[i] = weights[i] - lr * ratio * update
        if step in RECORDED:
            recorded.append([x for w in weights for x in w.tolist()])
    return recorded


def optimizer_cases():
    optim = torch.optim
    return {
        "sgd": run_torch(lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01)),
        "momentum": run_torch(
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)
        ),
        "nesterov": run_torch(
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)
        ),
        "adagrad": run_torch(
            lambda p: optim.Adagrad(
                p, lr=0.1, initial_accumulator_value=0.1, weight_decay=0.01
            )
        ),
        "rms_prop": run_torch(
            lambda p: optim.RMSprop(p, lr=0.01, weight_decay=0.01)
        ),
        "rms_prop_momentum": run_torch(
            lambda p: optim.RMSprop(p, lr=0.01, alpha=0.9, momentum=0.9)
        ),
        "adam": run_torch(lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1)),
        "adam_w": run_torch(lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1)),
        "clip_value": run_torch(lambda p: optim.SGD(p, lr=0.1), clip_value=0.5),
        "clip_norm": run_torch(lambda p: optim.SGD(p, lr=0.1), clip_norm=1.5),
        "clip_both": run_torch(
            lambda p: optim.SGD(p, lr=0.1), clip_value=1.0, clip_norm=1.5
        ),
        "lamb": run_lamb(0.05, 0.9, 0.999, 1e-6, 0.1),
    }


def run_schedule(make):
    param = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([param], lr=0.5)
    schedule = make(optimizer)
    rates = []
    for _ in range(12):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def warm_up_then_cosine(optimizer):
    schedules = torch.optim.lr_scheduler
    warm_up = schedules.LinearLR(optimizer, start_factor=1 / 4, total_iters=3)
    cosine = schedules.CosineAnnealingLR(optimizer, T_max=8)
    return schedules.SequentialLR(optimizer, [warm_up, cosine], milestones=[4])


def schedule_cases():
    schedules = torch.optim.lr_scheduler
    return {
        "constant": run_schedule(lambda o: schedules.ConstantLR(o, factor=1)),
        "step": run_schedule(lambda o: schedules.StepLR(o, 3, gamma=0.5)),
        # eta_min is a rate: 0.05 is final_factor 0.1 of the base rate 0.5.
        "cosine": run_schedule(
            lambda o: schedules.CosineAnnealingLR(o, T_max=11, eta_min=0.05)
        ),
        "linear": run_schedule(
            lambda o: schedules.PolynomialLR(o, total_iters=10, power=1)
        ),
        "polynomial": run_schedule(
            lambda o: schedules.PolynomialLR(o, total_iters=10, power=1.7)
        ),
        "warm_up_cosine": run_schedule(warm_up_then_cosine),
    }


def array(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def main():
    guard = "SELARI_TESTS_GOLDEN_OPTIMIZER_VALUES_H_"
    out = [
        "// Made by make_optimizer_values.py with PyTorch %s: do not edit."
        % torch.__version__.split("+")[0],
        "",
        "#ifndef " + guard,
        "#define " + guard,
        "",
        "namespace selari {",
        "namespace golden {",
        "",
        "constexpr int kStepCount = %d;" % STEPS,
        "constexpr int kFirstTensorSize = %d;" % SHAPES[0],
        "constexpr int kWeightCount = %d;" % sum(SHAPES),
        "",
        "constexpr float kStart[kWeightCount] = %s;" % array(START),
        "constexpr float kGrads[kStepCount][kWeightCount] = {",
        ",\n".join(array(grad) for grad in GRADS) + "};",
        "",
        "// Weights after kRecordedSteps[i] updates.",
        "constexpr int kRecordedSteps[] = {%s};" % ", ".join(map(str, RECORDED)),
        "struct OptimizerValues {",
        "  const char* name;",
        "  double weights[%d][kWeightCount];" % len(RECORDED),
        "};",
        "constexpr OptimizerValues kOptimizers[] = {",
    ]
    for name, recorded in optimizer_cases().items():
        rows = ",\n".join(array(row) for row in recorded)
        out.append('{"%s", {%s}},' % (name, rows))
    out += [
        "};",
        "",
        "// The learning rates of the first updates, base rate 0.5.",
        "constexpr int kRateCount = 12;",
        "struct ScheduleValues {",
        "  const char* name;",
        "  double rates[kRateCount];",
        "};",
        "constexpr ScheduleValues kSchedules[] = {",
    ]
    for name, rates in schedule_cases().items():
        out.append('{"%s", %s},' % (name, array(rates)))
    out += [
        "};",
        "",
        "}  // namespace golden",
        "}  // namespace selari",
        "",
        "#endif  // " + guard,
    ]
    sys.stdout.write("\n".join(out) + "\n")


main()
