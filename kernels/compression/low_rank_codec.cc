#include "kernels/compression/low_rank_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status.h"
#include "kernels/compression/payload.h"

namespace selari {
namespace {

constexpr int64_t kHeaderWords = 3;

// The matrix that the chunk's n elements are laid into.
struct Matrix {
  Matrix(int64_t n, int64_t first, int64_t column_count)
      : count(n),
        first_column(first),
        columns(column_count),
        rows((first + n + columns - 1) / columns) {}

  int64_t words(int64_t rank) const {
    return kHeaderWords + rank * (rows + columns);
  }

  // Calls f(row, column, offset, size) for the run of elements in each row:
  // `size` from chunk element `offset` on lie from `column` on.
  template <typename Function>
  void ForEachRow(const Function& f) const {
    int64_t offset = 0;
    int64_t column = first_column;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t size = std::min(columns - column, count - offset);
      f(row, column, offset, size);
      offset += size;
      column = 0;
    }
  }

  const int64_t count;
  const int64_t first_column;
  const int64_t columns;
  const int64_t rows;
};

// Squared, the length that may be left of a vector when its parts along the
// others are taken off, as a share of what it was. Below it, rounding is all
// that is left, and as a direction of its own it would count what the others
// have counted.
constexpr double kLengthSquaredMin = 1e-8;

// Largest element of P and Q: a sum of kLowRankMax products stays finite.
constexpr float kElementMax = 1e36f;

class LowRankCodec final : public GradientCodec {
 public:
  LowRankCodec(int64_t rank, const Matrix& matrix,
               const CompressionKernels* kernels)
      : GradientCodec(matrix.count),
        rank_(rank),
        matrix_(matrix),
        kernels_(kernels) {}

  // Behind the residual: Q of the last step (rank, columns), rows of length 1.
  int64_t state_floats() const override {
    return count() + rank_ * matrix_.columns;
  }
  int64_t words_max() const override {
    return std::max(count(), matrix_.words(rank_));
  }

  void ResetState(float* state) const override {
    GradientCodec::ResetState(state);
    for (int64_t k = 0; k < rank_; ++k) {
      ResetDirection(k, state + count() + k * matrix_.columns);
    }
  }

  absl::StatusOr<EncodedGradient> Encode(const float* gradient, float* state,
                                         uint32_t* words) const override {
    if (!kernels_->accumulate(count(), gradient, state)) {
      return NotFinite(state);
    }
    float* const q = state + count();
    std::vector<float> p(static_cast<size_t>(rank_ * matrix_.rows));
    MultiplyByQ(state, q, p.data());
    Orthonormalise(p.data());
    std::vector<float> next_q(static_cast<size_t>(rank_ * matrix_.columns));
    MultiplyByP(state, p.data(), next_q.data());
    if (!AllSmall(p) || !AllSmall(next_q)) {
      // These products would overflow, here or at the decoder.
      std::memcpy(words, state, static_cast<size_t>(count()) * sizeof(float));
      ResetState(state);
      return EncodedGradient{GradientEncoding::kFloat32, count()};
    }
    words[0] = static_cast<uint32_t>(rank_);
    words[1] = static_cast<uint32_t>(matrix_.columns);
    words[2] = static_cast<uint32_t>(matrix_.first_column);
    std::memcpy(words + kHeaderWords, p.data(), p.size() * sizeof(float));
    std::memcpy(words + kHeaderWords + p.size(), next_q.data(),
                next_q.size() * sizeof(float));
    Subtract(p, next_q, state);
    KeepDirections(next_q, q);
    return EncodedGradient{GradientEncoding::kLowRank, matrix_.words(rank_)};
  }

 private:
  void ResetDirection(int64_t k, float* q) const {
    FillUniform(MakeRandomKey(/*seed=*/0, RandomStream::kLowRank),
                static_cast<uint64_t>(k * matrix_.columns), -1.0f, 1.0f,
                absl::MakeSpan(q, static_cast<size_t>(matrix_.columns)));
  }

  // P(k, row) = sum over columns of M(row, column) Q(k, column)
  void MultiplyByQ(const float* values, const float* q, float* p) const {
    matrix_.ForEachRow(
        [&](int64_t row, int64_t column, int64_t offset, int64_t size) {
          for (int64_t k = 0; k < rank_; ++k) {
            p[k * matrix_.rows + row] = static_cast<float>(kernels_->dot(
                size, values + offset, q + k * matrix_.columns + column));
          }
        });
  }

  // Q(k, column) = sum over rows, in order, of P(k, row) M(row, column)
  void MultiplyByP(const float* values, const float* p, float* q) const {
    matrix_.ForEachRow([&](int64_t row, int64_t column, int64_t offset,
                           int64_t size) {
      for (int64_t k = 0; k < rank_; ++k) {
        kernels_->add_scaled(size, p[k * matrix_.rows + row], values + offset,
                             q + k * matrix_.columns + column);
      }
    });
  }

  // Gram and Schmidt, modified, each vector twice: the second time takes off
  // what rounding left the first time. A vector that lies among the others
  // becomes 0.
  void Orthonormalise(float* p) const {
    const int64_t rows = matrix_.rows;
    for (int64_t k = 0; k < rank_; ++k) {
      float* const vector = p + k * rows;
      const double before = kernels_->dot(rows, vector, vector);
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t other = 0; other < k; ++other) {
          const float* const axis = p + other * rows;
          const double along = kernels_->dot(rows, axis, vector);
          kernels_->add_scaled(rows, static_cast<float>(-along), axis, vector);
        }
      }
      const double left = kernels_->dot(rows, vector, vector);
      const bool independent = left > kLengthSquaredMin * before;
      Scale(independent ? 1.0 / std::sqrt(left) : 0.0, rows, vector);
    }
  }

  // values -= decoded, with the decoder's own roundings.
  void Subtract(const std::vector<float>& p, const std::vector<float>& q,
                float* values) const {
    std::vector<float> decoded(static_cast<size_t>(matrix_.columns));
    matrix_.ForEachRow(
        [&](int64_t row, int64_t column, int64_t offset, int64_t size) {
          std::fill_n(decoded.begin(), size, 0.0f);
          for (int64_t k = 0; k < rank_; ++k) {
            kernels_->add_scaled(size, p[k * matrix_.rows + row],
                                 q.data() + k * matrix_.columns + column,
                                 decoded.data());
          }
          kernels_->add_scaled(size, -1.0f, decoded.data(), values + offset);
        });
  }

  // The next step starts from where this one points, with length 1 so that
  // products neither grow nor vanish from step to step.
  void KeepDirections(const std::vector<float>& next_q, float* q) const {
    std::copy(next_q.begin(), next_q.end(), q);
    for (int64_t k = 0; k < rank_; ++k) {
      float* const direction = q + k * matrix_.columns;
      const double squared =
          kernels_->dot(matrix_.columns, direction, direction);
      if (squared > 0) {
        Scale(1.0 / std::sqrt(squared), matrix_.columns, direction);
      } else {
        ResetDirection(k, direction);
      }
    }
  }

  static void Scale(double factor, int64_t n, float* vector) {
    for (int64_t i = 0; i < n; ++i) {
      vector[i] = static_cast<float>(vector[i] * factor);
    }
  }

  // False for NaN, too.
  static bool AllSmall(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float value) {
      return std::fabs(value) <= kElementMax;
    });
  }

  const int64_t rank_;
  const Matrix matrix_;
  const CompressionKernels* const kernels_;
};

}  // namespace

std::unique_ptr<const GradientCodec> MakeLowRankCodec(
    int32_t rank, const ChunkShape& shape, const CompressionKernels* kernels) {
  const Matrix matrix(shape.count, shape.offset % shape.columns, shape.columns);
  if (matrix.words(rank) >= shape.count) {
    return nullptr;
  }
  return std::make_unique<LowRankCodec>(rank, matrix, kernels);
}

absl::Status DecodeLowRank(absl::Span<const char> bytes, absl::Span<float> out,
                           const CompressionKernels& kernels) {
  SELARI_RETURN_IF_ERROR(CheckPayloadHeader("low_rank", bytes, kHeaderWords));
  const int64_t rank = PayloadWord(bytes, 0);
  const int64_t columns = PayloadWord(bytes, 1);
  const int64_t first_column = PayloadWord(bytes, 2);
  if (rank < 1 || rank > kLowRankMax || first_column >= columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "low_rank: rank ", rank, ", ", columns, " columns, the first one ",
        first_column, "; the rank must be in [1, ", kLowRankMax,
        "] and the first column less than the columns"));
  }
  const Matrix matrix(static_cast<int64_t>(out.size()), first_column, columns);
  SELARI_RETURN_IF_ERROR(
      CheckPayloadWords("low_rank", bytes, matrix.words(rank), out.size()));
  // Not auto, which would forget that they may lie at any address.
  const UnalignedFloat* const p =
      reinterpret_cast<const UnalignedFloat*>(bytes.data() + kHeaderWords * 4);
  const UnalignedFloat* const q = p + rank * matrix.rows;
  std::fill(out.begin(), out.end(), 0.0f);
  matrix.ForEachRow(
      [&](int64_t row, int64_t column, int64_t offset, int64_t size) {
        for (int64_t k = 0; k < rank; ++k) {
          kernels.add_scaled(size, p[k * matrix.rows + row],
                             q + k * columns + column, out.data() + offset);
        }
      });
  return absl::OkStatus();
}

}  // namespace selari
