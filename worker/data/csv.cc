#include "worker/data/csv.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/printable.h"
#include "common/status.h"

namespace selari {
namespace {

// How much of a bad field a message repeats.
constexpr std::size_t kQuotedBytesMax = 40;
// And of the columns' names.
constexpr std::size_t kListBytesMax = 400;

// Splits the text into records. The fields of a record are reused from call
// to call, so a large file costs no allocation per field.
class RecordReader {
 public:
  RecordReader(absl::string_view source, absl::string_view text, char delimiter)
      : source_(source), text_(text), delimiter_(delimiter) {
    absl::ConsumePrefix(&text_, "\xEF\xBB\xBF");
  }

  // Reads the next record that is no blank line; false at the end.
  absl::StatusOr<bool> Next() {
    while (!text_.empty()) {
      record_line_ = line_;
      field_count_ = 0;
      SELARI_RETURN_IF_ERROR(ReadRecord());
      if (field_count_ > 1 || !fields_[0].empty()) {
        return true;
      }
    }
    return false;
  }

  absl::Span<const std::string> fields() const {
    return absl::MakeConstSpan(fields_).subspan(0, field_count_);
  }

  // Where the record starts, counted from 1.
  int64_t line() const { return record_line_; }

 private:
  absl::Status ReadRecord() {
    bool more = true;
    while (more) {
      if (field_count_ == fields_.size()) {
        fields_.emplace_back();
      }
      std::string* const field = &fields_[field_count_++];
      field->clear();
      if (absl::StartsWith(text_, "\"")) {
        SELARI_RETURN_IF_ERROR(ReadQuoted(field));
      }
      const char ends[] = {delimiter_, '\n'};
      const std::size_t end = std::min(
          text_.find_first_of(absl::string_view(ends, 2)), text_.size());
      absl::StrAppend(field, text_.substr(0, end));
      text_.remove_prefix(end);
      more = !text_.empty() && text_[0] == delimiter_;
      if (!text_.empty()) {
        line_ += text_[0] == '\n' ? 1 : 0;
        text_.remove_prefix(1);
      }
      if (!more && absl::EndsWith(*field, "\r")) {
        field->pop_back();
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadQuoted(std::string* field) {
    text_.remove_prefix(1);
    while (true) {
      const std::size_t quote = text_.find('"');
      if (quote == absl::string_view::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat(source_, ": quote opened at line ", record_line_,
                         " is never closed"));
      }
      line_ += std::count(text_.begin(), text_.begin() + quote, '\n');
      absl::StrAppend(field, text_.substr(0, quote));
      text_.remove_prefix(quote + 1);
      if (!absl::ConsumePrefix(&text_, "\"")) {
        return absl::OkStatus();
      }
      field->push_back('"');
    }
  }

  const absl::string_view source_;
  absl::string_view text_;
  const char delimiter_;
  int64_t line_ = 1;
  int64_t record_line_ = 1;
  // The first field_count_ belong to the current record.
  std::vector<std::string> fields_;
  std::size_t field_count_ = 0;
};

absl::StatusOr<std::size_t> FindColumn(absl::string_view source,
                                       absl::Span<const std::string> names,
                                       const std::string& wanted) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) {
    return static_cast<std::size_t>(found - names.begin());
  }
  const int64_t column_count = static_cast<int64_t>(names.size());
  int64_t number = 0;
  if (absl::SimpleAtoi(wanted, &number) && number >= -1 &&
      number < column_count) {
    return static_cast<std::size_t>(number == -1 ? column_count - 1 : number);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      source, ": no column '", Excerpt(wanted), "'; the ", names.size(),
      " columns are ", Excerpt(absl::StrJoin(names, ", "), kListBytesMax)));
}

// Which columns of the file are used, and for what.
struct ColumnPlan {
  std::size_t label = 0;
  std::vector<std::size_t> features;
};

absl::StatusOr<ColumnPlan> PlanColumns(absl::string_view source,
                                       absl::Span<const std::string> names,
                                       const CsvOptions& options) {
  ColumnPlan plan;
  SELARI_ASSIGN_OR_RETURN(
      plan.label,
      FindColumn(source, names,
                 options.label_column.empty() ? "-1" : options.label_column));
  for (const std::string& wanted : options.feature_columns) {
    SELARI_ASSIGN_OR_RETURN(const std::size_t column,
                            FindColumn(source, names, wanted));
    if (column == plan.label) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": column '", Excerpt(names[column]),
                       "' is both the label and a feature"));
    }
    plan.features.push_back(column);
  }
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (options.feature_columns.empty() && c != plan.label) {
      plan.features.push_back(c);
    }
  }
  return plan;
}

absl::Status CheckNames(absl::string_view source,
                        absl::Span<const std::string> names) {
  std::vector<absl::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": two columns are named '", Excerpt(*twice), "'"));
  }
  if (names.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": has ", names.size(),
        " column; expected a label and at least one feature. Is the "
        "delimiter right?"));
  }
  return absl::OkStatus();
}

// The fixed part of every message about one field.
struct FieldPlace {
  absl::string_view source;
  int64_t line;
  absl::string_view column;
};

absl::Status BadField(const FieldPlace& place, absl::string_view field,
                      absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      place.source, ": line ", place.line, ", column '", Excerpt(place.column),
      "': ", field.empty() ? "empty field" : "", field.empty() ? "" : "'",
      Excerpt(field, kQuotedBytesMax), field.empty() ? "" : "' ", what));
}

absl::StatusOr<double> ParseNumber(const FieldPlace& place,
                                   absl::string_view field) {
  absl::string_view text = absl::StripAsciiWhitespace(field);
  absl::ConsumePrefix(&text, "+");
  double value = 0;
  const absl::from_chars_result result =
      absl::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec == std::errc::invalid_argument ||
      result.ptr != text.data() + text.size()) {
    return BadField(
        place, text,
        text.empty() ? "; fill it or remove the row" : "is not a number");
  }
  if (!std::isfinite(value) ||
      std::abs(value) > std::numeric_limits<float>::max()) {
    return BadField(place, text,
                    "is not a finite 32-bit float; remove the row or repair "
                    "the value");
  }
  return value;
}

absl::StatusOr<int32_t> ClassOf(const FieldPlace& place,
                                absl::string_view field, double value,
                                int64_t class_count) {
  if (value < 0 || value >= std::numeric_limits<int32_t>::max() ||
      value != std::floor(value)) {
    return BadField(place, field, "is not a class number, an integer from 0");
  }
  if (class_count > 0 && value >= static_cast<double>(class_count)) {
    return BadField(place, field,
                    absl::StrCat("is no class of the job, which are 0 to ",
                                 class_count - 1));
  }
  return static_cast<int32_t>(value);
}

// Appends one record's label and features.
absl::Status AddRow(absl::string_view source, const RecordReader& reader,
                    absl::Span<const std::string> names, const ColumnPlan& plan,
                    const CsvOptions& options, std::vector<float>* features,
                    CsvTable* table) {
  const absl::Span<const std::string> fields = reader.fields();
  if (fields.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": line ", reader.line(), " has ", fields.size(),
                     " fields, the header has ", names.size()));
  }
  for (const std::size_t c : plan.features) {
    SELARI_ASSIGN_OR_RETURN(
        const double value,
        ParseNumber({source, reader.line(), names[c]}, fields[c]));
    features->push_back(static_cast<float>(value));
  }
  const FieldPlace place = {source, reader.line(), names[plan.label]};
  const std::string& field = fields[plan.label];
  SELARI_ASSIGN_OR_RETURN(const double value, ParseNumber(place, field));
  if (options.class_labels) {
    SELARI_ASSIGN_OR_RETURN(const int32_t label,
                            ClassOf(place, field, value, options.class_count));
    table->labels.push_back(label);
  } else {
    table->targets.push_back(static_cast<float>(value));
  }
  ++table->row_count;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CsvTable> ParseCsv(absl::string_view source,
                                  absl::string_view text,
                                  const CsvOptions& options) {
  RecordReader reader(source, text, options.delimiter);
  SELARI_ASSIGN_OR_RETURN(bool more, reader.Next());
  if (!more) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": is empty; expected a header line"));
  }
  std::vector<std::string> names;
  for (const std::string& field : reader.fields()) {
    names.emplace_back(absl::StripAsciiWhitespace(field));
  }
  SELARI_RETURN_IF_ERROR(CheckNames(source, names));
  SELARI_ASSIGN_OR_RETURN(const ColumnPlan plan,
                          PlanColumns(source, names, options));
  CsvTable table;
  std::vector<float> features;
  while (true) {
    SELARI_ASSIGN_OR_RETURN(more, reader.Next());
    if (!more) {
      break;
    }
    SELARI_RETURN_IF_ERROR(
        AddRow(source, reader, names, plan, options, &features, &table));
  }
  if (table.row_count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": has a header but no row"));
  }
  for (const std::size_t c : plan.features) {
    table.feature_names.push_back(names[c]);
  }
  table.features = FloatBuffer::Allocate(static_cast<int64_t>(features.size()));
  std::copy(features.begin(), features.end(), table.features->data());
  return table;
}

}  // namespace selari
