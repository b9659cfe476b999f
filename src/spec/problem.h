#pragma once

#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A list of problems, each as "4096x4096x64", 4096 or {"M": 4096, "N": 4096, "K": 64}. Throws UserError when
/// two are the same.
std::vector<Problem> read_problems(const Node& node, const std::vector<std::string>& dimensions);

/// Problems as given on the command line, checked like a config's.
std::vector<Problem> parse_problems(const std::vector<std::string>& texts,
                                    const std::vector<std::string>& dimensions, const Where& where);

}  // namespace tiletune
