// y = x W + b, optionally with a ReLU in the same pass.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/gemm.h"
#include "worker/model/layers.h"
#include "worker/model/leaf_sums.h"

namespace selari {
namespace {

class DenseLayer final : public Layer {
 public:
  DenseLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment),
        dense_(std::get<DensePlan>(plan_.kind)) {}

  void Forward(const StepContext& context, const float* input,
               TensorSpans tensors, float* output) override {
    const GemmKernels& gemm = environment_.kernels().gemm;
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int thread) {
          GemmArgs args;
          args.shape = {end - begin, dense_.units, dense_.inputs};
          args.a = input + begin * dense_.inputs;
          args.b = tensors[0].data();
          args.c = output + begin * dense_.units;
          args.epilogue.bias = dense_.bias ? tensors[1].data() : nullptr;
          args.epilogue.relu = dense_.relu;
          args.workspace =
              environment_.Workspace(thread, gemm.workspace_floats(args.shape));
          gemm.ab(args);
        });
  }

  // All parts write apart from each other, so one run of the pool does it:
  // first the weight gradients, in bands of rows of W for each node, then the
  // bias gradients, then the input gradient in bands of samples.
  void Backward(const StepContext& context, const BackwardArgs& args) override {
    const int64_t nodes = static_cast<int64_t>(args.nodes.size());
    const int64_t threads = environment_.pool().thread_count();
    const int64_t bands = std::min(threads, dense_.inputs);
    const int64_t bias_begin = nodes * bands;
    const int64_t input_begin = bias_begin + (dense_.bias ? nodes : 0);
    const int64_t row_bands =
        args.input_grad == nullptr ? 0 : std::min(threads, context.rows);
    environment_.pool().Run(
        input_begin + row_bands, [&](int64_t part, int thread) {
          if (part < bias_begin) {
            WeightGrad(context, args, static_cast<std::size_t>(part / bands),
                       {part % bands, bands}, thread);
          } else if (part < input_begin) {
            BiasGrad(context, args, static_cast<std::size_t>(part - bias_begin),
                     thread);
          } else {
            InputGrad(context, args, {part - input_begin, row_bands}, thread);
          }
        });
  }

 private:
  // The index-th of count bands.
  struct Band {
    int64_t index;
    int64_t count;
    int64_t Begin(int64_t size) const { return index * size / count; }
    int64_t End(int64_t size) const { return (index + 1) * size / count; }
  };

  void WeightGrad(const StepContext& context, const BackwardArgs& args,
                  std::size_t node, Band band, int thread) {
    const GemmKernels& gemm = environment_.kernels().gemm;
    const LeafSpan leaves = args.nodes[node];
    // The node's rows, counted from its first.
    std::vector<int64_t> leaf_begin;
    const int64_t first_row =
        context.leaf_begin[static_cast<std::size_t>(leaves.begin)];
    for (int64_t leaf = leaves.begin; leaf <= leaves.end; ++leaf) {
      leaf_begin.push_back(context.leaf_begin[static_cast<std::size_t>(leaf)] -
                           first_row);
    }
    const int64_t band_begin = band.Begin(dense_.inputs);
    GemmLeavesArgs gemm_args;
    gemm_args.shape = {band.End(dense_.inputs) - band_begin, dense_.units,
                       leaf_begin.back()};
    gemm_args.a = args.input + first_row * dense_.inputs + band_begin;
    gemm_args.a_stride = dense_.inputs;
    gemm_args.b = args.output_grad + first_row * dense_.units;
    gemm_args.c = args.tensor_grad(node, 0) + band_begin * dense_.units;
    gemm_args.leaf_count = leaves.end - leaves.begin;
    gemm_args.leaf_begin = leaf_begin.data();
    gemm_args.workspace =
        environment_.Workspace(thread, gemm.workspace_floats(gemm_args.shape));
    gemm.atb_leaves(gemm_args);
  }

  void BiasGrad(const StepContext& context, const BackwardArgs& args,
                std::size_t node, int thread) {
    BiasGradArgs bias;
    bias.node = args.nodes[node];
    bias.dim = dense_.units;
    bias.output_grad = args.output_grad;
    bias.workspace = environment_.Workspace(
        thread, (bias.node.end - bias.node.begin) * dense_.units);
    bias.bias_grad = args.tensor_grad(node, 1);
    BiasGradOfNode(environment_.kernels(), context, bias);
  }

  void InputGrad(const StepContext& context, const BackwardArgs& args,
                 Band band, int thread) {
    const GemmKernels& gemm = environment_.kernels().gemm;
    const int64_t begin = band.Begin(context.rows);
    GemmArgs gemm_args;
    gemm_args.shape = {band.End(context.rows) - begin, dense_.inputs,
                       dense_.units};
    gemm_args.a = args.output_grad + begin * dense_.units;
    gemm_args.b = args.tensors[0].data();
    gemm_args.c = args.input_grad + begin * dense_.inputs;
    gemm_args.epilogue.relu_output =
        args.input_is_relu ? args.input + begin * dense_.inputs : nullptr;
    gemm_args.workspace =
        environment_.Workspace(thread, gemm.workspace_floats(gemm_args.shape));
    gemm.abt(gemm_args);
  }

  const DensePlan dense_;
};

}  // namespace

std::unique_ptr<Layer> MakeDenseLayer(LayerPlan plan,
                                      LayerEnvironment* environment) {
  return std::make_unique<DenseLayer>(std::move(plan), environment);
}

}  // namespace selari
