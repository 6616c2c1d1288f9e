// LedgerPage: one tensor of a ledger. Each worker owns every workers-th cell;
// in each round it adds 1 to its next one, and begins again behind its last. So
// a value tells whether each of the pushes that it should hold counted once:
// one that was lost leaves a cell too small, one that counted twice one too
// large.
//
// Thread safety: pure functions.

#ifndef SELARI_CLI_CHAOS_LEDGER_PAGE_H_
#define SELARI_CLI_CHAOS_LEDGER_PAGE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace selari {

struct LedgerPage {
  int32_t workers = 1;
  int64_t cells = 1;  // of each worker

  int64_t size() const { return workers * cells; }
  // The cell that the worker's round (from 0) adds 1 to.
  int64_t CellOf(int32_t worker, int64_t round) const {
    return round % cells * workers + worker;
  }
  // What the cell holds after `rounds` of its owner's.
  int64_t Expected(int64_t cell, int64_t rounds) const {
    return rounds / cells + (cell / workers < rounds % cells ? 1 : 0);
  }
};

struct LedgerDifference {
  int64_t lost = 0;     // pushes that do not count
  int64_t doubled = 0;  // that count once more than they should

  bool none() const { return lost == 0 && doubled == 0; }
};

// Rounds of the worker that `values` (page.size()) hold: their sum.
int64_t RoundsIn(const LedgerPage& page, int32_t worker,
                 absl::Span<const float> values);

// `values` beside what they hold after `rounds` of the worker's, each counted
// once. Below 2^24 a cell is exact.
LedgerDifference CompareRounds(const LedgerPage& page, int32_t worker,
                               int64_t rounds, absl::Span<const float> values);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_LEDGER_PAGE_H_
