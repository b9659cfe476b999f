#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rank/sides.h"

namespace tiletune {

/// What the sides have of a problem, whatever the state of the cache.
struct Candidates {
  std::string problem;
  std::string conditions;
  std::string gpu;  ///< empty when sides are GPUs
  std::vector<std::vector<const ComparableRows*>> of_sides;
};

/// Problems of several sides, in order of first appearance.
class CandidateList {
 public:
  CandidateList(CompareBy by, const std::vector<Side>& sides, const GpuAlias& alias);

  void add(std::size_t side, const ComparableRows& rows);

  std::vector<Candidates> all;

 private:
  void add(std::size_t side, const ComparableRows& rows, const std::string& gpu);

  CompareBy by_;
  std::size_t sides_;
  GpuNames names_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places_;
};

/// Measured rows with different states of the cache make problems of their own.
std::set<std::string> caches_of(const Candidates& candidates);

/// Of several sets of one side; null where it has none.
const ComparableRows* most_trusted(const std::vector<const ComparableRows*>& sets, const std::string& cache,
                                   std::set<Source>& left_out);

}  // namespace tiletune
